/* test_run.c - what was recorded is what is read, also while it is still being written. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "property/toy_run.h"
#include "unit/scratch_group.h"

#include <time.h>

enum { STEPS = 30 };

static bool count(void *context, const struct plumb_tensor_record *record)
{
    (void)record;
    ++*(size_t *)context;
    return true;
}

static size_t count_matching(struct plumb_run *run, const struct plumb_run_query *query)
{
    size_t records = 0;
    assert_int_equal(plumb_run_visit_records(run, query, count, &records, NULL), PLUMB_OK);
    return records;
}

static void make_two_ranks(const char *path)
{
    for (int rank = 0; rank < 2; rank++) {
        struct plumb_recorder *recorder =
            toy_open(path, (struct plumb_recorder_options){
                               .rank = rank, .world_size = 2, .save = PLUMB_SAVE_TENSORS});
        assert_non_null(recorder);
        for (int64_t step = 0; step < STEPS; step++)
            toy_step(recorder, step);
        assert_int_equal(plumb_recorder_close(recorder, rank ? "early stop" : NULL, NULL),
                         PLUMB_OK);
    }
}

static void ranks_series_and_records(void **state)
{
    (void)state;
    struct plumb_run *run = NULL;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, "two"));
    make_two_ranks(path);
    assert_int_equal(plumb_run_open(path, &run, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_rank_count(run), 2);
    assert_int_equal(plumb_run_warning_count(run), 0);
    const struct plumb_run_rank *rank = plumb_run_rank(run, 1);
    assert_string_equal(rank->how, "early stop");
    assert_int_equal(rank->records, 2 * STEPS);
    assert_int_equal(rank->spans, 3 * STEPS);
    assert_int_equal(rank->steps, STEPS);
    assert_int_equal(rank->saved, STEPS);
    assert_int_equal(rank->last_step, STEPS - 1);
    assert_int_equal(plumb_run_config_count(run), 4);
    const struct plumb_series *loss = plumb_run_find_series(run, "loss", 1);
    assert_int_equal(loss->count, STEPS);
    assert_true(loss->values[3] == 0.25);
    const struct {
        struct plumb_run_query query;
        size_t records;
    } queries[] = {
        {{.rank = -1}, 4 * STEPS},
        {{.rank = 1}, 2 * STEPS},
        {{.rank = 0, .some_steps = true, .first_step = 3, .last_step = 4}, 4},
        {{.rank = 0, .op = "net.0.linear"}, 2 * STEPS},
        {{.rank = 0, .op = "net.0.linear#1"}, STEPS},
        {{.rank = 0, .op = "net.1*"}, 0},
        {{.rank = 0, .slot = "out*"}, 2 * STEPS},
        {{.rank = 0, .slot = "in*"}, 0},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_int_equal(count_matching(run, &queries[i].query), queries[i].records);
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_run_open_values(run, 1, 7, &file, NULL), PLUMB_OK);
    assert_non_null(plumb_file_find(file, "net.0.linear#1/forward/output0"));
    plumb_file_close(file);
    plumb_run_close(run);
}

static void live_run_is_followed(void **state)
{
    (void)state;
    struct plumb_run *run = NULL;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, "live"));
    struct plumb_recorder *recorder = toy_open(path, (struct plumb_recorder_options){0});
    toy_step(recorder, 0);
    assert_int_equal(plumb_run_open(path, &run, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_ended(run), PLUMB_ENDED_RUNNING);
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    for (int i = 0; i < 500 && !plumb_run_find_series(run, "loss", 0); i++) {
        (void)nanosleep(&moment, NULL); /* rows are written ten times a second */
        assert_int_equal(plumb_run_refresh(run, NULL), PLUMB_OK);
    }
    assert_int_equal(plumb_run_find_series(run, "loss", 0)->count, 1);
    toy_step(recorder, 1);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_refresh(run, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_ended(run), PLUMB_ENDED_CLOSED);
    assert_int_equal(plumb_run_find_series(run, "loss", 0)->count, 2);
    assert_int_equal(plumb_run_warning_count(run), 0);
    plumb_run_close(run);
}

static void what_is_no_run_is_refused(void **state)
{
    (void)state;
    struct plumb_run *run = NULL;
    struct plumb_error error;
    assert_false(plumb_run_is(scratch_path(&scratch, "none")));
    assert_int_equal(plumb_run_open(scratch.path, &run, &error), PLUMB_NOT_FOUND);
    assert_non_null(strstr(error.message, scratch.path));
    scratch_directory(&scratch, "empty");
    assert_int_equal(plumb_run_open(scratch_path(&scratch, "empty"), &run, &error),
                     PLUMB_NOT_FOUND);
}

/* The bound is stated: with a disk that takes nothing, this much and no more is waiting. */
static void memory_is_bounded_and_drops_are_counted(void **state)
{
    (void)state;
    enum { COUNT = 1 << 18, TENSORS = 400 };
    const int64_t shape[] = {COUNT};
    float *values = calloc(COUNT, sizeof *values);
    assert_non_null(values);
    struct plumb_recorder *recorder = toy_open(
        scratch_path(&scratch, "small"),
        (struct plumb_recorder_options){.save = PLUMB_SAVE_TENSORS, .memory_limit = 8 << 20});
    struct plumb_dropped dropped;
    plumb_record_step_begin(recorder, 0);
    for (int i = 0; i < TENSORS; i++) {
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "m", "op", PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, values);
        plumb_record_leave(recorder);
        plumb_record_series(recorder, "s", i, i);
    }
    plumb_record_step_end(recorder);
    plumb_recorder_dropped(recorder, &dropped);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    struct plumb_run *run = NULL;
    assert_int_equal(plumb_run_open(scratch_path(&scratch, "small"), &run, NULL), PLUMB_OK);
    const struct plumb_run_rank *rank = plumb_run_rank(run, 0);
    assert_int_equal(rank->dropped.values, dropped.values);
    assert_int_equal(rank->records + rank->dropped.tensors, TENSORS);
    assert_int_equal(plumb_run_find_series(run, "s", 0)->count, TENSORS);
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_run_open_values(run, 0, 0, &file, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_tensor_count(file) + dropped.values, TENSORS);
    plumb_file_close(file);
    plumb_run_close(run);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_series_and_records),
        cmocka_unit_test(live_run_is_followed),
        cmocka_unit_test(what_is_no_run_is_refused),
        cmocka_unit_test(memory_is_bounded_and_drops_are_counted),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
