/* run_rank_state.c - what the comparison of a rank's steps remembers from one step to the next. */
#include "base/memory.h"
#include "compare/run_blame.h"

#include <stdlib.h>

static void release(struct plumb_key_set *set)
{
    plumb_free(set->keys);
    *set = (struct plumb_key_set){0};
}

void plumb_rank_state_release(struct plumb_rank_state *state)
{
    plumb_free(state->history);
    release(&state->weights);
    release(&state->made_a);
    release(&state->made_b);
    *state = (struct plumb_rank_state){0};
}

static int by_key(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static bool has_key(const struct plumb_key_set *set, uint64_t key)
{
    return set->count && bsearch(&key, set->keys, set->count, sizeof key, by_key);
}

bool plumb_rank_state_has_weight(const struct plumb_rank_state *state,
                                 const struct plumb_row *row)
{
    const uint64_t key = plumb_row_order_free_key(row);
    return state->weights.count && (!key || has_key(&state->weights, key));
}

bool plumb_rank_state_made(const struct plumb_rank_state *state, const struct plumb_row *a,
                           const struct plumb_row *b)
{
    const uint64_t key_a = plumb_row_values_key(a), key_b = plumb_row_values_key(b);
    return key_a && key_b && has_key(&state->made_a, key_a) && has_key(&state->made_b, key_b);
}

/* Keys of the outputs among some rows; of the optimizer's alone if asked for. */
static bool fill(struct plumb_key_set *set, const struct plumb_row *rows, size_t count,
                 bool weights)
{
    release(set);
    set->keys = plumb_alloc_array(count + 1, sizeof *set->keys);
    if (!set->keys)
        return false;
    for (size_t i = 0; i < count; i++)
        if (rows[i].role == PLUMB_ROW_OUT &&
            (!weights || rows[i].phase == PLUMB_PHASE_OPTIMIZER))
            set->keys[set->count++] =
                weights ? plumb_row_order_free_key(&rows[i]) : plumb_row_values_key(&rows[i]);
    if (set->count)
        qsort(set->keys, set->count, sizeof *set->keys, by_key);
    return true;
}

bool plumb_rank_state_keep(struct plumb_rank_state *state, const struct plumb_step_pair *pair)
{
    const size_t count_a = pair->alignment->a.row_count, count_b = pair->alignment->b.row_count;
    return fill(&state->weights, pair->a, count_a, true) &&
           fill(&state->made_a, pair->a, count_a, false) &&
           fill(&state->made_b, pair->b, count_b, false);
}
