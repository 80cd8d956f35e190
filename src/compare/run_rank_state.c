/* run_rank_state.c - what the comparison of a rank's steps remembers from one step to the next. */
#include "base/memory.h"
#include "compare/run_blame.h"

#include <stdlib.h>

void plumb_rank_state_release(struct plumb_rank_state *state)
{
    plumb_free(state->history);
    plumb_free(state->weights);
    *state = (struct plumb_rank_state){0};
}

static int by_key(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

bool plumb_rank_state_has_weight(const struct plumb_rank_state *state,
                                 const struct plumb_row *row)
{
    const uint64_t key = plumb_row_order_free_key(row);
    return state->weight_count &&
           (!key || bsearch(&key, state->weights, state->weight_count, sizeof key, by_key));
}

bool plumb_rank_state_keep_weights(struct plumb_rank_state *state,
                                   const struct plumb_step_pair *pair)
{
    const size_t count = pair->alignment->a.row_count;
    uint64_t *weights = plumb_alloc_array(count + 1, sizeof *weights);
    if (!weights)
        return false;
    plumb_free(state->weights);
    state->weights = weights;
    state->weight_count = 0;
    for (size_t i = 0; i < count; i++)
        if (pair->a[i].phase == PLUMB_PHASE_OPTIMIZER && pair->a[i].role == PLUMB_ROW_OUT)
            weights[state->weight_count++] = plumb_row_order_free_key(&pair->a[i]);
    if (state->weight_count)
        qsort(weights, state->weight_count, sizeof *weights, by_key);
    return true;
}
