/* test_run_against.c - a run that is being recorded is compared with another: what differs first, what is saved. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "compare/recent_values.h"
#include "plumb.h"
#include "unit/scratch.h"

enum { STEPS = 4, LAYERS = 8, WIDTH = 64 };

struct toy {
    int64_t wrong_step; /* negative: never */
    int wrong_layer;
    float factor; /* of the wrong layer; 0: it is left out */
    bool extra;   /* an op that the other does not have */
};

static void run_layer(struct plumb_recorder *recorder, int layer, float factor, float *values)
{
    static const int64_t shape[] = {WIDTH};
    char module[16];
    (void)snprintf(module, sizeof module, "net.%d", layer);
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, module, "mul", PLUMB_CALL_COUNTED);
    plumb_record_tensor(recorder, "input0", PLUMB_F32, 1, shape, values);
    for (int i = 0; i < WIDTH; i++)
        values[i] *= factor;
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, values);
    plumb_record_leave(recorder);
}

static void run(const struct toy *toy, const char *path, struct plumb_against *against)
{
    struct plumb_error error;
    struct plumb_recorder *recorder = NULL;
    const struct plumb_recorder_options options = {.path = path, .no_thread = true};
    assert_int_equal(plumb_recorder_open(&options, &recorder, &error), PLUMB_OK);
    if (against)
        plumb_recorder_observe(recorder, plumb_against_observer(against));
    for (int64_t step = 0; step < STEPS; step++) {
        float values[WIDTH];
        for (int i = 0; i < WIDTH; i++)
            values[i] = (float)(i + 1 + step);
        if (against)
            assert_int_equal(plumb_against_step(against, step, &error), PLUMB_OK);
        plumb_record_step_begin(recorder, step);
        for (int layer = 0; layer < LAYERS; layer++) {
            const bool wrong = step == toy->wrong_step && layer == toy->wrong_layer;
            run_layer(recorder, wrong && toy->extra ? 77 : layer, wrong ? toy->factor : 1.25F,
                      values);
        }
        plumb_record_step_end(recorder);
    }
    plumb_recorder_observe(recorder, NULL);
    assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
}

static struct plumb_against *compare(struct scratch *scratch, const struct toy *toy)
{
    static const struct toy well = {.wrong_step = -1};
    struct plumb_against *against = NULL;
    struct plumb_error error;
    scratch_open(scratch);
    run(&well, scratch_path(scratch, "a"), NULL);
    assert_int_equal(plumb_against_open(scratch_path(scratch, "a"), 0, &against, &error),
                     PLUMB_OK);
    run(toy, scratch_path(scratch, "b"), against);
    return against;
}

static void test_equal_runs(void **state)
{
    (void)state;
    struct scratch scratch;
    struct plumb_against_counts counts;
    const struct toy toy = {.wrong_step = -1};
    struct plumb_against *against = compare(&scratch, &toy);
    plumb_against_counts(against, &counts);
    assert_null(plumb_against_first(against, false));
    assert_null(plumb_against_stopped(against));
    assert_int_equal(counts.records, STEPS * LAYERS * 2);
    assert_int_equal(counts.saved, 0);
    plumb_against_close(against);
    scratch_close(&scratch);
}

static bool has_tensor(const struct plumb_file *file, const char *name)
{
    for (size_t i = 0; i < plumb_file_tensor_count(file); i++)
        if (strcmp(plumb_file_tensor(file, i)->name, name) == 0)
            return true;
    return false;
}

