/*
 * kernel_lanes.h - the one definition of what a lane does with an element and how lanes are
 * folded. The scalar kernels use it for every element, the vector kernels for the elements
 * that do not fill a register, and both for the fold: so they cannot disagree there.
 */
#ifndef PLUMB_KERNEL_KERNEL_LANES_H
#define PLUMB_KERNEL_KERNEL_LANES_H

#include "kernel.h"

#include <math.h>

enum { SUM_LANES = 8, PAIR_LANES = 4, PAIR_STEP = 8 };

struct pair_lanes {
    _Alignas(32) double d_square[PAIR_LANES];
    double d_absolute[PAIR_LANES], d_sum[PAIR_LANES], d_outward[PAIR_LANES];
    double d_a[PAIR_LANES], a_square[PAIR_LANES], a_absolute[PAIR_LANES];
    double relative[PAIR_LANES];
    double max_d[PAIR_LANES], max_relative[PAIR_LANES];
    double max_a[PAIR_LANES], max_b[PAIR_LANES];
    uint64_t close[PAIR_LANES], within_1e3[PAIR_LANES], within_5e3[PAIR_LANES];
    uint64_t zero[PAIR_LANES], zero_reference[PAIR_LANES];
};

static inline void sum_lanes_clear(struct plumb_sum_lanes *lanes)
{
    *lanes = (struct plumb_sum_lanes){.sum = {0}};
    for (int i = 0; i < SUM_LANES; i++) {
        lanes->min[i] = lanes->min_absolute[i] = (double)INFINITY;
        lanes->max[i] = -(double)INFINITY;
    }
}

/* Spelled like the instruction: the second operand where they do not compare. */
static inline double lane_min(double x, double y)
{
    return x < y ? x : y;
}

static inline double lane_max(double x, double y)
{
    return x > y ? x : y;
}

static inline void sum_lane_add(struct plumb_sum_lanes *lanes, size_t lane, double x,
                                double pivot)
{
    const double d = x - pivot, magnitude = fabs(x);
    lanes->sum[lane] += d;
    lanes->square[lane] = fma(d, d, lanes->square[lane]);
    lanes->absolute[lane] += magnitude;
    lanes->min[lane] = lane_min(x, lanes->min[lane]);
    lanes->max[lane] = lane_max(x, lanes->max[lane]);
    lanes->min_absolute[lane] = lane_min(magnitude, lanes->min_absolute[lane]);
}

static inline void finite_lane_add(struct plumb_sum_lanes *lanes, size_t lane, double x,
                                   double pivot, struct plumb_block_special *special)
{
    if (isfinite(x))
        sum_lane_add(lanes, lane, x, pivot);
    special->nan += isnan(x) ? 1 : 0;
    special->pos_inf += x == (double)INFINITY;
    special->neg_inf += x == -(double)INFINITY;
}

/* What one pair adds to the sums. A pair that is not there adds zeros. */
struct pair_terms {
    double a, a_absolute, d, outward, relative;
};

/* `d` is b - a, given apart because integers can be subtracted exactly where doubles cannot. */
static inline struct pair_terms pair_terms_of(struct pair_lanes *lanes, size_t lane, double a,
                                              double b, double d, const double *tolerance)
{
    const double error = fabs(d), reference = fabs(a);
    const bool zero = a == 0;
    const double relative = zero ? 0 : error / reference;
    lanes->max_d[lane] = lane_max(error, lanes->max_d[lane]);
    lanes->max_relative[lane] = lane_max(relative, lanes->max_relative[lane]);
    lanes->max_a[lane] = lane_max(reference, lanes->max_a[lane]);
    lanes->max_b[lane] = lane_max(fabs(b), lanes->max_b[lane]);
    lanes->zero[lane] += zero;
    lanes->zero_reference[lane] += zero && d != 0;
    if (tolerance)
        lanes->close[lane] += error <= fma(tolerance[0], reference, tolerance[1]);
    lanes->within_1e3[lane] += error < 1e-3 * reference;
    lanes->within_5e3[lane] += error < 5e-3 * reference;
    const double outward = zero || !tolerance ? 0 : signbit(a) ? -d : d;
    return (struct pair_terms){a, tolerance ? reference : 0, d, outward, relative};
}

