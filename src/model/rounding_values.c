/*
 * rounding_values.c - arrays from one element type to another.
 *
 * All pairs go through doubles in small blocks, but for three kinds that would lose: integers
 * to integers (through sign and magnitude), 64-bit integers to floats (rounded to odd first,
 * which makes the second rounding harmless), and the few pairs that whole checkpoints are
 * converted with (straight loops).
 */
#include "dtype.h"

#include "base/error.h"
#include "kernel/kernel.h"
#include "kernel/widen.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512 };

static uint64_t load_bits(const void *from, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, from, size); /* little endian: the low bytes */
    return bits;
}

struct plumb_integer plumb_integer_load(enum plumb_dtype dtype, const void *from)
{
    const size_t size = plumb_dtype_size(dtype);
    uint64_t bits = load_bits(from, size);
    if (dtype == PLUMB_BOOL)
        return (struct plumb_integer){.magnitude = bits != 0};
    const uint64_t sign = UINT64_C(1) << (8 * size - 1);
    if (!plumb_dtype_is_signed(dtype) || !(bits & sign))
        return (struct plumb_integer){.magnitude = bits};
    bits |= ~(sign - 1);
    return (struct plumb_integer){.magnitude = 0 - bits, .negative = true};
}

static void store_integer(enum plumb_dtype dtype, struct plumb_integer value, unsigned char *to)
{
    const size_t size = plumb_dtype_size(dtype);
    const bool is_signed = plumb_dtype_is_signed(dtype);
    const uint64_t sign = UINT64_C(1) << (8 * size - 1);
    uint64_t limit = is_signed ? sign - 1 : sign | (sign - 1);
    if (value.negative)
        limit = is_signed ? sign : 0;
    const uint64_t magnitude = value.magnitude < limit ? value.magnitude : limit;
    const uint64_t bits = value.negative ? 0 - magnitude : magnitude;
    memcpy(to, &bits, size);
}

static struct plumb_integer integer_of_double(double value, enum plumb_round round)
{
    const double whole = plumb_round_to_integer(value, round);
    struct plumb_integer result = {.negative = whole < 0};
    if (fabs(whole) >= 0x1p64)
        result.magnitude = UINT64_MAX;
    else if (!isnan(whole))
        result.magnitude = (uint64_t)fabs(whole);
    return result;
}

static bool is_whole(enum plumb_dtype dtype)
{
    return plumb_dtype_is_integer(dtype) || dtype == PLUMB_BOOL;
}

static void doubles_to(enum plumb_dtype dtype, const double *from, size_t count,
                       enum plumb_round round, unsigned char *to)
{
    const size_t size = plumb_dtype_size(dtype);
    for (size_t i = 0; i < count; i++) {
        if (dtype == PLUMB_BOOL) {
            to[i] = from[i] != 0;
        } else if (is_whole(dtype)) {
            store_integer(dtype, integer_of_double(from[i], round), to + i * size);
        } else {
            const uint64_t bits = plumb_round_to_bits(dtype, from[i], round);
            memcpy(to + i * size, &bits, size);
        }
    }
}

static void integers_to_doubles(enum plumb_dtype dtype, const unsigned char *from, size_t count,
                                enum plumb_round round, double *to)
{
    const size_t size = plumb_dtype_size(dtype);
    for (size_t i = 0; i < count; i++) {
        const struct plumb_integer value = plumb_integer_load(dtype, from + i * size);
        to[i] = plumb_round_from_integer(value.magnitude, value.negative, round);
    }
}

static void integers_to_integers(enum plumb_dtype from_dtype, const unsigned char *from,
                                 enum plumb_dtype to_dtype, unsigned char *to, size_t count)
{
    const size_t from_size = plumb_dtype_size(from_dtype), to_size = plumb_dtype_size(to_dtype);
    for (size_t i = 0; i < count; i++) {
        const struct plumb_integer value = plumb_integer_load(from_dtype, from + i * from_size);
        if (to_dtype == PLUMB_BOOL)
            to[i] = value.magnitude != 0;
        else
            store_integer(to_dtype, value, to + i * to_size);
    }
}

static void f32_to_bf16(const unsigned char *from, unsigned char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, from + 4 * i, sizeof bits);
        const uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
        const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
        const uint16_t code = (uint16_t)((nan ? bits | 0x400000U : rounded) >> 16);
        memcpy(to + 2 * i, &code, sizeof code);
    }
}

static void f64_to_f32(const unsigned char *from, unsigned char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, from + 8 * i, sizeof value);
        const float narrow = (float)value;
        memcpy(to + 4 * i, &narrow, sizeof narrow);
    }
}

