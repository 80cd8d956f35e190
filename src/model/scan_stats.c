/*
 * scan_stats.c - one-pass statistics.
 *
 * Where the values lie far from 0 for their spread, a block is summed as distances from a pivot among
 * them, which keeps the variance free of cancellation; blocks are joined with Chan's formula. Values that
 * are not finite are counted and taken out, and a block of doubles too large or small to be squared
 * is scaled by a power of two.
 */
#include "scan_stats.h"

#include "kernel/kernel.h"
#include "kernel/kernel_lanes.h"
#include "kernel/widen.h"
#include "model/dtype.h"

#include <math.h>
#include <string.h>

struct moments {
    uint64_t count;
    double mean, spread;
    int exponent;
};

void plumb_stats_begin(struct plumb_stats_state *state)
{
    *state = (struct plumb_stats_state){
        .counts = {.min = (double)INFINITY, .max = -(double)INFINITY}};
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

/* Nearer to 0 than this many times the spread, sums of squares lose two bits and need no pivot. */
static const double near_zero = 4;

static double pivot_of(double mean, double variance)
{
    return isfinite(mean) && mean * mean > near_zero * variance ? mean : 0;
}

/* From eight elements across the block: near the values whatever single ones do. */
static double choose_pivot(enum plumb_dtype dtype, const unsigned char *values, size_t n)
{
    double sample[8], squares = 0;
    unsigned char raw[sizeof sample];
    const size_t size = plumb_dtype_size(dtype), step = n / 8;
    for (size_t i = 0; i < 8; i++)
        memcpy(raw + i * size, values + i * step * size, size);
    plumb_widen(dtype, raw, 8, sample);
    const double mean = (((sample[0] + sample[4]) + (sample[2] + sample[6])) +
                         ((sample[1] + sample[5]) + (sample[3] + sample[7]))) /
                        8;
    for (size_t i = 0; i < 8; i++)
        squares += (sample[i] - mean) * (sample[i] - mean);
    return pivot_of(mean, squares / 8);
}

/* The mean so far: where a block lies far from it, the spread of all is as large. */
static double next_pivot(const struct plumb_stats_state *state, enum plumb_dtype direct,
                         const void *values, size_t n)
{
    if (state->finite == 0 || state->exponent != 0)
        return choose_pivot(direct, values, n);
    return pivot_of(state->mean, state->spread / (double)state->finite);
}

static void add_counts(struct plumb_stats *counts, enum plumb_dtype part,
                       enum plumb_dtype direct, const void *values, size_t n)
{
    struct plumb_block_counts found;
    const double top = part == PLUMB_BOOL ? (double)INFINITY : plumb_dtype_max(part);
    plumb_kernel()->counts(direct, values, n, plumb_dtype_min_normal(part), top, &found);
    counts->zero += found.zero;
    counts->subnormal += found.below;
    counts->at_max += found.at;
}

static void add_moments(struct plumb_stats_state *state, const struct plumb_block_sums *sums,
                        double pivot, size_t n, int exponent)
{
    const double count = (double)n;
    const double spread = sums->square - sums->sum * sums->sum / count;
    plumb_total_add(&state->sum, pivot * count, exponent);
    plumb_total_add(&state->sum, sums->sum, exponent);
    plumb_total_add(&state->absolute, sums->absolute, exponent);
    merge_moments(state, (struct moments){n, pivot + sums->sum / count, spread > 0 ? spread : 0,
                                          exponent});
}

/* The sums of a block and, piece by piece while it is near, its fingerprint. */
static void sum_block(enum plumb_dtype direct, const unsigned char *values, size_t n,
                      double pivot, struct plumb_block_sums *sums,
                      struct plumb_fingerprint_state *print)
{
    const struct plumb_kernel *kernel = plumb_kernel();
    const size_t size = plumb_dtype_size(direct), piece = PLUMB_FINGERPRINT_BLOCK / size;
    struct plumb_sum_lanes lanes;
    if (!print) {
        kernel->sums(direct, values, n, pivot, sums);
        return;
    }
    sum_lanes_clear(&lanes);
    for (size_t at = 0; at < n; at += piece) {
        const size_t more = n - at < piece ? n - at : piece;
        kernel->add_sums(direct, values + at * size, more, pivot, &lanes);
        plumb_fingerprint_add(print, values + at * size, more * size);
    }
    sum_lanes_fold(&lanes, sums);
}

static void widen_range(struct plumb_stats *counts, double low, double high)
{
    if (low < counts->min)
        counts->min = low;
    if (high > counts->max)
        counts->max = high;
}

/* All finite; `direct` is how they lie in memory, `part` what type they came from. False if
 * they turned out not to be finite after all: then nothing but the fingerprint was added. */
static bool add_block(struct plumb_stats_state *state, enum plumb_dtype part,
                      enum plumb_dtype direct, const void *values, size_t n,
                      struct plumb_fingerprint_state *print)
{
    struct plumb_block_sums sums;
    double pivot = next_pivot(state, direct, values, n);
    sum_block(direct, values, n, pivot, &sums, print);
    const double low = sums.min, high = sums.max;
    const double magnitude = -low > high ? -low : high;
    if (isnan(sums.absolute) || !isfinite(magnitude))
        return false;
    if (sums.min_absolute < plumb_dtype_min_normal(part) || sums.min_absolute == 0 ||
        magnitude >= plumb_dtype_max(part))
        add_counts(&state->counts, part, direct, values, n);
    int exponent = 0;
    if (direct == PLUMB_F64 && !plumb_wide_is_ordinary(magnitude)) {
        double scaled[PLUMB_BLOCK];
        exponent = plumb_wide_exponent(magnitude);
        plumb_widen(direct, values, n, scaled);
        for (size_t i = 0; i < n; i++)
            scaled[i] = ldexp(scaled[i], -exponent);
        pivot = choose_pivot(PLUMB_F64, (const unsigned char *)scaled, n);
        plumb_kernel()->sums(PLUMB_F64, scaled, n, pivot, &sums);
    }
    add_moments(state, &sums, pivot, n, exponent);
    widen_range(&state->counts, low, high);
    return true;
}

/* Some are not finite: they are counted, and the sums pass over them. Not for f64, whose sums may need
 * a scale. */
static void add_with_gaps(struct plumb_stats_state *state, enum plumb_dtype direct,
                          const void *values, size_t n)
{
    struct plumb_stats *counts = &state->counts;
    struct plumb_block_sums sums;
    struct plumb_block_special special;
    const double pivot = next_pivot(state, direct, values, n);
    plumb_kernel()->finite_sums(direct, values, n, pivot, &sums, &special);
    counts->nan += special.nan;
    counts->pos_inf += special.pos_inf;
    counts->neg_inf += special.neg_inf;
    const uint64_t infinite = special.pos_inf + special.neg_inf;
    const size_t kept = n - (size_t)(special.nan + infinite);
    state->gaps = kept < n;
    if (kept == 0)
        return;
    const double magnitude = -sums.min > sums.max ? -sums.min : sums.max;
    if (sums.min_absolute < plumb_dtype_min_normal(direct) || sums.min_absolute == 0 ||
        magnitude >= plumb_dtype_max(direct)) {
        add_counts(counts, direct, direct, values, n);
        counts->at_max -= infinite; /* they are beyond the largest value, not at it */
    }
    add_moments(state, &sums, pivot, kept, 0);
    widen_range(counts, sums.min, sums.max);
}

/* Counts what is not finite in `values`, moves the rest together and adds it. */
static void add_finite(struct plumb_stats_state *state, enum plumb_dtype part, double *values,
                       size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const double value = values[i];
        if (isfinite(value))
            values[kept++] = value;
        else if (isnan(value))
            state->counts.nan++;
        else if (value > 0)
            state->counts.pos_inf++;
        else
            state->counts.neg_inf++;
    }
    if (kept)
        (void)add_block(state, part, PLUMB_F64, values, kept, NULL);
}

