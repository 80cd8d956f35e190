/*
 * scan_block.c - see scan_block.h.
 *
 * Where the values lie far from 0 for their spread, a block is summed as distances from a pivot among
 * them, which keeps the variance free of cancellation. Values that are not finite are counted and taken
 * out, and a block of doubles too large or small to be squared is scaled by a power of two. Sums may be quick,
 * in single precision over short groups: where that would overflow or lose small squares, they are not.
 */
#include "scan_block.h"

#include "kernel/kernel.h"
#include "kernel/kernel_lanes.h"
#include "kernel/widen.h"
#include "model/dtype.h"
#include "model/scan_total.h"

#include <string.h>

/* Nearer to 0 than the root of this times the spread, sums of squares lose two bits and need no pivot. */
static const double near_zero = 4;

size_t plumb_block_size(enum plumb_dtype part, bool quick, size_t left)
{
    if (quick && part == PLUMB_F32 && left >= PLUMB_QUICK_BLOCK)
        return PLUMB_QUICK_BLOCK;
    return left < PLUMB_BLOCK ? left : PLUMB_BLOCK;
}

/* From eight elements across the block: near the values whatever single ones do. */
double plumb_block_pivot(enum plumb_dtype part, const void *values, size_t n,
                         struct plumb_block_habits *habits)
{
    double sample[8], squares = 0;
    unsigned char raw[sizeof sample];
    const unsigned char *from = values;
    const size_t size = plumb_dtype_size(part), step = n / 8;
    for (size_t i = 0; i < 8; i++)
        memcpy(raw + i * size, from + i * step * size, size);
    plumb_widen(part, raw, 8, sample);
    const double mean = (((sample[0] + sample[4]) + (sample[2] + sample[6])) +
                         ((sample[1] + sample[5]) + (sample[3] + sample[7]))) /
                        8;
    for (size_t i = 0; i < 8; i++)
        squares += (sample[i] - mean) * (sample[i] - mean);
    for (size_t i = 0; i < 8 && habits; i++)
        habits->zeros |= sample[i] == 0;
    return isfinite(mean) && mean * mean > near_zero * squares / 8 ? mean : 0;
}

/* Of the pieces of a block of f32; without a fingerprint there are none. */
static void join_prints(struct plumb_fingerprint_state *print, const uint64_t *prints, size_t n)
{
    for (size_t at = 0; print && at < n; at += PLUMB_FINGERPRINT_WORDS)
        plumb_fingerprint_join(print, prints[at / PLUMB_FINGERPRINT_WORDS]);
}

/* What training is made of: both at once. */
static void sum_and_print(const unsigned char *values, size_t n, double pivot,
                          struct plumb_block_sums *sums, struct plumb_fingerprint_state *print,
                          uint64_t *zero)
{
    uint64_t prints[PLUMB_BLOCK_PRINTS];
    plumb_kernel()->sums_printed(values, n, pivot, plumb_fingerprint_keys(print), sums, prints,
                                 zero);
    join_prints(print, prints, n);
}

/* Between these the largest value of a block may lie for its squares, and the sums of a group of them, to be
 * ordinary numbers in single precision. */
static const double quick_least = 0x1p-40, quick_most = 0x1p60;

static double largest_magnitude(const struct plumb_block_sums *sums)
{
    return -sums->min > sums->max ? -sums->min : sums->max;
}

/* If all have one sign, their mean is that of their magnitudes, and the pivot has made it the better one. */
static void join_signs(struct plumb_block_sums *sums, double pivot, size_t n)
{
    if (sums->min >= 0)
        sums->absolute = pivot * (double)n + sums->sum;
    else if (sums->max <= 0)
        sums->absolute = -(pivot * (double)n + sums->sum);
}

static const struct plumb_print_keys *keys_of(const struct plumb_fingerprint_state *print)
{
    return print ? plumb_fingerprint_keys(print) : NULL;
}

static bool suits_quick_sums(const struct plumb_block_sums *sums)
{
    const double magnitude = largest_magnitude(sums);
    return magnitude == 0 || (magnitude >= quick_least && magnitude <= quick_most);
}

/* As sum_block(), in single precision where it can be. `pivot` has that. Zeros are always counted if asked for. */
static void sum_quickly(const unsigned char *values, size_t n, double pivot,
                        struct plumb_block_sums *sums, struct plumb_fingerprint_state *print,
                        uint64_t *zero)
{
    uint64_t prints[PLUMB_BLOCK_PRINTS];
    const struct plumb_kernel *kernel = plumb_kernel();
    kernel->quick_sums(values, n, (float)pivot, keys_of(print), sums, prints, zero);
    join_prints(print, prints, n);
    if (isnan(sums->absolute) || !isfinite(largest_magnitude(sums)))
        return; /* the caller sees that, too */
    if (suits_quick_sums(sums)) {
        join_signs(sums, pivot, n);
    } else {
        const double least = sums->min_absolute; /* zeros may be set apart in it */
        kernel->sums(PLUMB_F32, values, n, pivot, sums);
        sums->min_absolute = least;
    }
}

