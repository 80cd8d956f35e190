/*
 * kernel_ulp.h - distance in units of the last place, one pair at a time.
 *
 * A code of sign and magnitude becomes an integer that rises with the value: the magnitude,
 * negated for negative numbers, so that -0 and 0 are the same. The distance of two such
 * integers of w bits fits in w unsigned bits because no finite magnitude uses all of w - 1.
 */
#ifndef PLUMB_KERNEL_KERNEL_ULP_H
#define PLUMB_KERNEL_KERNEL_ULP_H

#include "kernel.h"

#include <string.h>

static inline uint64_t ulp_load(int bits, const unsigned char *from, size_t i)
{
    uint64_t code = 0;
    const size_t size = (size_t)bits / 8;
    memcpy(&code, from + i * size, size);
    return code;
}

static inline int64_t ulp_order(int bits, uint64_t code)
{
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    const int64_t magnitude = (int64_t)(code & (sign - 1));
    return code & sign ? -magnitude : magnitude;
}

static inline void ulp_count_pair(int bits, const unsigned char *a, const unsigned char *b,
                                  size_t i, struct plumb_block_ulp *ulp)
{
    const uint64_t code_a = ulp_load(bits, a, i), code_b = ulp_load(bits, b, i);
    const int64_t order_a = ulp_order(bits, code_a), order_b = ulp_order(bits, code_b);
    const uint64_t distance = order_a > order_b ? (uint64_t)order_a - (uint64_t)order_b
                                                : (uint64_t)order_b - (uint64_t)order_a;
    ulp->same += code_a == code_b;
    for (int k = 0; k < PLUMB_ULP_LIMITS && distance > plumb_ulp_limits[k]; k++)
        ulp->above[k]++;
    if (distance > ulp->max)
        ulp->max = distance;
}

/* Adds elements [first, n). One loop for each width, in which the width is a constant. */
static inline void ulp_count_from(int bits, const void *a, const void *b, size_t first,
                                  size_t n, struct plumb_block_ulp *ulp)
{
    if (bits == 16)
        for (size_t i = first; i < n; i++)
            ulp_count_pair(16, a, b, i, ulp);
    else if (bits == 32)
        for (size_t i = first; i < n; i++)
            ulp_count_pair(32, a, b, i, ulp);
    else
        for (size_t i = first; i < n; i++)
            ulp_count_pair(64, a, b, i, ulp);
}

#endif