static void bf16_to_f32(const unsigned char *from, unsigned char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t code;
        memcpy(&code, from + 2 * i, sizeof code);
        const uint32_t bits = (uint32_t)code << 16;
        memcpy(to + 4 * i, &bits, sizeof bits);
    }
}

/* The pairs of everyday conversions, to nearest even where anything is rounded. */
static bool convert_straight(enum plumb_dtype from_dtype, const unsigned char *from,
                             enum plumb_dtype to_dtype, unsigned char *to, size_t count,
                             enum plumb_round round)
{
    const bool nearest = round == PLUMB_ROUND_NEAREST_EVEN;
    if (from_dtype == to_dtype)
        memcpy(to, from, count * plumb_dtype_size(from_dtype));
    else if (from_dtype == PLUMB_F32 && to_dtype == PLUMB_BF16 && nearest)
        f32_to_bf16(from, to, count);
    else if (from_dtype == PLUMB_F32 && to_dtype == PLUMB_F16 && nearest)
        plumb_kernel()->f16_from_f32(from, count, to);
    else if (from_dtype == PLUMB_F16 && to_dtype == PLUMB_F32)
        plumb_kernel()->f32_from_f16(from, count, to);
    else if (from_dtype == PLUMB_BF16 && to_dtype == PLUMB_F32)
        bf16_to_f32(from, to, count);
    else if (from_dtype == PLUMB_F64 && to_dtype == PLUMB_F32 && nearest)
        f64_to_f32(from, to, count);
    else
        return false;
    return true;
}

static void convert_block(enum plumb_dtype from_dtype, const unsigned char *from,
                          enum plumb_dtype to_dtype, unsigned char *to, size_t count,
                          enum plumb_round round)
{
    if (is_whole(from_dtype) && is_whole(to_dtype)) {
        integers_to_integers(from_dtype, from, to_dtype, to, count);
        return;
    }
    double values[BLOCK];
    if (is_whole(from_dtype))
        integers_to_doubles(from_dtype, from, count,
                            to_dtype == PLUMB_F64 ? round : PLUMB_ROUND_TO_ODD, values);
    else
        plumb_widen(from_dtype, from, count, values);
    doubles_to(to_dtype, values, count, round, to);
}

static void convert_real(enum plumb_dtype from_dtype, const unsigned char *from,
                         enum plumb_dtype to_dtype, unsigned char *to, size_t count,
                         enum plumb_round round)
{
    if (count == 0 || convert_straight(from_dtype, from, to_dtype, to, count, round))
        return;
    const size_t from_size = plumb_dtype_size(from_dtype), to_size = plumb_dtype_size(to_dtype);
    for (size_t at = 0; at < count; at += BLOCK) {
        const size_t n = count - at < BLOCK ? count - at : BLOCK;
        convert_block(from_dtype, from + at * from_size, to_dtype, to + at * to_size, n, round);
    }
}

static void convert_to_complex(enum plumb_dtype from_dtype, const unsigned char *from,
                               enum plumb_dtype to_dtype, unsigned char *to, size_t count,
                               enum plumb_round round)
{
    const enum plumb_dtype part = plumb_dtype_part(to_dtype);
    const size_t from_size = plumb_dtype_size(from_dtype), part_size = plumb_dtype_size(part);
    for (size_t i = 0; i < count; i++) {
        unsigned char *real = to + 2 * i * part_size;
        convert_real(from_dtype, from + i * from_size, part, real, 1, round);
        memset(real + part_size, 0, part_size);
    }
}

enum plumb_status plumb_convert_values(enum plumb_dtype from_dtype, const void *from,
                                       enum plumb_dtype to_dtype, void *to, size_t count,
                                       enum plumb_round round, struct plumb_error *err)
{
    const bool from_complex = plumb_dtype_is_complex(from_dtype);
    const bool to_complex = plumb_dtype_is_complex(to_dtype);
    if (from_complex && !to_complex)
        return plumb_fail(err, PLUMB_INVALID, -1,
                          "cannot convert %s to %s: a complex number has two parts; convert "
                          "to c64 or c128",
                          plumb_dtype_name(from_dtype), plumb_dtype_name(to_dtype));
    if (to_complex && !from_complex)
        convert_to_complex(from_dtype, from, to_dtype, to, count, round);
    else
        convert_real(plumb_dtype_part(from_dtype), from, plumb_dtype_part(to_dtype), to,
                     count * (size_t)plumb_dtype_parts(from_dtype), round);
    return PLUMB_OK;
}
