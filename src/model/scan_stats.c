/*
 * scan_stats.c - statistics of many blocks: each is measured on its own (scan_block.h), and they are
 * joined in order with Chan's formula.
 */
#include "scan_stats.h"

#include "kernel/kernel.h"
#include "model/dtype.h"

#include <math.h>

enum { MOST_GATHERED = 1 << 16 }; /* values */

struct moments {
    uint64_t count;
    double mean, spread;
    int exponent;
};

/* Field by field: of a structure this long the compiler would make a slow loop, and small tensors are many. */
void plumb_stats_begin(struct plumb_stats_state *state)
{
    static const struct plumb_stats no_counts = {.min = (double)INFINITY,
                                                 .max = -(double)INFINITY};
    static const struct plumb_total no_total = {.high = 0};
    state->counts = no_counts;
    state->finite = 0;
    state->sum = state->absolute = no_total;
    state->mean = state->spread = state->pivot = 0;
    state->exponent = 0;
    state->begun = false;
    state->habits = (struct plumb_block_habits){.quick = false};
    state->gathered.finite = 0;
    state->gathered.pivot = 0;
}

bool plumb_stats_are_quick(int parts, size_t count)
{
    return (parts & PLUMB_SUMMARY_QUICK) && count > PLUMB_EXACT_VALUES;
}

static void merge_moments(struct plumb_stats_state *state, struct moments next)
{
    if (next.count == 0)
        return;
    struct moments now = {state->finite, state->mean, state->spread, state->exponent};
    if (now.mean == 0 && now.spread == 0)
        now.exponent = next.exponent;
    if (next.mean == 0 && next.spread == 0)
        next.exponent = now.exponent;
    const int exponent = now.exponent > next.exponent ? now.exponent : next.exponent;
    if (now.exponent != next.exponent) { /* the smaller one in the unit of the larger */
        struct moments *smaller = now.exponent < exponent ? &now : &next;
        smaller->mean = ldexp(smaller->mean, smaller->exponent - exponent);
        smaller->spread = ldexp(smaller->spread, 2 * (smaller->exponent - exponent));
    }
    const double total = (double)(now.count + next.count);
    const double delta = next.mean - now.mean;
    const double share = (double)next.count / total;
    state->mean = now.mean + delta * share;
    state->spread = now.spread + next.spread + delta * delta * ((double)now.count * share);
    state->exponent = exponent;
    state->finite += next.count;
}

static void join_sums(struct plumb_stats_state *state, const struct plumb_block_stats *block)
{
    const double count = (double)block->finite;
    const double spread = block->square - block->sum * block->sum / count;
    plumb_total_add(&state->sum, block->pivot * count, block->exponent);
    plumb_total_add(&state->sum, block->sum, block->exponent);
    plumb_total_add(&state->absolute, block->absolute, block->exponent);
    merge_moments(state, (struct moments){block->finite, block->pivot + block->sum / count,
                                          spread > 0 ? spread : 0, block->exponent});
}

static void join_gathered(struct plumb_stats_state *state)
{
    if (state->gathered.finite)
        join_sums(state, &state->gathered);
    state->gathered.finite = 0;
}

/* Quick sums of blocks with one pivot are added up first: joining each would take as long as a tenth of it. */
static void gather_sums(struct plumb_stats_state *state, const struct plumb_block_stats *block)
{
    struct plumb_block_stats *sums = &state->gathered;
    if (!sums->finite) {
        *sums = *block;
        return;
    }
    sums->finite += block->finite;
    sums->sum += block->sum;
    sums->square += block->square;
    sums->absolute += block->absolute;
}

void plumb_stats_join(struct plumb_stats_state *state, const struct plumb_block_stats *block)
{
    struct plumb_stats *counts = &state->counts;
    counts->count += block->count;
    counts->nan += block->nan;
    counts->pos_inf += block->pos_inf;
    counts->neg_inf += block->neg_inf;
    counts->zero += block->zero;
    counts->subnormal += block->subnormal;
    counts->at_max += block->at_max;
    if (!block->finite)
        return;
    const struct plumb_block_stats *before = &state->gathered;
    const bool gathers = state->habits.quick && block->exponent == 0;
    if (!gathers || before->pivot != block->pivot || before->finite >= MOST_GATHERED)
        join_gathered(state);
    if (gathers)
        gather_sums(state, block);
    else
        join_sums(state, block);
    if (block->min < counts->min)
        counts->min = block->min;
    if (block->max > counts->max)
        counts->max = block->max;
}

void plumb_stats_add_printed(struct plumb_stats_state *state, enum plumb_dtype part,
                             const void *values, size_t count,
                             struct plumb_fingerprint_state *print)
{
    const size_t size = plumb_dtype_size(part);
    const unsigned char *from = values;
    struct plumb_block_stats block;
    for (size_t n; count; count -= n, from += n * size) {
        n = plumb_block_size(part, state->habits.quick, count);
        if (!state->begun)
            state->pivot = plumb_block_pivot(part, from, n, &state->habits);
        state->begun = true;
        plumb_block_measure(part, from, n, state->pivot, &state->habits, print, &block);
        plumb_stats_join(state, &block);
    }
}

void plumb_stats_add(struct plumb_stats_state *state, enum plumb_dtype part, const void *values,
                     size_t count)
{
    plumb_stats_add_printed(state, part, values, count, NULL);
}

void plumb_stats_merge(struct plumb_stats_state *state, struct plumb_stats_state *next)
{
    join_gathered(state);
    join_gathered(next);
    struct plumb_stats *counts = &state->counts;
    counts->count += next->counts.count;
    counts->nan += next->counts.nan;
    counts->pos_inf += next->counts.pos_inf;
    counts->neg_inf += next->counts.neg_inf;
    counts->zero += next->counts.zero;
    counts->subnormal += next->counts.subnormal;
    counts->at_max += next->counts.at_max;
    counts->min = next->counts.min < counts->min ? next->counts.min : counts->min;
    counts->max = next->counts.max > counts->max ? next->counts.max : counts->max;
    plumb_total_merge(&state->sum, &next->sum);
    plumb_total_merge(&state->absolute, &next->absolute);
    merge_moments(state,
                  (struct moments){next->finite, next->mean, next->spread, next->exponent});
}

void plumb_stats_finish(struct plumb_stats_state *state, struct plumb_stats *stats)
{
    join_gathered(state);
    *stats = state->counts;
    if (state->finite == 0) {
        stats->min = stats->max = stats->mean = stats->std = (double)NAN;
        stats->l2 = stats->abs_mean = (double)NAN;
        return;
    }
    const double count = (double)state->finite;
    stats->mean = plumb_total_mean(&state->sum, state->finite);
    stats->abs_mean = plumb_total_mean(&state->absolute, state->finite);
    const double energy = state->spread + count * state->mean * state->mean;
    stats->std = sqrt(state->spread / count);
    stats->l2 = sqrt(energy);
    if (state->exponent) {
        stats->std = ldexp(stats->std, state->exponent);
        stats->l2 = ldexp(stats->l2, state->exponent);
    }
}
