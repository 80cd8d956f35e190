/*
 * run_lone_weights.c - weights that an op has on one side only.
 *
 * Nothing else may differ, as when a bias is created and never used: it is a difference all the same.
 */
#include "compare/run_blame.h"

#include <math.h>

/* Weights are paired by name alone, in ops that are the same module on both sides. */
static bool is_same_module(const struct plumb_step_op *op)
{
    return op->partner != PLUMB_NO_ROW && op->matched_by != PLUMB_MATCH_GUESS;
}

struct lone {
    struct plumb_blame *blame;
    const struct plumb_rank_state *state;
    int64_t step;
    uint32_t position;
    size_t first_event;
};

static void report_of(const struct lone *lone, const struct plumb_step_side *side,
                      const struct plumb_row *rows, const struct plumb_step_op *op,
                      enum plumb_event_kind kind)
{
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = side->next[row]) {
        if (rows[row].role != PLUMB_ROW_PARAM || side->partner[row] != PLUMB_NO_ROW)
            continue;
        struct plumb_stage_count *stage = &lone->blame->stages[PLUMB_STAGE_WEIGHTS];
        struct plumb_event *event = plumb_blame_add(lone->blame, lone->first_event);
        lone->blame->rows++;
        lone->blame->differing++;
        stage->rows++;
        plumb_stage_count_differing(stage, lone->step);
        stage->beyond++;
        if (!event)
            return;
        *event = (struct plumb_event){
            .kind = kind,
            .stage = PLUMB_STAGE_WEIGHTS,
            .step = lone->step,
            .position = lone->position,
            .rank = lone->state->rank,
            .label = op->label,
            .label_b = op->label,
            .op = op->name,
            .slot = rows[row].slot,
            .a = rows[row],
            .b = rows[row],
            .error = {.basis = PLUMB_BASIS_STRUCTURE, .error = HUGE_VAL, .distance = HUGE_VAL},
            .seen_bits = true,
        };
    }
}

void plumb_blame_lone_weights(struct plumb_blame *blame, const struct plumb_rank_state *state,
                              const struct plumb_step_pair *pair)
{
    const struct plumb_step_side *a = &pair->alignment->a, *b = &pair->alignment->b;
    struct lone lone = {
        .blame = blame, .state = state, .step = pair->step, .first_event = blame->event_count};
    for (; lone.position < a->op_count; lone.position++) {
        const struct plumb_step_op *op = &a->ops[a->order[lone.position]];
        if (!is_same_module(op))
            continue;
        report_of(&lone, a, pair->a, op, PLUMB_EVENT_WEIGHT_MISSING);
        report_of(&lone, b, pair->b, &b->ops[op->partner], PLUMB_EVENT_WEIGHT_EXTRA);
    }
}
