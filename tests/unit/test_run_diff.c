/* test_run_diff.c - toy runs that differ in one known way are told apart. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch.h"

enum { STEPS = 6, WIDTH = 96, LAYERS = 4 };

/* How the toy is made; zeros are the usual one. */
struct toy {
    const char *prefix, *op; /* of its modules and ops */
    int64_t step;            /* from which the plant holds */
    int layer;               /* it is in */
    float more;              /* what the layer's output is larger by, relatively */
    bool nan;                /* and one element is not a number */
    bool skips;              /* the layer is left out */
    bool again;              /* the layer is computed a second time */
    float noise;             /* relative, of every output */
    bool other_batch;
    bool reads_last; /* each step begins with an op that takes what the step before made */
    bool watched;    /* nothing but the loss and the weights after the update is recorded */
    enum plumb_save save;
    int ranks, plant_rank;
};

static float draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*state >> 40) / (double)(1 << 24) - 0.5);
}

static void run_layer(struct plumb_recorder *recorder, const struct toy *toy, int rank,
                      int64_t step, int layer, float *values)
{
    static const int64_t shape[] = {8, WIDTH / 8};
    char module[64];
    const bool here = layer == toy->layer && step >= toy->step && rank == toy->plant_rank;
    uint64_t chance = (uint64_t)(step * 100 + layer);
    (void)snprintf(module, sizeof module, "%s.%d", toy->prefix ? toy->prefix : "net", layer);
    if (here && toy->skips)
        return;
    if (!toy->watched) {
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, module, toy->op ? toy->op : "mul",
                           PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "input0", PLUMB_F32, 2, shape, values);
    }
    for (int i = 0; i < WIDTH; i++) {
        values[i] = values[i] * 1.5F + 0.1F;
        values[i] *= (here ? 1 + toy->more : 1) * (1 + toy->noise * draw(&chance));
    }
    if (here && toy->nan)
        values[5] = NAN;
    if (toy->watched)
        return;
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
    plumb_record_leave(recorder);
}

/* As `loss.item()` does after the update, which the next step has begun by then. */
static void read_last(struct plumb_recorder *recorder, const float *last)
{
    static const int64_t shape[] = {1};
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "", "item", PLUMB_CALL_COUNTED);
    plumb_record_tensor(recorder, "input0", PLUMB_F32, 1, shape, last);
    plumb_record_leave(recorder);
}

static void make_loss(struct plumb_recorder *recorder, const float *values, float *last)
{
    static const int64_t shape[] = {1}, taken[] = {8, WIDTH / 8};
    *last = 0;
    for (int i = 0; i < WIDTH; i++)
        *last += values[i];
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "", "sum", PLUMB_CALL_COUNTED);
    plumb_record_tensor(recorder, "input0", PLUMB_F32, 2, taken, values);
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, last);
    plumb_record_leave(recorder);
}

static void run_step(struct plumb_recorder *recorder, const struct toy *toy, int rank,
                     int64_t step, float *last)
{
    static const int64_t shape[] = {8, WIDTH / 8};
    float values[WIDTH], kept[WIDTH];
    uint64_t chance = (uint64_t)(step + 1000 * toy->other_batch);
    for (int i = 0; i < WIDTH; i++)
        values[i] = draw(&chance);
    plumb_record_step_begin(recorder, step);
    if (toy->reads_last && step)
        read_last(recorder, last);
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "data", "batch", PLUMB_CALL_COUNTED);
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
    plumb_record_leave(recorder);
    for (int layer = 0; layer < LAYERS; layer++) {
        memcpy(kept, values, sizeof kept);
        run_layer(recorder, toy, rank, step, layer, values);
        if (toy->again && layer == 1)
            run_layer(recorder, toy, rank, step, layer, kept);
    }
    if (toy->reads_last)
        make_loss(recorder, values, last);
    if (toy->watched) {
        plumb_record_enter(recorder, PLUMB_PHASE_OPTIMIZER, "net", "update",
                           PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "param", PLUMB_F32, 2, shape, values);
        plumb_record_leave(recorder);
    }
    plumb_record_series(recorder, "loss", step, (double)values[0]);
    plumb_record_step_end(recorder);
}

static void record(struct scratch *scratch, const char *name, const struct toy *toy)
{
    struct plumb_error error;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, name));
    for (int rank = 0; rank < (toy->ranks ? toy->ranks : 1); rank++) {
        struct plumb_recorder *recorder = NULL;
        float last = 0;
        const struct plumb_recorder_options options = {.path = path,
                                                       .rank = rank,
                                                       .world_size = toy->ranks,
                                                       .no_thread = true,
                                                       .save = toy->save};
        assert_int_equal(plumb_recorder_open(&options, &recorder, &error), PLUMB_OK);
        for (int64_t step = 0; step < STEPS; step++)
            run_step(recorder, toy, rank, step, &last);
        assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
    }
}

struct trial {
    const char *name;
    struct toy a, b;
    enum plumb_verdict verdict;
    const char *op; /* of the first root; NULL: there is none */
    int64_t step;
    int rank;
    enum plumb_stage stage;
    bool any_verdict; /* as long as there is a difference */
};

