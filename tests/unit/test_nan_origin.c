/* test_nan_origin.c - the first op that leaves the finite numbers is found, and nothing else is. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch.h"

enum { STEPS = 4, WIDTH = 6 };

/* What one record of the toy below holds at element 3. */
struct plant {
    int64_t step; /* -1: at every step */
    const char *op, *slot;
    float value;
};

struct trial {
    const char *name;
    struct plant plants[4];
    bool scale;      /* a loss scale is recorded */
    double bad_loss; /* of the last step; 0: a good one */
    const char *op;  /* found; NULL: nothing */
    int64_t step;
    const char *slot, *kind;
    size_t chain;
};

#define INF (float)INFINITY
static const struct trial trials[] = {
    {.name = "healthy"},
    {.name = "forward",
     .plants = {{2, "b", "output0", NAN}, {2, "c", "input0", NAN}, {2, "c", "output0", NAN}},
     .op = "b.mul",
     .step = 2,
     .slot = "output0",
     .kind = "nan",
     .chain = 1},
    {.name = "overflow",
     .plants = {{1, "c", "output0", INF}},
     .op = "c.mul",
     .step = 1,
     .slot = "output0",
     .kind = "inf"},
    {.name = "input",
     .plants = {{3, "a", "input0", -INF}, {3, "a", "output0", NAN}},
     .op = "a.mul",
     .step = 3,
     .slot = "input0",
     .kind = "-inf",
     .chain = 1},
    {.name = "scale", .plants = {{1, "back", "grad:w", INF}}, .scale = true},
    {.name = "scale-last-step", .plants = {{3, "back", "grad:w", INF}}, .scale = true},
    {.name = "scale-fixed",
     .plants = {{-1, "back", "grad:w", INF}},
     .scale = true,
     .op = "back.mul",
     .step = 0,
     .slot = "grad:w",
     .kind = "inf"},
    {.name = "no-scale",
     .plants = {{1, "back", "grad:w", INF}},
     .op = "back.mul",
     .step = 1,
     .slot = "grad:w",
     .kind = "inf"},
    {.name = "scale-too-late",
     .plants = {{1, "back", "grad:w", INF},
                {1, "update", "grad", INF},
                {1, "update", "param", NAN}},
     .scale = true,
     .op = "back.mul",
     .step = 1,
     .slot = "grad:w",
     .kind = "inf",
     .chain = 1},
    {.name = "saturated",
     .plants = {{2, "b", "output0", FLT_MAX}},
     .op = "b.mul",
     .step = 2,
     .slot = "output0",
     .kind = "saturated"},
    {.name = "mask", .plants = {{-1, "b", "output0", -FLT_MAX}}},
    {.name = "loss",
     .bad_loss = NAN,
     .op = "loss",
     .step = STEPS - 1,
     .slot = "series",
     .kind = "nan"},
};

static struct scratch scratch;

static void record_slot(struct plumb_recorder *recorder, const struct trial *trial,
                        int64_t step, const char *op, const char *slot)
{
    const int64_t shape[] = {2, WIDTH / 2};
    float values[WIDTH] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < sizeof trial->plants / sizeof *trial->plants; i++) {
        const struct plant *plant = &trial->plants[i];
        if (plant->op && (plant->step == step || plant->step < 0) &&
            strcmp(plant->op, op) == 0 && strcmp(plant->slot, slot) == 0)
            values[3] = plant->value;
    }
    plumb_record_tensor(recorder, slot, PLUMB_F32, 2, shape, values);
}

static void record_op(struct plumb_recorder *recorder, const struct trial *trial, int64_t step,
                      enum plumb_phase phase, const char *op, const char *const slots[2])
{
    plumb_record_enter(recorder, phase, op, "mul", PLUMB_CALL_COUNTED);
    for (int i = 0; i < 2; i++)
        record_slot(recorder, trial, step, op, slots[i]);
    plumb_record_leave(recorder);
}

static void record(const char *path, const struct trial *trial)
{
    static const char *const forward[] = {"input0", "output0"},
                             *const back[] = {"input0", "grad:w"},
                             *const update[] = {"grad", "param"};
    struct plumb_recorder *recorder = NULL;
    const struct plumb_recorder_options options = {.path = path, .no_thread = true};
    assert_int_equal(plumb_recorder_open(&options, &recorder, NULL), PLUMB_OK);
    for (int64_t step = 0; step < STEPS; step++) {
        plumb_record_step_begin(recorder, step);
        record_op(recorder, trial, step, PLUMB_PHASE_FORWARD, "a", forward);
        record_op(recorder, trial, step, PLUMB_PHASE_FORWARD, "b", forward);
        record_op(recorder, trial, step, PLUMB_PHASE_FORWARD, "c", forward);
        record_op(recorder, trial, step, PLUMB_PHASE_BACKWARD, "back", back);
        record_op(recorder, trial, step, PLUMB_PHASE_OPTIMIZER, "update", update);
        if (trial->scale)
            plumb_record_series(recorder, "loss_scale", step, 1024);
        plumb_record_series(recorder, "loss", step,
                            step == STEPS - 1 && trial->bad_loss != 0 ? trial->bad_loss : 1);
        plumb_record_step_end(recorder);
    }
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
}

