/* scan_codes.h - distances between values that depend on how their types encode them. */
#ifndef PLUMB_MODEL_SCAN_CODES_H
#define PLUMB_MODEL_SCAN_CODES_H

#include "kernel/kernel.h"

/* b - a of integers (or bools), exact before it becomes a double. */
void plumb_codes_difference(enum plumb_dtype dtype_a, const void *a, enum plumb_dtype dtype_b,
                            const void *b, size_t n, double *difference);

/* Distances in units of the last place of the coarser of two real types, at least one of
 * them floating; the other side is first rounded to it. All n <= PLUMB_BLOCK are finite. */
void plumb_codes_ulp(enum plumb_dtype dtype_a, const void *a, enum plumb_dtype dtype_b,
                     const void *b, size_t n, struct plumb_block_ulp *ulp);

#endif
