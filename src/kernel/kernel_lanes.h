/*
 * kernel_lanes.h - the one definition of what a lane does with an element and how lanes are
 * folded. The scalar kernels use it for every element, the vector kernels for the elements
 * that do not fill a register, and both for the fold: so they cannot disagree there.
 */
#ifndef PLUMB_KERNEL_KERNEL_LANES_H
#define PLUMB_KERNEL_KERNEL_LANES_H

#include "kernel.h"

#include <math.h>

enum { SUM_LANES = 8, PAIR_LANES = 4 };

struct sum_lanes {
    _Alignas(32) double sum[SUM_LANES];
    double square[SUM_LANES], absolute[SUM_LANES];
    double min[SUM_LANES], max[SUM_LANES], min_absolute[SUM_LANES];
};

struct pair_lanes {
    _Alignas(32) double d_square[PAIR_LANES];
    double d_absolute[PAIR_LANES], d_sum[PAIR_LANES], d_outward[PAIR_LANES];
    double d_a[PAIR_LANES], a_square[PAIR_LANES], a_absolute[PAIR_LANES];
    double relative[PAIR_LANES];
    double max_d[PAIR_LANES], max_relative[PAIR_LANES];
    double max_a[PAIR_LANES], max_b[PAIR_LANES];
    uint64_t equal[PAIR_LANES], close[PAIR_LANES];
    uint64_t within_1e3[PAIR_LANES], within_5e3[PAIR_LANES];
    uint64_t zero[PAIR_LANES], zero_reference[PAIR_LANES];
};

static inline void sum_lanes_clear(struct sum_lanes *lanes)
{
    *lanes = (struct sum_lanes){.sum = {0}};
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

static inline void sum_lane_add(struct sum_lanes *lanes, size_t lane, double x, double pivot)
{
    const double d = x - pivot, magnitude = fabs(x);
    lanes->sum[lane] += d;
    lanes->square[lane] += d * d;
    lanes->absolute[lane] += magnitude;
    lanes->min[lane] = lane_min(x, lanes->min[lane]);
    lanes->max[lane] = lane_max(x, lanes->max[lane]);
    lanes->min_absolute[lane] = lane_min(magnitude, lanes->min_absolute[lane]);
}

/* `d` is b - a, given apart because integers can be subtracted exactly where doubles cannot. */
static inline void pair_lane_add(struct pair_lanes *lanes, size_t lane, double a, double b,
                                 double d, double rtol, double atol)
{
    const double error = fabs(d), reference = fabs(a);
    const bool zero = a == 0;
    const double outward = signbit(a) ? -d : d;
    const double relative = zero ? 0 : error / reference;
    lanes->d_square[lane] += d * d;
    lanes->d_absolute[lane] += error;
    lanes->d_sum[lane] += d;
    lanes->d_outward[lane] += zero ? 0 : outward;
    lanes->d_a[lane] += d * a;
    lanes->a_square[lane] += a * a;
    lanes->a_absolute[lane] += reference;
    lanes->relative[lane] += relative;
    lanes->max_d[lane] = lane_max(error, lanes->max_d[lane]);
    lanes->max_relative[lane] = lane_max(relative, lanes->max_relative[lane]);
    lanes->max_a[lane] = lane_max(reference, lanes->max_a[lane]);
    lanes->max_b[lane] = lane_max(fabs(b), lanes->max_b[lane]);
    lanes->equal[lane] += d == 0;
    lanes->zero[lane] += zero;
    lanes->zero_reference[lane] += zero && d != 0;
    lanes->close[lane] += error <= rtol * reference + atol;
    lanes->within_1e3[lane] += relative < 1e-3;
    lanes->within_5e3[lane] += relative < 5e-3;
}

static inline double fold_sum8(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
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
static inline void sum_lanes_fold(const struct sum_lanes *lanes, struct plumb_block_sums *sums)
{
    sums->sum = fold_sum8(lanes->sum);
    sums->square = fold_sum8(lanes->square);
    sums->absolute = fold_sum8(lanes->absolute);
    sums->min = sums->min_absolute = (double)INFINITY;
    sums->max = -(double)INFINITY;
    for (int i = 0; i < SUM_LANES; i++) {
        sums->min = lane_min(lanes->min[i], sums->min);
        sums->max = lane_max(lanes->max[i], sums->max);
        sums->min_absolute = lane_min(lanes->min_absolute[i], sums->min_absolute);
    }
    sums->min += 0.0;
    sums->max += 0.0;
}

/* Where the reference is 0 the relative error was taken as 0; that counts as within only if
 * the other side is 0 too. */
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
    pair->equal = fold_count4(lanes->equal);
    pair->close = fold_count4(lanes->close);
    pair->zero = fold_count4(lanes->zero);
    pair->zero_reference = fold_count4(lanes->zero_reference);
    pair->within_1e3 = fold_count4(lanes->within_1e3) - pair->zero_reference;
    pair->within_5e3 = fold_count4(lanes->within_5e3) - pair->zero_reference;
}

#endif
