/* test_plan_capture.c - each kind of record of two runs that part leads to the next narrower capture. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "compare/plan_capture.h"
#include "unit/scratch.h"

enum { STEPS = 6, WIDTH = 64 };

/* How a toy is recorded, and from which step on its second layer is wrong (negative: never). */
struct toy {
    enum plumb_level level;
    enum plumb_save save;
    const char *steps;
    int64_t wrong;
    int rank, ranks;
    const char *seed;
};

static void run_layer(struct plumb_recorder *recorder, const char *module, float factor,
                      float *values)
{
    static const int64_t shape[] = {WIDTH};
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, module, "Linear", PLUMB_CALL_COUNTED);
    plumb_record_tensor(recorder, "input0", PLUMB_F32, 1, shape, values);
    for (int i = 0; i < WIDTH; i++)
        values[i] *= factor;
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, values);
    plumb_record_leave(recorder);
}

static void record(struct scratch *scratch, const char *name, const struct toy *toy)
{
    struct plumb_error error;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, name));
    for (int rank = 0; rank < (toy->ranks ? toy->ranks : 1); rank++) {
        struct plumb_recorder *recorder = NULL;
        const struct plumb_recorder_options options = {.path = path,
                                                       .rank = rank,
                                                       .world_size = toy->ranks,
                                                       .framework = "torch 2",
                                                       .command_line = "python train.py",
                                                       .level = toy->level,
                                                       .save = toy->save,
                                                       .steps = toy->steps,
                                                       .no_thread = true};
        assert_int_equal(plumb_recorder_open(&options, &recorder, &error), PLUMB_OK);
        plumb_record_config(recorder, "seed", toy->seed ? toy->seed : "1");
        for (int64_t step = 0; step < STEPS; step++) {
            const bool wrong = toy->wrong >= 0 && step >= toy->wrong && rank == toy->rank;
            float values[WIDTH];
            for (int i = 0; i < WIDTH; i++)
                values[i] = (float)(i + 1 + step);
            plumb_record_step_begin(recorder, step);
            run_layer(recorder, "blocks.0.attention", 2, values);
            run_layer(recorder, "blocks.0.feed", wrong ? 3.03F : 3, values);
            plumb_record_series(recorder, "loss", step, (double)values[0]);
            plumb_record_step_end(recorder);
        }
        assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
    }
}

struct planned {
    struct plumb_run *a, *b;
    struct plumb_plan *plan;
};

static struct planned plan(struct scratch *scratch, const struct toy *a, const struct toy *b)
{
    struct planned planned = {NULL, NULL, NULL};
    struct plumb_error error;
    record(scratch, "a", a);
    record(scratch, "b", b);
    assert_int_equal(plumb_run_open(scratch_path(scratch, "a"), &planned.a, &error), PLUMB_OK);
    assert_int_equal(plumb_run_open(scratch_path(scratch, "b"), &planned.b, &error), PLUMB_OK);
    assert_int_equal(plumb_plan_new(planned.a, planned.b, NULL, &planned.plan, &error),
                     PLUMB_OK);
    return planned;
}

static void finish(struct planned *planned, struct scratch *scratch)
{
    plumb_plan_free(planned->plan);
    plumb_run_close(planned->b);
    plumb_run_close(planned->a);
    scratch_close(scratch);
}

static void test_series_give_steps(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    const struct toy well = {.level = PLUMB_LEVEL_WATCH, .wrong = -1};
    const struct toy sick = {.level = PLUMB_LEVEL_WATCH, .wrong = 3};
    struct planned planned = plan(&scratch, &well, &sick);
    assert_false(plumb_plan_is_clear(planned.plan));
    assert_string_equal(planned.plan->level, "module");
    assert_string_equal(planned.plan->steps, "2-3");
    assert_null(planned.plan->ops);
    finish(&planned, &scratch);
}

static void test_modules_give_ops_inside(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    const struct toy well = {.level = PLUMB_LEVEL_MODULE, .wrong = -1};
    const struct toy sick = {.level = PLUMB_LEVEL_MODULE, .wrong = 3};
    struct planned planned = plan(&scratch, &well, &sick);
    assert_string_equal(planned.plan->level, "op");
    assert_string_equal(planned.plan->save, "stats");
    assert_string_equal(planned.plan->steps, "3");
    assert_string_equal(planned.plan->ops, "blocks.0.feed*");
    assert_null(planned.plan->ranks);
    assert_non_null(strstr(planned.plan->command_a,
                           "plumb run --level op --save stats --steps 3 --ops 'blocks.0.feed*' "
                           "--out "));
    assert_non_null(strstr(planned.plan->command_b, " -- python train.py"));
    assert_true(planned.plan->knows_bytes && planned.plan->knows_time);
    finish(&planned, &scratch);
}

static void test_ops_give_values_of_one_rank(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    const struct toy well = {.wrong = -1, .ranks = 2};
    const struct toy sick = {.wrong = 3, .ranks = 2, .rank = 1};
    struct planned planned = plan(&scratch, &well, &sick);
    assert_string_equal(planned.plan->save, "tensors");
    assert_string_equal(planned.plan->ops, "blocks.0.feed.Linear");
    assert_string_equal(planned.plan->ranks, "1");
    /* Two tensors of 64 floats and their records. */
    assert_in_range(planned.plan->bytes, 2 * 64 * 4, 2 * 64 * 4 + 2 * 400);
    finish(&planned, &scratch);
}

static void test_values_are_the_answer(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    const struct toy well = {.wrong = -1, .save = PLUMB_SAVE_TENSORS};
    const struct toy sick = {.wrong = 3, .save = PLUMB_SAVE_TENSORS};
    struct planned planned = plan(&scratch, &well, &sick);
    assert_true(plumb_plan_is_clear(planned.plan));
    assert_non_null(strstr(planned.plan->answer, "blocks.0.feed.Linear"));
    assert_null(planned.plan->command_a);
    finish(&planned, &scratch);
}

static void test_equal_runs_need_nothing(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    const struct toy well = {.wrong = -1};
    struct planned planned = plan(&scratch, &well, &well);
    assert_true(plumb_plan_is_clear(planned.plan));
    assert_int_equal(plumb_plan_verdict(planned.plan), PLUMB_IDENTICAL);
    finish(&planned, &scratch);
}

static void test_steps_that_are_not_recorded(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    const struct toy well = {.wrong = -1, .steps = "0,5"};
    const struct toy sick = {.wrong = 3, .steps = "0,5"};
    struct planned planned = plan(&scratch, &well, &sick);
    assert_string_equal(planned.plan->level, "module");
    assert_string_equal(planned.plan->steps, "2-3");
    finish(&planned, &scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series_give_steps),
        cmocka_unit_test(test_modules_give_ops_inside),
        cmocka_unit_test(test_ops_give_values_of_one_rank),
        cmocka_unit_test(test_values_are_the_answer),
        cmocka_unit_test(test_equal_runs_need_nothing),
        cmocka_unit_test(test_steps_that_are_not_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