/* A block of a type that kernels do not read as it lies, or of doubles that are not all finite. */
static void add_widened(struct plumb_stats_state *state, enum plumb_dtype part,
                        const void *values, size_t n)
{
    double wide[PLUMB_BLOCK];
    plumb_widen(part, values, n, wide);
    if (part == PLUMB_F64 || !add_block(state, part, PLUMB_F64, wide, n, NULL))
        add_finite(state, part, wide, n);
}

void plumb_stats_add_printed(struct plumb_stats_state *state, enum plumb_dtype part,
                             const void *values, size_t count,
                             struct plumb_fingerprint_state *print)
{
    const size_t size = plumb_dtype_size(part);
    const bool direct = plumb_kernel_is_direct(part);
    const unsigned char *from = values;
    state->counts.count += count;
    for (size_t n; count; count -= n, from += n * size) {
        n = count < PLUMB_BLOCK ? count : PLUMB_BLOCK;
        if (direct && !state->gaps && add_block(state, part, part, from, n, print))
            continue;
        if (print && (!direct || state->gaps))
            plumb_fingerprint_add(print, from, n * size);
        if (direct && part != PLUMB_F64)
            add_with_gaps(state, part, from, n);
        else
            add_widened(state, part, from, n);
    }
}

void plumb_stats_add(struct plumb_stats_state *state, enum plumb_dtype part, const void *values,
                     size_t count)
{
    plumb_stats_add_printed(state, part, values, count, NULL);
}

void plumb_stats_merge(struct plumb_stats_state *state, const struct plumb_stats_state *next)
{
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

void plumb_stats_finish(const struct plumb_stats_state *state, struct plumb_stats *stats)
{
    *stats = state->counts;
    if (state->finite == 0) {
        stats->min = stats->max = stats->mean = stats->std = (double)NAN;
        stats->l2 = stats->abs_mean = (double)NAN;
        return;
    }
    const double count = (double)state->finite;
    stats->mean = plumb_total_mean(&state->sum, state->finite);
    stats->abs_mean = plumb_total_mean(&state->absolute, state->finite);
    stats->std = ldexp(sqrt(state->spread / count), state->exponent);
    const double energy = state->spread + count * state->mean * state->mean;
    stats->l2 = ldexp(sqrt(energy), state->exponent);
}
