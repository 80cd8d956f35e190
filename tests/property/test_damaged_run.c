/*
 * test_damaged_run.c - every byte of a run's files is flipped, and every length tried: what is
 * whole is read, what is not is named, and nothing crashes.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "property/exercise.h"
#include "property/toy_run.h"
#include "unit/scratch.h"

enum { STEPS = 3, RECORDS = 2 * STEPS };

static struct scratch scratch;
static char run_path[128], file_path[256];
static unsigned char *original;
static size_t original_size;

static void use_file(const char *name)
{
    (void)snprintf(file_path, sizeof file_path, "%s/%s", run_path, name);
    original = exercise_load(file_path, &original_size);
    assert_non_null(original);
}

/* In place: replacing a file whole makes some file systems wait for the disk. */
static void flip(size_t at)
{
    FILE *file = fopen(file_path, "r+b");
    assert_non_null(file);
    original[at] ^= (unsigned char)(1U << (at % 8));
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_equal(fputc(original[at], file), original[at]);
    assert_int_equal(fclose(file), 0);
}

static void restore(void)
{
    FILE *file = fopen(file_path, "r+b");
    assert_non_null(file);
    assert_int_equal(fwrite(original, 1, original_size, file), original_size);
    assert_int_equal(fclose(file), 0);
    free(original);
}

static int make_run(void **state)
{
    (void)state;
    scratch_open(&scratch);
    (void)snprintf(run_path, sizeof run_path, "%s/run", scratch.root);
    struct plumb_recorder *recorder = toy_open(
        run_path, (struct plumb_recorder_options){.no_thread = true, .flight_slots = 16});
    assert_non_null(recorder);
    for (int64_t step = 0; step < STEPS; step++)
        toy_step(recorder, step);
    return (int)plumb_recorder_close(recorder, NULL, NULL);
}

static int remove_run(void **state)
{
    (void)state;
    scratch_close(&scratch);
    return 0;
}

struct found {
    size_t records, series, warnings, flight;
    enum plumb_ended ended;
};

static bool count_record(void *context, const struct plumb_tensor_record *record)
{
    ++*(size_t *)context;
    return record->label && record->dims == 2;
}

static bool count_flight(void *context, int64_t step, int64_t time_ns, const char *what)
{
    (void)step;
    (void)time_ns;
    ++*(size_t *)context;
    return *what;
}

static struct found look(bool report)
{
    struct plumb_run *run = NULL;
    struct plumb_error error;
    struct found found = {0};
    if (plumb_run_open(run_path, &run, &error))
        fail_msg("does not open: %s", error.message);
    assert_int_equal(plumb_run_visit_records(run, NULL, count_record, &found.records, &error),
                     PLUMB_OK);
    (void)plumb_run_visit_flight(run, 0, count_flight, &found.flight, NULL);
    for (size_t i = 0; i < plumb_run_series_count(run); i++)
        found.series += plumb_run_series(run, i)->count;
    found.warnings = plumb_run_warning_count(run);
    found.ended = plumb_run_ended(run);
    for (int json = 0; report && json < 2; json++) {
        struct exercise_text text = {0};
        const struct plumb_sink sink = {exercise_keep, &text};
        const struct plumb_run_report_options options = {.json = json, .rank = -1};
        assert_int_equal(plumb_report_run(run, &options, &sink, &error), PLUMB_OK);
        assert_true(json ? json_is_valid(text.bytes, text.size)
                         : exercise_is_printable(text.bytes, text.size));
        free(text.bytes);
    }
    plumb_run_close(run);
    return found;
}

static void whole_run_is_read(void **state)
{
    (void)state;
    const struct found found = look(true);
    assert_int_equal(found.records, RECORDS);
    assert_int_equal(found.series, 2 * STEPS);
    assert_int_equal(found.warnings, 0);
    assert_int_equal(found.ended, PLUMB_ENDED_CLOSED);
    assert_int_equal(found.flight, 16);
}

static void every_flipped_byte(void **state)
{
    (void)state;
    use_file("rank0000/records.plumb");
    for (size_t i = 0; i < original_size; i++) {
        flip(i);
        const struct found found = look(i % 16 == 0);
        if (found.warnings == 0)
            fail_msg("byte %zu flipped: not a word", i);
        /* One block is lost at most, and these are in two. */
        if (found.records != RECORDS && found.series != 2 * STEPS)
            fail_msg("byte %zu flipped: %zu records, %zu points", i, found.records,
                     found.series);
        flip(i);
    }
    restore();
}

static void every_cut(void **state)
{
    (void)state;
    size_t after = SIZE_MAX;
    use_file("rank0000/records.plumb");
    for (size_t cut = 0; cut <= original_size; cut++) {
        const size_t size = original_size - cut;
        assert_int_equal(truncate(file_path, (off_t)size), 0);
        const struct found found = look(size % 16 == 0);
        assert_true(found.records + found.series <= after); /* a longer file tells no less */
        after = found.records + found.series;
        assert_true(cut == 0 || found.warnings > 0);
        assert_int_equal(found.ended, PLUMB_ENDED_CLOSED); /* the flight recorder knows */
    }
    restore();
}

static void other_files(void **state)
{
    (void)state;
    const char *const names[] = {"run.json", "rank0000/flight.plumb"};
    for (size_t n = 0; n < 2; n++) {
        use_file(names[n]);
        const size_t some = original_size < 1500 ? original_size : 1500;
        for (size_t i = 0; i < some; i++) {
            flip(i);
            (void)look(i % 16 == 0);
            flip(i);
        }
        for (size_t size = some; size > 0; size--) {
            assert_int_equal(truncate(file_path, (off_t)size - 1), 0);
            (void)look(size % 16 == 0);
        }
        restore();
    }
    assert_int_equal(unlink(file_path), 0);
    assert_int_equal(look(true).records, RECORDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_run_is_read),
        cmocka_unit_test(every_flipped_byte),
        cmocka_unit_test(every_cut),
        cmocka_unit_test(other_files),
    };
    return cmocka_run_group_tests(tests, make_run, remove_run);
}