static void check(const struct trial *trial)
{
    struct scratch scratch;
    struct plumb_error error;
    struct plumb_run *a = NULL, *b = NULL;
    struct plumb_run_diff *diff = NULL;
    scratch_open(&scratch);
    record(&scratch, "a", &trial->a);
    record(&scratch, "b", &trial->b);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, "a"), &a, &error), PLUMB_OK);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, "b"), &b, &error), PLUMB_OK);
    assert_int_equal(plumb_run_diff_new(a, b, NULL, &diff, &error), PLUMB_OK);
    const struct plumb_run_root *first = plumb_run_diff_root(diff, 0);
    const bool place =
        trial->op ? first && strcmp(first->op, trial->op) == 0 && first->step == trial->step &&
                        first->rank == trial->rank && first->stage == trial->stage
                  : !first;
    const bool verdict = trial->any_verdict ? plumb_run_diff_verdict(diff) > PLUMB_IDENTICAL
                                            : plumb_run_diff_verdict(diff) == trial->verdict;
    for (size_t i = 0; i < plumb_run_diff_root_count(diff); i++)
        if (strcmp(plumb_run_diff_root(diff, i)->op, "item") == 0)
            fail_msg("%s: %s", trial->name, plumb_run_diff_root(diff, i)->reason);
    if (!place || !verdict)
        fail_msg("%s: %s; first %s at step %lld: %s", trial->name, plumb_run_diff_summary(diff),
                 first ? first->op : "-", first ? (long long)first->step : -1,
                 first ? first->reason : "-");
    plumb_run_diff_free(diff);
    plumb_run_close(b);
    plumb_run_close(a);
    scratch_close(&scratch);
}

static const struct trial trials[] = {
    {.name = "same", .a = {0}, .b = {0}, .verdict = PLUMB_IDENTICAL},
    {"factor",
     {0},
     {.step = 3, .layer = 2, .more = 0.01F},
     PLUMB_DIFFERENT,
     "net.2.mul",
     3,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"nan on one side",
     {0},
     {.step = 1, .layer = 1, .nan = true},
     PLUMB_DIFFERENT,
     "net.1.mul",
     1,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"nan in the reference",
     {.step = 1, .layer = 1, .nan = true},
     {0},
     PLUMB_DIFFERENT,
     "net.1.mul",
     1,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"rounding",
     {0},
     {.noise = 1e-7F},
     PLUMB_ROUNDING,
     "net.0.mul",
     0,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"rounding that the next step looks at",
     {.reads_last = true},
     {.reads_last = true, .noise = 1e-7F},
     PLUMB_ROUNDING,
     "net.0.mul",
     0,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"a factor that the next step looks at",
     {.reads_last = true},
     {.reads_last = true, .noise = 1e-7F, .step = 2, .layer = 3, .more = 0.1F},
     PLUMB_DIFFERENT,
     "net.3.mul",
     2,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"factor among rounding",
     {0},
     {.noise = 1e-7F, .step = 2, .layer = 3, .more = 0.1F},
     PLUMB_DIFFERENT,
     "net.3.mul",
     2,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"batch",
     {0},
     {.other_batch = true},
     PLUMB_DIFFERENT,
     "data.batch",
     0,
     0,
     PLUMB_STAGE_DATA,
     false},
    {"other rank",
     {.ranks = 3},
     {.ranks = 3, .plant_rank = 2, .layer = 0, .step = 4, .more = 1},
     PLUMB_DIFFERENT,
     "net.0.mul",
     4,
     2,
     PLUMB_STAGE_FORWARD,
     false},
    {"missing op",
     {0},
     {.layer = 1, .skips = true},
     PLUMB_DIFFERENT,
     "net.1.mul",
     0,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"extra op",
     {.layer = 1, .skips = true},
     {0},
     PLUMB_DIFFERENT,
     "net.1.mul",
     0,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"values",
     {.save = PLUMB_SAVE_TENSORS},
     {.save = PLUMB_SAVE_TENSORS, .step = 2, .layer = 1, .more = 0.5F},
     PLUMB_DIFFERENT,
     "net.1.mul",
     2,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"fingerprints",
     {.save = PLUMB_SAVE_FINGERPRINT},
     {.save = PLUMB_SAVE_FINGERPRINT, .step = 2, .layer = 1, .more = 0.5F},
     PLUMB_APPROXIMATION,
     "net.1.mul",
     2,
     0,
     PLUMB_STAGE_FORWARD,
     true},
    {.name = "renamed",
     .a = {0},
     .b = {.prefix = "model.blocks", .op = "Mul"},
     .verdict = PLUMB_IDENTICAL},
    {"renamed with a factor",
     {0},
     {.prefix = "model.blocks", .op = "Mul", .step = 1, .layer = 3, .more = -0.5F},
     PLUMB_DIFFERENT,
     "net.3.mul",
     1,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {"a loss whose ops are not recorded",
     {.watched = true},
     {.watched = true, .step = 2, .layer = 1, .more = 0.5F},
     PLUMB_DIFFERENT,
     "loss",
     2,
     0,
     PLUMB_STAGE_FORWARD,
     false},
    {.name = "recomputed", .a = {0}, .b = {.again = true}, .verdict = PLUMB_IDENTICAL},
};

static void differences_are_located(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        check(&trials[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(differences_are_located)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
