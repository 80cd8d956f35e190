/*
 * scan_total.h - sums over many blocks: compensated, and with an exponent of their own, so
 * that squares of 1e300 and of 1e-300 neither overflow nor vanish.
 *
 * A wide number is value * 2^exponent. Numbers of ordinary size have exponent 0 and cost
 * nothing extra; others are scaled by 2^600, and their squares by 2^1200.
 */
#ifndef PLUMB_MODEL_SCAN_TOTAL_H
#define PLUMB_MODEL_SCAN_TOTAL_H

#include "plumb.h"

struct plumb_wide {
    double value;
    int exponent;
};

/* Zeroed: nothing added yet. */
struct plumb_total {
    double high, low; /* low: what rounding took from high (Neumaier) */
    int exponent;
};

void plumb_total_add(struct plumb_total *total, double value, int exponent);
void plumb_total_merge(struct plumb_total *total, const struct plumb_total *other);
struct plumb_wide plumb_total_value(const struct plumb_total *total);
/* The total divided by `count`; 0 if there are none. */
double plumb_total_mean(const struct plumb_total *total, uint64_t count);

/* Magnitudes whose squares, a thousand of them summed, keep full precision. */
bool plumb_wide_is_ordinary(double magnitude);
/* Exponent by which a block whose largest magnitude is `magnitude` has to be scaled. */
int plumb_wide_exponent(double magnitude);
struct plumb_wide plumb_wide_of(double value);
/* b - a, also where that overflows. */
struct plumb_wide plumb_wide_difference(double a, double b);
struct plumb_wide plumb_wide_times(struct plumb_wide x, struct plumb_wide y);
struct plumb_wide plumb_wide_minus(struct plumb_wide x, struct plumb_wide y);
struct plumb_wide plumb_wide_plus(struct plumb_wide x, struct plumb_wide y);
struct plumb_wide plumb_wide_root(struct plumb_wide x);
double plumb_wide_ratio(struct plumb_wide x, struct plumb_wide y);
double plumb_wide_double(struct plumb_wide x);

#endif