static inline void pair_lane_add(struct pair_lanes *lanes, size_t lane,
                                 const struct pair_terms *terms)
{
    lanes->d_square[lane] = fma(terms->d, terms->d, lanes->d_square[lane]);
    lanes->d_absolute[lane] += fabs(terms->d);
    lanes->d_sum[lane] += terms->d;
    lanes->d_outward[lane] += terms->outward;
    lanes->d_a[lane] = fma(terms->d, terms->a, lanes->d_a[lane]);
    lanes->a_square[lane] = fma(terms->a, terms->a, lanes->a_square[lane]);
    lanes->a_absolute[lane] += terms->a_absolute;
    lanes->relative[lane] += terms->relative;
}

/* Up to eight pairs, one step of the vector kernel: element i goes to lane i, then element
 * i + 4. */
static inline void pair_lanes_add(struct pair_lanes *lanes, const double *a, const double *b,
                                  const double *d, size_t count, const double *tolerance)
{
    for (size_t i = 0; i < PAIR_LANES; i++) {
        struct pair_terms x = {0, 0, 0, 0, 0}, y = x;
        if (i < count)
            x = pair_terms_of(lanes, i, a[i], b[i], d[i], tolerance);
        if (i + PAIR_LANES < count)
            y = pair_terms_of(lanes, i, a[i + PAIR_LANES], b[i + PAIR_LANES], d[i + PAIR_LANES],
                              tolerance);
        pair_lane_add(lanes, i, &x);
        pair_lane_add(lanes, i, &y);
    }
}

/* Any number of pairs, eight at a time. */
static inline void pair_lanes_add_all(struct pair_lanes *lanes, const double *a,
                                      const double *b, const double *d, size_t n,
                                      const double *tolerance)
{
    for (size_t i = 0; i < n; i += PAIR_STEP)
        pair_lanes_add(lanes, a + i, b + i, d + i, n - i, tolerance);
}

static inline double fold_sum8(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static inline double fold_min8(const double *lane)
{
    return lane_min(lane_min(lane_min(lane[0], lane[4]), lane_min(lane[2], lane[6])),
                    lane_min(lane_min(lane[1], lane[5]), lane_min(lane[3], lane[7])));
}

static inline double fold_max8(const double *lane)
{
    return lane_max(lane_max(lane_max(lane[0], lane[4]), lane_max(lane[2], lane[6])),
                    lane_max(lane_max(lane[1], lane[5]), lane_max(lane[3], lane[7])));
}

static inline double fold_sum4(const double *lane)
{
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static inline double fold_max4(const double *lane)
{
    return lane_max(lane_max(lane[0], lane[1]), lane_max(lane[2], lane[3]));
}

static inline uint64_t fold_count4(const uint64_t *lane)
{
    return lane[0] + lane[1] + lane[2] + lane[3];
}

/* Adding zero turns -0, which lanes may pick in any order, into 0. */
static inline void sum_lanes_fold(const struct plumb_sum_lanes *lanes,
                                  struct plumb_block_sums *sums)
{
    sums->sum = fold_sum8(lanes->sum);
    sums->square = fold_sum8(lanes->square);
    sums->absolute = fold_sum8(lanes->absolute);
    sums->min = fold_min8(lanes->min);
    sums->max = fold_max8(lanes->max);
    sums->min_absolute = fold_min8(lanes->min_absolute);
    sums->min += 0.0;
    sums->max += 0.0;
}

/* Two zeros are equal, so they are within, though 0 < 0 does not hold. */
static inline void pair_lanes_fold(const struct pair_lanes *lanes,
                                   struct plumb_block_pair *pair)
{
    pair->d_square = fold_sum4(lanes->d_square);
    pair->d_absolute = fold_sum4(lanes->d_absolute);
    pair->d_sum = fold_sum4(lanes->d_sum);
    pair->d_outward = fold_sum4(lanes->d_outward);
    pair->d_a = fold_sum4(lanes->d_a);
    pair->a_square = fold_sum4(lanes->a_square);
    pair->a_absolute = fold_sum4(lanes->a_absolute);
    pair->relative = fold_sum4(lanes->relative);
    pair->max_d = fold_max4(lanes->max_d);
    pair->max_relative = fold_max4(lanes->max_relative);
    pair->max_a = fold_max4(lanes->max_a);
    pair->max_b = fold_max4(lanes->max_b);
    pair->close = fold_count4(lanes->close);
    pair->zero = fold_count4(lanes->zero);
    pair->zero_reference = fold_count4(lanes->zero_reference);
    const uint64_t both_zero = pair->zero - pair->zero_reference;
    pair->within_1e3 = fold_count4(lanes->within_1e3) + both_zero;
    pair->within_5e3 = fold_count4(lanes->within_5e3) + both_zero;
}

#endif
