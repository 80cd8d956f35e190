/* test_run_data.c - batches that differ in a known way are called what they are. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch_group.h"

enum { STEPS = 12, SAMPLES = 16, WIDTH = 6, RANKS = 2 };

/* Which of the data set's batches a rank reads at a step, and what is done to it. */
struct reading {
    int64_t shift, from;      /* steps, from this step on */
    int64_t period;           /* batches repeat after so many steps */
    bool swapped, same_shard; /* of the two ranks, from that step on */
    bool turned;              /* samples of a batch in another order */
    bool backwards;           /* batches of the run in another order */
    float scale, offset;      /* of the values; 0: 1 */
    bool other_labels;
};

static int64_t batch_number(const struct reading *reading, int rank, int64_t step)
{
    const bool begun = step >= reading->from;
    int64_t at = begun ? step + reading->shift : step;
    if (begun && reading->period)
        at %= reading->period;
    if (begun && reading->backwards)
        at = STEPS - 1 - (step - reading->from);
    const int shard = begun && reading->same_shard ? 0
                      : begun && reading->swapped  ? 1 - rank
                                                   : rank;
    return at * RANKS + shard;
}

static void fill(const struct reading *reading, int64_t number, float *values, int32_t *labels)
{
    uint64_t chance = (uint64_t)number * 0x9e3779b97f4a7c15u + 7;
    for (int i = 0; i < SAMPLES; i++) {
        const int row = reading->turned ? (i * 5 + 3) % SAMPLES : i;
        for (int k = 0; k < WIDTH; k++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            const float value = (float)(chance >> 40) / (float)(1 << 23) - 1;
            values[row * WIDTH + k] =
                value * (reading->scale != 0 ? reading->scale : 1) + reading->offset;
        }
        labels[row] = (int32_t)((chance >> 33) % 10) + reading->other_labels;
    }
}

static void record(const char *name, const struct reading *reading)
{
    static const int64_t shape[] = {SAMPLES, WIDTH};
    struct plumb_error error;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, name));
    for (int rank = 0; rank < RANKS; rank++) {
        struct plumb_recorder *recorder = NULL;
        const struct plumb_recorder_options options = {
            .path = path, .rank = rank, .world_size = RANKS, .no_thread = true};
        assert_int_equal(plumb_recorder_open(&options, &recorder, &error), PLUMB_OK);
        for (int64_t step = 0; step < STEPS; step++) {
            float values[SAMPLES * WIDTH];
            int32_t labels[SAMPLES];
            fill(reading, batch_number(reading, rank, step), values, labels);
            plumb_record_step_begin(recorder, step);
            plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "data", "batch",
                               PLUMB_CALL_COUNTED);
            plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
            plumb_record_tensor(recorder, "output1", PLUMB_I32, 1, shape, labels);
            plumb_record_leave(recorder);
            plumb_record_step_end(recorder);
        }
        assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
    }
}

static const struct {
    const char *name;
    struct reading b;
    int64_t step;
    const char *says;
} trials[] = {
    {"shifted", {.shift = 2, .from = 3}, 3, "A's of 2 steps later: shifted"},
    {"behind", {.shift = -1, .from = 4}, 4, "A's of 1 step earlier: shifted"},
    {"late by one from the beginning", {.shift = 1}, 0, "A's of 1 step later: shifted"},
    {"repeated", {.period = 4}, 4, "own batch of step 0 again: batches repeat"},
    {"swapped", {.swapped = true, .from = 2}, 2, "ranks 0 and 1 of B read each other's"},
    {"not split", {.same_shard = true}, 0, "ranks 0 and 1 of B read the same batch"},
    {"other order of batches", {.backwards = true}, 0, "another order of batches"},
    {"other order of samples", {.turned = true}, 0, "samples are the same, in another order"},
    {"not divided", {.scale = 255}, 0, "B is not divided by 255"},
    {"divided twice", {.scale = 1.0F / 255}, 0, "B is divided by 255 once more"},
    {"another mean", {.offset = 0.485F}, 0, "plus 0.485: another normalisation (another mean"},
    {"mean and deviation", {.scale = 4, .offset = -2}, 0, "B is A times 4 plus -2"},
    {"labels", {.other_labels = true, .from = 0}, 0, "output0 is the same: only this part"},
};

static void every_class_is_named(void **state)
{
    (void)state;
    const struct reading usual = {.shift = 0};
    record("a", &usual);
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        struct plumb_error error;
        struct plumb_run *a = NULL, *b = NULL;
        struct plumb_run_diff *diff = NULL;
        char name[16];
        (void)snprintf(name, sizeof name, "b%zu", i);
        record(name, &trials[i].b);
        assert_int_equal(plumb_run_open(scratch_path(&scratch, "a"), &a, &error), PLUMB_OK);
        assert_int_equal(plumb_run_open(scratch_path(&scratch, name), &b, &error), PLUMB_OK);
        assert_int_equal(plumb_run_diff_new(a, b, NULL, &diff, &error), PLUMB_OK);
        const struct plumb_run_root *first = plumb_run_diff_root(diff, 0);
        if (!first || first->stage != PLUMB_STAGE_DATA || first->step != trials[i].step ||
            !strstr(first->reason, trials[i].says))
            fail_msg("%s: step %lld, %s", trials[i].name, first ? (long long)first->step : -1,
                     first ? first->reason : "-");
        plumb_run_diff_free(diff);
        plumb_run_close(b);
        plumb_run_close(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_class_is_named)};
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
