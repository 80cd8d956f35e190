/* test_run_unread.c - runs that are cut, torn or killed are never called alike, nor blamed for it. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch.h"

/* Enough for several blocks of tensor records. */
enum { STEPS = 2000, OPS = 2, UPDATES = 6, WIDTH = 8 };

static struct scratch scratch;

static int set_up(void **state)
{
    (void)state;
    scratch_open(&scratch);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_close(&scratch);
    return 0;
}

struct toy {
    int64_t steps;
    int64_t wrong_from; /* the second op doubles from this step on; 0: never */
    bool killed;
};

static void run_step(struct plumb_recorder *recorder, const struct toy *toy, int64_t step)
{
    const int64_t shape[] = {WIDTH};
    float values[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        values[i] = (float)i + 0.25F * (float)step + 1;
    plumb_record_step_begin(recorder, step);
    for (int op = 0; op < OPS; op++) {
        char name[16];
        (void)snprintf(name, sizeof name, "net.%d", op);
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, name, "mul", PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "input0", PLUMB_F32, 1, shape, values);
        const float more = op == 1 && toy->wrong_from && step >= toy->wrong_from ? 2 : 1;
        for (int i = 0; i < WIDTH; i++)
            values[i] *= 1.5F * more;
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, values);
        plumb_record_leave(recorder);
    }
    /* Of the same name: without the first ones the others would be taken for them. */
    plumb_record_enter(recorder, PLUMB_PHASE_OPTIMIZER, "net", "update", PLUMB_CALL_COUNTED);
    for (int update = 0; update < UPDATES; update++) {
        values[0] += 1;
        plumb_record_tensor(recorder, "param", PLUMB_F32, 1, shape, values);
    }
    plumb_record_leave(recorder);
    plumb_record_series(recorder, "loss", step, (double)values[0]);
    plumb_record_step_end(recorder);
}

static void record(const char *name, const struct toy *toy)
{
    struct plumb_recorder *recorder = NULL;
    const struct plumb_recorder_options options = {.path = scratch_path(&scratch, name),
                                                   .no_thread = true};
    const pid_t child = toy->killed ? fork() : 0;
    if (child) {
        int status = -1;
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        assert_int_equal(status, 0);
        return;
    }
    assert_int_equal(plumb_recorder_open(&options, &recorder, NULL), PLUMB_OK);
    for (int64_t step = 0; step < toy->steps; step++)
        run_step(recorder, toy, step);
    if (toy->killed)
        _exit(0);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
}

static const char *records_of(const char *name)
{
    char file[64];
    (void)snprintf(file, sizeof file, "%s/rank0000/records.plumb", name);
    return scratch_path(&scratch, file);
}

static void cut(const char *name, double share)
{
    struct stat info;
    assert_int_equal(stat(records_of(name), &info), 0);
    assert_int_equal(truncate(records_of(name), (off_t)(share * (double)info.st_size)), 0);
}

/* Turns some bits; a second time, and they are as they were. */
static void damage(const char *name, double share)
{
    struct stat info;
    assert_int_equal(stat(records_of(name), &info), 0);
    const long at = (long)(share * (double)info.st_size);
    FILE *file = fopen(records_of(name), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 0x5a, file), EOF);
    assert_int_equal(fclose(file), 0);
}

struct text {
    char bytes[1 << 20];
    size_t size;
};

static bool keep(void *context, const char *bytes, size_t size)
{
    struct text *text = context;
    assert_true(text->size + size < sizeof text->bytes);
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
    return true;
}

struct answer {
    enum plumb_verdict verdict;
    int64_t step; /* of the first root; -1: none */
    struct text text, json, html;
};

static void report(const struct plumb_run_diff *diff, enum plumb_report_form form,
                   struct text *text)
{
    const struct plumb_sink sink = {keep, text};
    const struct plumb_run_diff_report_options options = {.form = form};
    text->size = 0;
    assert_int_equal(plumb_report_run_diff(diff, &options, &sink, NULL), PLUMB_OK);
}

static struct answer *compare(const char *name_a, const char *name_b)
{
    static struct answer answer;
    struct plumb_run *a = NULL, *b = NULL;
    struct plumb_run_diff *diff = NULL;
    assert_int_equal(plumb_run_open(scratch_path(&scratch, name_a), &a, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, name_b), &b, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_diff_new(a, b, NULL, &diff, NULL), PLUMB_OK);
    const struct plumb_run_root *first = plumb_run_diff_root(diff, 0);
    answer.verdict = plumb_run_diff_verdict(diff);
    answer.step = first ? first->step : -1;
    report(diff, PLUMB_REPORT_TEXT, &answer.text);
    report(diff, PLUMB_REPORT_JSON, &answer.json);
    report(diff, PLUMB_REPORT_HTML, &answer.html);
    plumb_run_diff_free(diff);
    plumb_run_close(b);
    plumb_run_close(a);
    return &answer;
}

