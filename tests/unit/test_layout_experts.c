/*
 * test_layout_experts.c - experts that are spread over ranks are put together before they are compared:
 * under numbers of their own or of the whole, one op each or all in one tensor, on ranks that have
 * the same tokens or each their own. A wrong expert of a later rank is the first root.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "compare/run_diff.h"
#include "unit/scratch_group.h"

enum { TOKENS = 4, WIDTH = 3, EXPERTS = 4, LAYERS = 2, RANKS = 2, BAD_EXPERT = 3 };

enum fault { NO_FAULT, BAD_WEIGHT, BAD_RESULT };

/* How experts are spread. */
struct spread {
    const char *name, *layout;
    bool grouped;      /* all experts of a rank in one tensor, [experts, ...] */
    bool own_numbers;  /* each rank counts its experts from 0 */
    bool split_tokens; /* outside of the experts, each rank has a part of the tokens */
};

static const struct spread spreads[] = {
    {"numbers of their own",
     "{\"ranks\": {\"ep\": 2}, \"renumber\": [{\"name\": \"experts.\", \"over\": \"ep\", "
     "\"by\": 2}]}",
     false, true, false},
    {"numbers of the whole", "{\"ranks\": {\"ep\": 2}}", false, false, false},
    {"one tensor",
     "{\"ranks\": {\"ep\": 2}, \"split\": [{\"op\": \"*.experts\", \"over\": \"ep\", \"axis\": "
     "0}]}",
     true, false, false},
    {"ranks that have tokens of their own",
     "{\"ranks\": {\"ep\": 2}, \"split\": [{\"op\": \"*.experts.*\", \"over\": \"ep\", "
     "\"copy\": true}, {\"slot\": \"param*\", \"over\": \"ep\", \"copy\": true}, {\"over\": "
     "\"ep\", \"axis\": 0}], \"renumber\": [{\"name\": \"experts.\", \"over\": \"ep\", \"by\": "
     "2}]}",
     false, true, true},
};

/* Small whole numbers, whose sums are exact. */
static float weight_of(int layer, int expert, int i, int k, enum fault fault)
{
    const bool bad = fault == BAD_WEIGHT && layer == 0 && expert == BAD_EXPERT && !i && !k;
    return (float)((layer * 31 + expert * 7 + i * 3 + k) % 5 - 2) + (bad ? 1 : 0);
}

/* An expert takes the token of its number. */
static void apply_expert(int layer, int expert, enum fault fault, const float *x, float *y)
{
    const bool bad = fault == BAD_RESULT && layer == 0 && expert == BAD_EXPERT;
    for (int i = 0; i < WIDTH; i++) {
        y[i] = bad ? 1 : 0;
        for (int k = 0; k < WIDTH; k++)
            y[i] += weight_of(layer, expert, i, k, fault) * x[k];
    }
}

static void record_op(struct plumb_recorder *recorder, const char *module, const char *op,
                      int experts, const float *in, const float *weight, const float *out)
{
    const int64_t shape[] = {experts, 1, WIDTH}, square[] = {experts, WIDTH, WIDTH};
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, module, op, PLUMB_CALL_COUNTED);
    plumb_record_tensor(recorder, "input0", PLUMB_F32, 3, shape, in);
    if (weight)
        plumb_record_tensor(recorder, "param:weight", PLUMB_F32, 3, square, weight);
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 3, shape, out);
    plumb_record_leave(recorder);
}

static void record_layer(struct plumb_recorder *recorder, const struct spread *spread, int rank,
                         int ranks, int layer, enum fault fault, float *x)
{
    const int count = EXPERTS / ranks, from = rank * count;
    const bool part = spread->split_tokens;
    const int tokens = part ? TOKENS / ranks : TOKENS, token = part ? rank * tokens : 0;
    float y[TOKENS * WIDTH], weights[EXPERTS * WIDTH * WIDTH];
    char module[60];
    for (int e = 0; e < EXPERTS; e++) {
        apply_expert(layer, e, fault, &x[e * WIDTH], &y[e * WIDTH]);
        for (int i = 0; i < WIDTH * WIDTH; i++)
            weights[e * WIDTH * WIDTH + i] = weight_of(layer, e, i / WIDTH, i % WIDTH, fault);
    }
    (void)snprintf(module, sizeof module, "layers.%d", layer);
    record_op(recorder, module, "router", tokens, &x[token * WIDTH], NULL, &x[token * WIDTH]);
    if (spread->grouped)
        record_op(recorder, module, "experts", count, &x[from * WIDTH],
                  &weights[from * WIDTH * WIDTH], &y[from * WIDTH]);
    for (int e = from; e < from + count && !spread->grouped; e++) {
        (void)snprintf(module, sizeof module, "layers.%d.experts.%d", layer,
                       spread->own_numbers ? e - from : e);
        record_op(recorder, module, "ffn", 1, &x[e * WIDTH], &weights[e * WIDTH * WIDTH],
                  &y[e * WIDTH]);
    }
    (void)snprintf(module, sizeof module, "layers.%d", layer);
    for (int i = 0; i < TOKENS * WIDTH; i++)
        x[i] = (float)((int)y[i] % 5) + 1;
    record_op(recorder, module, "combine", tokens, &y[token * WIDTH], NULL, &x[token * WIDTH]);
}