/* The same where some may not be finite: they are counted. */
static void sum_finite_quickly(const unsigned char *values, size_t n, double pivot,
                               struct plumb_block_sums *sums,
                               struct plumb_fingerprint_state *print,
                               struct plumb_block_special *special)
{
    uint64_t prints[PLUMB_BLOCK_PRINTS];
    const struct plumb_kernel *kernel = plumb_kernel();
    kernel->quick_finite_sums(values, n, (float)pivot, keys_of(print), sums, prints, special);
    join_prints(print, prints, n);
    const size_t finite = n - (size_t)(special->nan + special->pos_inf + special->neg_inf);
    if (finite && suits_quick_sums(sums))
        join_signs(sums, pivot, finite);
    else if (finite)
        kernel->finite_sums(PLUMB_F32, values, n, pivot, sums, special);
}

/* The sums of a block and, piece by piece while it is near, its fingerprint. True if zeros were counted on
 * the way, as `zero` asks for. */
static bool sum_block(enum plumb_dtype direct, const unsigned char *values, size_t n,
                      double pivot, struct plumb_block_sums *sums,
                      struct plumb_fingerprint_state *print, uint64_t *zero)
{
    const struct plumb_kernel *kernel = plumb_kernel();
    const size_t size = plumb_dtype_size(direct), piece = PLUMB_FINGERPRINT_BLOCK / size;
    struct plumb_sum_lanes lanes;
    if (!print) {
        kernel->sums(direct, values, n, pivot, sums);
        return false;
    }
    if (direct == PLUMB_F32) {
        sum_and_print(values, n, pivot, sums, print, zero);
        return zero != NULL;
    }
    sum_lanes_clear(&lanes);
    for (size_t at = 0; at < n; at += piece) {
        const size_t more = n - at < piece ? n - at : piece;
        kernel->add_sums(direct, values + at * size, more, pivot, &lanes);
        plumb_fingerprint_add(print, values + at * size, more * size);
    }
    sum_lanes_fold(&lanes, sums);
    return false;
}

/* What is told by the sums of finite values: `n` of them. */
static void take_sums(struct plumb_block_stats *block, const struct plumb_block_sums *sums,
                      double pivot, size_t n)
{
    block->finite = n;
    block->min = sums->min;
    block->max = sums->max;
    block->pivot = pivot;
    block->sum = sums->sum;
    block->square = sums->square;
    block->absolute = sums->absolute;
}

/* Zeros, subnormals and values at the largest one, if the sums say that there are any. */
static void count_values(enum plumb_dtype part, enum plumb_dtype direct, const void *values,
                         size_t n, const struct plumb_block_sums *sums,
                         struct plumb_block_stats *block)
{
    struct plumb_block_counts found;
    const bool reaches = largest_magnitude(sums) >= plumb_dtype_max(part) && part != PLUMB_BOOL;
    if (sums->min_absolute >= plumb_dtype_min_normal(part) && sums->min_absolute != 0 &&
        !reaches)
        return;
    const double top = reaches ? plumb_dtype_max(part) : (double)INFINITY;
    plumb_kernel()->counts(direct, values, n, plumb_dtype_min_normal(part), top, &found);
    block->zero = found.zero;
    block->subnormal = found.below;
    block->at_max = found.at;
}

/* Doubles whose squares would not be numbers. */
static void scale_block(const void *values, size_t n, double magnitude,
                        struct plumb_block_stats *block)
{
    double scaled[PLUMB_BLOCK];
    struct plumb_block_sums sums;
    const double low = block->min, high = block->max;
    block->exponent = plumb_wide_exponent(magnitude);
    memcpy(scaled, values, n * sizeof *scaled);
    for (size_t i = 0; i < n; i++)
        scaled[i] = ldexp(scaled[i], -block->exponent);
    const double pivot = plumb_block_pivot(PLUMB_F64, scaled, n, NULL);
    plumb_kernel()->sums(PLUMB_F64, scaled, n, pivot, &sums);
    take_sums(block, &sums, pivot, n);
    block->min = low;
    block->max = high;
}

static bool is_quick(const struct plumb_block_habits *habits, enum plumb_dtype direct, size_t n)
{
    return habits->quick && direct == PLUMB_F32 && n % PLUMB_FINGERPRINT_WORDS == 0;
}

/* All finite; `direct` is how they lie in memory, `part` what type they came from. False if
 * they turned out not to be finite after all: then only the fingerprint was made. */
