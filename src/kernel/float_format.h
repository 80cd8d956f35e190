/*
 * float_format.h - what the bits of each real floating-point type mean.
 *
 * The one table of floating-point facts: kernels decode with it, rounding.c encodes with it,
 * dtype.c answers questions from it. It sits below the model because kernels need it.
 */
#ifndef PLUMB_KERNEL_FLOAT_FORMAT_H
#define PLUMB_KERNEL_FLOAT_FORMAT_H

#include "plumb.h"

/* Codes are without the sign bit. A type without infinity has infinity_code 0. */
struct plumb_float_format {
    int bits;
    int precision; /* significand bits, the hidden one included; HiF8: its smallest, 2 */
    int emin;      /* exponent of the smallest normal value */
    double max, min_normal;
    uint64_t max_code, infinity_code, nan_code;
};

/* NULL if `dtype` is not a real floating-point type. */
const struct plumb_float_format *plumb_float_format(enum plumb_dtype dtype);

/* The 256 values of an 8-bit type (f8e4m3, f8e5m2, hif8). */
const double *plumb_float8_values(enum plumb_dtype dtype);

enum { PLUMB_HIF8_LEVELS = 128 };

/* HiF8's codes are not in the order of their values (its exponent is sign and magnitude), so
 * distances and rounding go by rank: magnitudes in rising order, rank 0 is zero, the last is
 * infinity, whose entry in `magnitude` holds the value 1.5 * 2^15 it displaced. */
struct plumb_hif8_order {
    double magnitude[PLUMB_HIF8_LEVELS];
    uint8_t code_of_rank[PLUMB_HIF8_LEVELS];
    uint8_t rank_of_code[PLUMB_HIF8_LEVELS];
};
const struct plumb_hif8_order *plumb_hif8_order(void);

#endif