static void record(const char *name, const struct spread *spread, int ranks,
                   enum plumb_save save, enum fault fault)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, name));
    for (int rank = 0; rank < ranks; rank++) {
        struct plumb_recorder *recorder = NULL;
        float x[TOKENS * WIDTH];
        const struct plumb_recorder_options options = {
            .path = path, .rank = rank, .world_size = ranks, .no_thread = true, .save = save};
        for (int i = 0; i < TOKENS * WIDTH; i++)
            x[i] = (float)(i * 5 % 7 - 3);
        assert_int_equal(plumb_recorder_open(&options, &recorder, NULL), PLUMB_OK);
        plumb_record_step_begin(recorder, 0);
        for (int layer = 0; layer < LAYERS; layer++)
            record_layer(recorder, spread, rank, ranks, layer, fault, x);
        plumb_record_step_end(recorder);
        assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    }
}

static bool is_right(const struct plumb_run_diff *diff, const struct spread *spread,
                     enum plumb_save save, enum fault fault)
{
    const struct plumb_run_root *first = plumb_run_diff_root(diff, 0);
    const enum plumb_verdict verdict = plumb_run_diff_verdict(diff);
    if (diff->merged_b.missing || diff->merged_b.unknown || diff->merged_b.unequal)
        return false;
    if (fault == NO_FAULT && save == PLUMB_SAVE_TENSORS)
        return verdict == PLUMB_IDENTICAL && !diff->only_a_total && !diff->only_b_total;
    if (fault == NO_FAULT)
        return verdict <= PLUMB_ROUNDING;
    return verdict == PLUMB_DIFFERENT && first &&
           first->stage == (fault == BAD_WEIGHT ? PLUMB_STAGE_WEIGHTS : PLUMB_STAGE_FORWARD) &&
           strcmp(first->op, spread->grouped ? "layers.0.experts" : "layers.0.experts.3.ffn") ==
               0;
}

static void try_spread(const struct spread *spread, bool a_is_whole, enum plumb_save save,
                       enum fault fault)
{
    struct plumb_run *a = NULL, *b = NULL;
    struct plumb_run_diff *diff = NULL;
    struct plumb_error error;
    char names[2][40], layout[600];
    for (int i = 0; i < 2; i++)
        (void)snprintf(names[i], sizeof names[i], "%c%d.%d.%d.%d", 'a' + i,
                       (int)(spread - spreads), a_is_whole, (int)save, (int)fault);
    record(names[0], spread, a_is_whole ? 1 : RANKS, save, NO_FAULT);
    record(names[1], spread, RANKS, save, fault);
    scratch_text(&scratch, "layout.json", spread->layout);
    (void)snprintf(layout, sizeof layout, "%s", scratch_path(&scratch, "layout.json"));
    const struct plumb_run_diff_options options = {.layout_a = a_is_whole ? NULL : layout,
                                                   .layout_b = layout};
    if (plumb_run_open(scratch_path(&scratch, names[0]), &a, &error) ||
        plumb_run_open(scratch_path(&scratch, names[1]), &b, &error) ||
        plumb_run_diff_new(a, b, &options, &diff, &error))
        fail_msg("%s", error.message);
    const struct plumb_run_root *first = plumb_run_diff_root(diff, 0);
    if (!is_right(diff, spread, save, fault))
        fail_msg("%s, A whole %d, saved %d, fault %d: %s; %s; %s", spread->name, a_is_whole,
                 (int)save, (int)fault, plumb_run_diff_summary(diff),
                 first ? first->reason : "-", diff->merged_b.first);
    plumb_run_diff_free(diff);
    plumb_run_close(a);
    plumb_run_close(b);
}

static void experts_are_put_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++)
        for (int fault = NO_FAULT; fault <= BAD_RESULT; fault++) {
            for (int a_is_whole = 0; a_is_whole < 2; a_is_whole++) {
                try_spread(&spreads[i], a_is_whole, PLUMB_SAVE_TENSORS, (enum fault)fault);
                try_spread(&spreads[i], a_is_whole, PLUMB_SAVE_STATS, (enum fault)fault);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(experts_are_put_together)};
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