static void is_incomplete(const struct answer *answer, const char *unread)
{
    if (answer->verdict != PLUMB_INCOMPLETE)
        fail_msg("%s", answer->text.bytes);
    assert_null(strstr(answer->text.bytes, "nothing to do"));
    assert_non_null(strstr(answer->text.bytes, "may be there"));
    assert_non_null(strstr(answer->json.bytes, "{\"verdict\":\"incomplete\""));
    assert_non_null(strstr(answer->json.bytes, "\"complete\":false"));
    assert_null(strstr(answer->json.bytes, "nothing to do"));
    if (!strstr(answer->text.bytes, unread) || !strstr(answer->json.bytes, unread) ||
        !strstr(answer->html.bytes, unread))
        fail_msg("no '%s' in %s", unread, answer->text.bytes);
}

static void cut_in_half(void **state)
{
    (void)state;
    record("whole", &(struct toy){.steps = STEPS});
    record("cut", &(struct toy){.steps = STEPS});
    cut("cut", 0.5);
    is_incomplete(compare("whole", "cut"), "B, rank 0: records from step ");
    is_incomplete(compare("cut", "whole"), "A, rank 0: records from step ");
    is_incomplete(compare("cut", "cut"), "B, rank 0: records from step ");
}

static void damaged_in_the_middle(void **state)
{
    int torn = 0;
    (void)state;
    record("whole", &(struct toy){.steps = STEPS});
    record("torn", &(struct toy){.steps = STEPS});
    for (int share = 10; share < 80; share += 4) {
        damage("torn", share / 100.0);
        const struct answer *answer = compare("whole", "torn");
        damage("torn", share / 100.0);
        assert_int_not_equal(answer->verdict, PLUMB_DIFFERENT);
        if (!strstr(answer->text.bytes, "rows of tensors"))
            continue; /* spans and the like, which are not compared */
        is_incomplete(answer, "B, rank 0: records of step");
        torn++;
    }
    assert_true(torn >= 5);
}

static void killed(void **state)
{
    (void)state;
    record("whole", &(struct toy){.steps = STEPS});
    record("killed", &(struct toy){.steps = STEPS, .killed = true});
    is_incomplete(compare("whole", "killed"), "B, rank 0: was killed; it ends at step ");
    /* Who killed both at the same place has nothing to look for. */
    const struct answer *both = compare("killed", "killed");
    assert_int_equal(both->verdict, PLUMB_IDENTICAL);
}

static void shorter(void **state)
{
    (void)state;
    record("whole", &(struct toy){.steps = STEPS});
    record("short", &(struct toy){.steps = STEPS / 2});
    const struct answer *answer = compare("whole", "short");
    assert_int_equal(answer->verdict, PLUMB_IDENTICAL);
    assert_non_null(strstr(answer->json.bytes, "\"complete\":true"));
    assert_non_null(strstr(answer->text.bytes, "nothing to do for what both recorded"));
    assert_non_null(strstr(compare("whole", "whole")->text.bytes, "nothing to do\n"));
}

static void differs_as_well(void **state)
{
    (void)state;
    record("whole", &(struct toy){.steps = STEPS});
    record("early", &(struct toy){.steps = STEPS, .wrong_from = 3});
    record("late", &(struct toy){.steps = STEPS, .wrong_from = STEPS - 20});
    cut("early", 0.7);
    damage("late", 0.1);
    const struct answer *answer = compare("whole", "early");
    assert_int_equal(answer->verdict, PLUMB_DIFFERENT);
    assert_int_equal(answer->step, 3);
    assert_non_null(strstr(answer->text.bytes, "not read  B, rank 0: records from step "));
    assert_null(strstr(answer->text.bytes, "may have begun there"));
    answer = compare("whole", "late");
    assert_int_equal(answer->verdict, PLUMB_DIFFERENT);
    assert_int_equal(answer->step, STEPS - 20);
    assert_non_null(strstr(answer->text.bytes, "may have begun there"));
}

static void nothing_left(void **state)
{
    struct plumb_run *a = NULL, *b = NULL;
    struct plumb_run_diff *diff = NULL;
    struct plumb_error error;
    (void)state;
    record("whole", &(struct toy){.steps = STEPS});
    record("stump", &(struct toy){.steps = STEPS});
    assert_int_equal(truncate(records_of("stump"), 700), 0);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, "whole"), &a, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, "stump"), &b, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_diff_new(a, b, NULL, &diff, &error), PLUMB_DAMAGED);
    assert_non_null(strstr(error.message, "B, rank 0: records from step 0 on"));
    plumb_run_close(b);
    plumb_run_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cut_in_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_in_the_middle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shorter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(differs_as_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_left, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
