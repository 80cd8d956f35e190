/*
 * test_nan_ranks.c - four ranks that reduce in two groups and then all together: the NaN is found on
 * the rank that made it, whichever it is.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch.h"

enum { RANKS = 4, WIDTH = 4, STEPS = 2 };

static void record_op(struct plumb_recorder *recorder, enum plumb_phase phase, const char *op,
                      int call, float in, float out)
{
    static const int64_t shape[] = {WIDTH};
    const float input[WIDTH] = {1, in, 2, 3}, output[WIDTH] = {1, 2, out, 3};
    plumb_record_enter(recorder, phase, phase == PLUMB_PHASE_COLLECTIVE ? "dist" : "net", op,
                       call);
    plumb_record_tensor(recorder, "input0", PLUMB_F32, 1, shape, input);
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, output);
    plumb_record_leave(recorder);
}

static void meet(struct plumb_recorder *recorder, const char *group, int64_t sequence)
{
    const struct plumb_collective collective = {
        .group = group, .name = "all_reduce", .sequence = sequence, .bytes = 16};
    plumb_record_collective(recorder, &collective);
}

/* The values of a rank of which `ill` is the one that turns NaN at the last step; ranks of the second
 * half reduce twice in their group, so that counting collectives alone would mislead. */
static void run_rank(struct plumb_recorder *recorder, int rank, int ill)
{
    const char *group = rank < 2 ? "first" : "second";
    const int extra = rank < 2 ? 0 : 1;
    for (int64_t step = 0; step < STEPS; step++) {
        const bool last = step == STEPS - 1;
        const float mine = last && rank == ill ? NAN : 1.0F, all = last ? NAN : 1.0F;
        plumb_record_step_begin(recorder, step);
        record_op(recorder, PLUMB_PHASE_FORWARD, "matmul", 0, 1, 1);
        for (int i = 0; i <= extra; i++) {
            record_op(recorder, PLUMB_PHASE_COLLECTIVE, "all_reduce", i, 1, 1);
            meet(recorder, group, step * (extra + 1) + i);
        }
        record_op(recorder, PLUMB_PHASE_FORWARD, "matmul", 1, 1, mine);
        record_op(recorder, PLUMB_PHASE_COLLECTIVE, "all_reduce", 2, mine, all);
        meet(recorder, "world", step);
        record_op(recorder, PLUMB_PHASE_FORWARD, "matmul", 2, all, all);
        plumb_record_step_end(recorder);
    }
}

static void record(struct scratch *scratch, int ill)
{
    struct plumb_error error;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, "run"));
    for (int rank = 0; rank < RANKS; rank++) {
        struct plumb_recorder *recorder = NULL;
        const struct plumb_recorder_options options = {
            .path = path, .rank = rank, .world_size = RANKS, .no_thread = true};
        assert_int_equal(plumb_recorder_open(&options, &recorder, &error), PLUMB_OK);
        run_rank(recorder, rank, ill);
        assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
    }
}

static void check(int ill, int rank, const char *op)
{
    struct scratch scratch;
    struct plumb_error error;
    struct plumb_run *run = NULL;
    struct plumb_nan *nan = NULL;
    scratch_open(&scratch);
    record(&scratch, ill);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, "run"), &run, &error), PLUMB_OK);
    assert_int_equal(plumb_nan_find(run, &nan, &error), PLUMB_OK);
    const struct plumb_nan_place *origin = plumb_nan_origin(nan);
    assert_non_null(origin);
    assert_string_equal(origin->op, op);
    assert_int_equal(origin->rank, rank);
    assert_int_equal(origin->step, STEPS - 1);
    assert_string_equal(origin->severity, "critical");
    bool others[RANKS] = {false};
    for (size_t i = 0; i < plumb_nan_chain_count(nan); i++)
        others[plumb_nan_chain(nan, i)->rank] = true;
    for (int i = 0; i < RANKS; i++)
        assert_true(others[i]);
    plumb_nan_free(nan);
    plumb_run_close(run);
    scratch_close(&scratch);
}

static void each_rank_in_turn(void **state)
{
    (void)state;
    for (int ill = 0; ill < RANKS; ill++)
        check(ill, ill, "net.matmul#1");
}

static void a_collective_of_finite_values(void **state)
{
    (void)state;
    check(-1, 0, "dist.all_reduce#2"); /* all put in finite values, a NaN comes out */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_in_turn),
        cmocka_unit_test(a_collective_of_finite_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