static void check(const struct trial *trial)
{
    struct plumb_run *run = NULL;
    struct plumb_nan *nan = NULL;
    const char *path = scratch_path(&scratch, trial->name);
    record(path, trial);
    assert_int_equal(plumb_run_open(path, &run, NULL), PLUMB_OK);
    assert_int_equal(plumb_nan_find(run, &nan, NULL), PLUMB_OK);
    const struct plumb_nan_place *origin = plumb_nan_origin(nan);
    if (!origin != !trial->op)
        fail_msg("%s: %s", trial->name, origin ? origin->op : "nothing found");
    if (origin) {
        assert_string_equal(origin->op, trial->op);
        assert_string_equal(origin->slot, trial->slot);
        assert_string_equal(origin->kind, trial->kind);
        assert_int_equal(origin->step, trial->step);
        assert_int_equal(origin->element, strcmp(trial->slot, "series") == 0 ? -1 : 3);
        assert_int_equal(plumb_nan_chain_count(nan), trial->chain);
    }
    plumb_nan_free(nan);
    plumb_run_close(run);
}

static void every_trial(void **state)
{
    (void)state;
    scratch_open(&scratch);
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        check(&trials[i]);
    scratch_close(&scratch);
}

/* ---- what came in with the data ------------------------------------------------------------------- */

/* A batch of 4 samples with 3 values each, of which value 2 of sample 1 is bad from step 2 on. Ops that
 * collect the samples may come before it, and a layer comes behind it. */
static void record_batches(const char *path, bool collected)
{
    struct plumb_recorder *recorder = NULL;
    const struct plumb_recorder_options options = {.path = path, .no_thread = true};
    const int64_t shape[] = {4, 3}, one[] = {3};
    assert_int_equal(plumb_recorder_open(&options, &recorder, NULL), PLUMB_OK);
    for (int64_t step = 0; step < STEPS; step++) {
        float values[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
        values[5] = step >= 2 ? NAN : 6;
        plumb_record_step_begin(recorder, step);
        if (collected) {
            plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "", "stack", PLUMB_CALL_COUNTED);
            plumb_record_tensor(recorder, "input1", PLUMB_F32, 1, one, values + 3);
            plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
            plumb_record_leave(recorder);
        }
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "data", "batch", PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
        plumb_record_leave(recorder);
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "net", "mul", PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "input0", PLUMB_F32, 2, shape, values);
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
        plumb_record_leave(recorder);
        plumb_record_step_end(recorder);
    }
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
}

static bool keep_text(void *context, const char *bytes, size_t size)
{
    (void)strncat(context, bytes, size);
    return true;
}

static void check_batch(const char *name, bool collected)
{
    static char text[1 << 14], json[1 << 14];
    struct plumb_run *run = NULL;
    struct plumb_nan *nan = NULL;
    const struct plumb_sink to_text = {keep_text, text}, to_json = {keep_text, json};
    text[0] = json[0] = '\0';
    record_batches(scratch_path(&scratch, name), collected);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, name), &run, NULL), PLUMB_OK);
    assert_int_equal(plumb_nan_find(run, &nan, NULL), PLUMB_OK);
    const struct plumb_nan_place *origin = plumb_nan_origin(nan);
    assert_string_equal(origin->op, "data.batch");
    assert_int_equal(origin->step, 2);
    assert_int_equal(origin->element, 5);
    assert_string_equal(plumb_nan_chain(nan, 0)->op, "net.mul");
    assert_int_equal(plumb_report_nan(nan, PLUMB_REPORT_TEXT, &to_text, NULL), PLUMB_OK);
    assert_int_equal(plumb_report_nan(nan, PLUMB_REPORT_JSON, &to_json, NULL), PLUMB_OK);
    if (!strstr(text, "NaN comes in with the data at step 2: sample 1 of 4 in the batch") ||
        !strstr(text, "value 2 of it") || strstr(text, "grew") || strstr(text, "learning rate"))
        fail_msg("%s", text);
    assert_non_null(strstr(json, "\"in_data\":true,\"sample\":1,"));
    plumb_nan_free(nan);
    plumb_run_close(run);
}

static void data_are_named(void **state)
{
    (void)state;
    scratch_open(&scratch);
    check_batch("batch", false);
    check_batch("collected", true);
    scratch_close(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_trial),
                                       cmocka_unit_test(data_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
