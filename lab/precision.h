/*
 * precision.h - arithmetic narrower than the machine's: values are kept in `real` but rounded
 * to what a narrower type can hold, after every operator and, if asked, after every addition
 * of a sum.
 */
#ifndef LAB_PRECISION_H
#define LAB_PRECISION_H

#include <stdbool.h>
#include <stddef.h>

#include "real.h"

/* In which order the terms of a product's sums are added: correct results all. */
enum lab_sums { LAB_SUMS_ASCENDING, LAB_SUMS_DESCENDING, LAB_SUMS_BLOCKS, LAB_SUMS_COUNT };

struct lab_precision {
    enum plumb_dtype compute;    /* f32 means: leave as it is */
    enum plumb_dtype accumulate; /* of sums in matrix products */
    enum plumb_round round;
    bool saturate; /* what overflows becomes the largest finite value */
    enum lab_sums sums;
};

bool lab_precision_is_exact(enum plumb_dtype dtype);
/* Rounds in place. */
void lab_round_values(real *values, size_t count, enum plumb_dtype dtype,
                      enum plumb_round round, bool saturate);
void lab_round(const struct lab_precision *precision, real *values, size_t count);

#endif