static bool measure_finite(enum plumb_dtype part, enum plumb_dtype direct, const void *values,
                           size_t n, double pivot, const struct plumb_block_habits *habits,
                           struct plumb_fingerprint_state *print,
                           struct plumb_block_stats *block)
{
    struct plumb_block_sums sums;
    uint64_t zero = 0, *count = habits->zeros ? &zero : NULL;
    const bool quick = is_quick(habits, direct, n);
    bool counted = count;
    if (quick) {
        pivot = (double)(float)pivot;
        sum_quickly(values, n, pivot, &sums, print, count);
    } else {
        counted = sum_block(direct, values, n, pivot, &sums, print, count);
    }
    const double magnitude = largest_magnitude(&sums);
    if (isnan(sums.absolute) || !isfinite(magnitude))
        return false;
    take_sums(block, &sums, pivot, n);
    if (counted)
        block->zero = zero; /* and what is left to count is not zero */
    count_values(part, direct, values, n, &sums, block);
    if (direct == PLUMB_F64 && !plumb_wide_is_ordinary(magnitude))
        scale_block(values, n, magnitude, block);
    return true;
}

/* Some may not be finite: they are counted, and the sums pass over them. Not for f64, whose sums may
 * need a scale. */
static void measure_gaps(enum plumb_dtype direct, const void *values, size_t n, double pivot,
                         const struct plumb_block_habits *habits,
                         struct plumb_fingerprint_state *print, struct plumb_block_stats *block)
{
    struct plumb_block_sums sums;
    struct plumb_block_special special;
    if (is_quick(habits, direct, n)) {
        pivot = (double)(float)pivot;
        sum_finite_quickly(values, n, pivot, &sums, print, &special);
    } else {
        if (print)
            plumb_fingerprint_add(print, values, n * plumb_dtype_size(direct));
        plumb_kernel()->finite_sums(direct, values, n, pivot, &sums, &special);
    }
    block->nan = special.nan;
    block->pos_inf = special.pos_inf;
    block->neg_inf = special.neg_inf;
    const uint64_t infinite = special.pos_inf + special.neg_inf;
    take_sums(block, &sums, pivot, n - (size_t)(special.nan + infinite));
    if (!block->finite)
        return;
    count_values(direct, direct, values, n, &sums, block);
    if (block->at_max)
        block->at_max -= infinite; /* they are beyond the largest value, not at it */
}

/* Doubles, or what was widened to them: those that are not finite are counted, the rest moves together. */
static void measure_doubles(enum plumb_dtype part, double *values, size_t n, double pivot,
                            struct plumb_block_stats *block)
{
    const struct plumb_block_habits none = {.quick = false};
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const double value = values[i];
        if (isfinite(value))
            values[kept++] = value;
        else if (isnan(value))
            block->nan++;
        else if (value > 0)
            block->pos_inf++;
        else
            block->neg_inf++;
    }
    if (kept)
        (void)measure_finite(part, PLUMB_F64, values, kept, pivot, &none, NULL, block);
}

/* Copied, which is quicker than to set all to 0 for every block. */
static const struct plumb_block_stats nothing_found = {.min = (double)INFINITY,
                                                       .max = -(double)INFINITY};

/* What has to be widened; doubles that are not finite. */
static void measure_wide(enum plumb_dtype part, const void *values, size_t n, double pivot,
                         struct plumb_block_stats *block)
{
    const struct plumb_block_habits none = {.quick = false};
    double wide[PLUMB_BLOCK];
    plumb_widen(part, values, n, wide);
    if (part == PLUMB_F64 ||
        !measure_finite(part, PLUMB_F64, wide, n, pivot, &none, NULL, block))
        measure_doubles(part, wide, n, pivot, block);
}

void plumb_block_measure(enum plumb_dtype part, const void *values, size_t n, double pivot,
                         struct plumb_block_habits *habits,
                         struct plumb_fingerprint_state *print, struct plumb_block_stats *block)
{
    const bool direct = plumb_kernel_is_direct(part), guess = habits->gaps;
    *block = nothing_found;
    block->count = n;
    if (direct && !guess &&
        measure_finite(part, part, values, n, pivot, habits, print, block)) {
        habits->zeros = block->zero > 0;
        return;
    }
    if (direct && !guess)
        print = NULL; /* it is made, and only the sums were in vain */
    if (direct && part != PLUMB_F64) {
        measure_gaps(part, values, n, pivot, habits, print, block);
    } else {
        if (print)
            plumb_fingerprint_add(print, values, n * plumb_dtype_size(part));
        measure_wide(part, values, n, pivot, block);
    }
    habits->gaps = block->finite < n;
    habits->zeros = block->zero > 0;
}