static void test_first_op_and_values_around_it(void **state)
{
    (void)state;
    struct scratch scratch;
    struct plumb_error error;
    struct plumb_file *file = NULL;
    const struct toy toy = {.wrong_step = 2, .wrong_layer = 3, .factor = 1.26F};
    struct plumb_against *against = compare(&scratch, &toy);
    const struct plumb_divergence *first = plumb_against_first(against, true);
    assert_non_null(first);
    assert_ptr_not_equal(plumb_against_first(against, false), NULL);
    assert_string_equal(first->op, "net.3.mul");
    assert_string_equal(first->slot, "output0");
    assert_int_equal(first->step, 2);
    assert_true(first->beyond_rounding);
    const char *path = scratch_path(&scratch, "divergence.npz");
    assert_int_equal(plumb_against_save(against, path, &error), PLUMB_OK);
    assert_int_equal(plumb_file_open(path, NULL, &file, &error), PLUMB_OK);
    assert_true(has_tensor(file, "net.3.mul/forward/input0"));
    assert_true(has_tensor(file, "net.3.mul/forward/output0"));
    assert_true(has_tensor(file, "net.0.mul/forward/output0"));
    assert_true(has_tensor(file, "net.6.mul/forward/output0"));
    assert_false(has_tensor(file, "net.7.mul/forward/output0"));
    plumb_file_close(file);
    plumb_against_close(against);
    scratch_close(&scratch);
}

static void test_rounding_is_told_from_more(void **state)
{
    (void)state;
    struct scratch scratch;
    const struct toy toy = {.wrong_step = 1, .wrong_layer = 2, .factor = 1.2500001F};
    struct plumb_against *against = compare(&scratch, &toy);
    const struct plumb_divergence *first = plumb_against_first(against, false);
    assert_non_null(first);
    assert_string_equal(first->op, "net.2.mul");
    assert_false(first->beyond_rounding);
    assert_null(plumb_against_first(against, true));
    plumb_against_close(against);
    scratch_close(&scratch);
}

static void test_other_ops_end_the_comparison(void **state)
{
    (void)state;
    struct scratch scratch;
    const struct toy toy = {.wrong_step = 1, .wrong_layer = 2, .factor = 9, .extra = true};
    struct plumb_against *against = compare(&scratch, &toy);
    assert_null(plumb_against_first(against, false));
    assert_non_null(strstr(plumb_against_stopped(against), "net.77.mul"));
    plumb_against_close(against);
    scratch_close(&scratch);
}

static void test_a_rank_that_is_not_there(void **state)
{
    (void)state;
    struct scratch scratch;
    struct plumb_error error;
    struct plumb_against *against = NULL;
    const struct toy toy = {.wrong_step = -1};
    scratch_open(&scratch);
    run(&toy, scratch_path(&scratch, "a"), NULL);
    assert_int_equal(plumb_against_open(scratch_path(&scratch, "a"), 3, &against, &error),
                     PLUMB_NOT_FOUND);
    assert_int_equal(plumb_against_open(scratch_path(&scratch, "no"), 0, &against, &error),
                     PLUMB_NOT_FOUND);
    scratch_close(&scratch);
}

/* Values leave in the order they came, and one that has the same values elsewhere is found there. */
static void test_values_that_are_gone(void **state)
{
    (void)state;
    struct plumb_recent recent = {.count = 0};
    const int64_t shape[] = {4};
    float values[4] = {1, 2, 3, 4};
    struct plumb_tensor_record record = {.label = "a.b",
                                         .slot = "output0",
                                         .dtype = PLUMB_F32,
                                         .dims = 1,
                                         .shape = shape,
                                         .fingerprint = 1};
    assert_true(plumb_recent_open(&recent, 40)); /* two and a half of them */
    for (uint64_t i = 1; i <= 3; i++) {
        record.fingerprint = i;
        values[0] = (float)i;
        assert_true(plumb_recent_add(&recent, &record, i, values));
    }
    record.fingerprint = 3;
    assert_true(plumb_recent_add(&recent, &record, 4, NULL));
    assert_null(plumb_recent_values(&recent, plumb_recent_row(&recent, 3)));
    const float *third = plumb_recent_values(&recent, plumb_recent_row(&recent, 0));
    assert_non_null(third);
    assert_true(third[0] == 3.0F);
    assert_null(plumb_recent_row(&recent, 4));
    plumb_recent_release(&recent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_runs),
        cmocka_unit_test(test_first_op_and_values_around_it),
        cmocka_unit_test(test_rounding_is_told_from_more),
        cmocka_unit_test(test_other_ops_end_the_comparison),
        cmocka_unit_test(test_a_rank_that_is_not_there),
        cmocka_unit_test(test_values_that_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
