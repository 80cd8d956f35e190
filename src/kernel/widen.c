/* widen.c - one loop per type; elements are copied out because files do not align them. */
#include "widen.h"

#include "float_format.h"

#include <string.h>

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The exponent is put right by a multiplication, which treats subnormal numbers alike. */
float plumb_widen_f16(uint16_t half)
{
    const uint32_t magnitude = half & 0x7fffU, sign = (uint32_t)(half & 0x8000U) << 16;
    uint32_t bits;
    if (magnitude >= 0x7c00U) {
        bits = (magnitude << 13) | 0x7f800000U;
    } else {
        const float scaled = float_of_bits(magnitude << 13) * 0x1p112F;
        memcpy(&bits, &scaled, sizeof bits);
    }
    return float_of_bits(bits | sign);
}

uint16_t plumb_narrow_f16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t magnitude = bits & 0x7fffffffU, sign = (bits >> 16) & 0x8000U;
    uint32_t code;
    if (magnitude > 0x7f800000U) {
        code = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
    } else if (magnitude >= 0x477ff000U) { /* 65520 and more */
        code = 0x7c00U;
    } else if (magnitude < 0x38800000U) { /* subnormal: let the adder round at 2^-24 */
        const float shifted = float_of_bits(magnitude) + 0.5F;
        uint32_t rounded;
        memcpy(&rounded, &shifted, sizeof rounded);
        code = rounded - 0x3f000000U;
    } else {
        code = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    }
    return (uint16_t)(code | sign);
}

static void widen_floats(enum plumb_dtype dtype, const unsigned char *from, size_t count,
                         double *to)
{
    if (dtype == PLUMB_F64) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    if (dtype == PLUMB_F32) {
        for (size_t i = 0; i < count; i++) {
            float value;
            memcpy(&value, from + 4 * i, sizeof value);
            to[i] = (double)value;
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, from + 2 * i, sizeof half);
        to[i] = (double)(dtype == PLUMB_BF16 ? float_of_bits((uint32_t)half << 16)
                                             : plumb_widen_f16(half));
    }
}

static void widen_bytes(enum plumb_dtype dtype, const unsigned char *from, size_t count,
                        double *to)
{
    if (dtype == PLUMB_BOOL) {
        for (size_t i = 0; i < count; i++)
            to[i] = from[i] != 0;
    } else if (dtype == PLUMB_U8) {
        for (size_t i = 0; i < count; i++)
            to[i] = from[i];
    } else if (dtype == PLUMB_I8) {
        for (size_t i = 0; i < count; i++)
            to[i] = (int8_t)from[i];
    } else {
        const double *values = plumb_float8_values(dtype);
        for (size_t i = 0; i < count; i++)
            to[i] = values[from[i]];
    }
}

static void widen_i16(const unsigned char *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i++) {
        int16_t value;
        memcpy(&value, from + 2 * i, sizeof value);
        to[i] = value;
    }
}

static void widen_u16(const unsigned char *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t value;
        memcpy(&value, from + 2 * i, sizeof value);
        to[i] = value;
    }
}

static void widen_i32(const unsigned char *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i++) {
        int32_t value;
        memcpy(&value, from + 4 * i, sizeof value);
        to[i] = value;
    }
}

static void widen_u32(const unsigned char *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        memcpy(&value, from + 4 * i, sizeof value);
        to[i] = value;
    }
}

static void widen_i64(const unsigned char *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, from + 8 * i, sizeof value);
        to[i] = (double)value;
    }
}

static void widen_u64(const unsigned char *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        memcpy(&value, from + 8 * i, sizeof value);
        to[i] = (double)value;
    }
}

void plumb_widen(enum plumb_dtype dtype, const void *from, size_t count, double *to)
{
    static void (*const integers[PLUMB_DTYPE_COUNT])(const unsigned char *, size_t,
                                                     double *) = {
        [PLUMB_I16] = widen_i16, [PLUMB_U16] = widen_u16, [PLUMB_I32] = widen_i32,
        [PLUMB_U32] = widen_u32, [PLUMB_I64] = widen_i64, [PLUMB_U64] = widen_u64,
    };
    if (count == 0)
        return;
    if (integers[dtype])
        integers[dtype](from, count, to);
    else if (dtype <= PLUMB_BF16)
        widen_floats(dtype, from, count, to);
    else
        widen_bytes(dtype, from, count, to);
}
