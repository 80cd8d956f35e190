/*
 * precision.c - rounds through plumb's own conversion, so that the lab's f16 is everybody's.
 */
#include "precision.h"

#include <stdint.h>

enum { CHUNK = 1024 };

bool lab_precision_is_exact(enum plumb_dtype dtype)
{
    return dtype == PLUMB_F32 || dtype == PLUMB_F64;
}

static double largest(enum plumb_dtype dtype)
{
    return dtype == PLUMB_F16 ? 65504.0 : 0x1.fep127;
}

void lab_round_values(real *values, size_t count, enum plumb_dtype dtype,
                      enum plumb_round round, bool saturate)
{
    uint16_t narrow[CHUNK];
    if (lab_precision_is_exact(dtype))
        return;
    for (size_t first = 0; first < count; first += CHUNK) {
        size_t n = count - first < CHUNK ? count - first : CHUNK;
        /* float to float of another size: the conversion has no way to fail */
        (void)plumb_convert_values(LAB_REAL_DTYPE, values + first, dtype, narrow, n, round,
                                   NULL);
        (void)plumb_convert_values(dtype, narrow, LAB_REAL_DTYPE, values + first, n,
                                   PLUMB_ROUND_NEAREST_EVEN, NULL);
    }
    if (!saturate)
        return;
    real limit = (real)largest(dtype);
    for (size_t i = 0; i < count; i++)
        if (isinf(values[i]))
            values[i] = values[i] > 0 ? limit : -limit;
}

void lab_round(const struct lab_precision *precision, real *values, size_t count)
{
    lab_round_values(values, count, precision->compute, precision->round, precision->saturate);
}
