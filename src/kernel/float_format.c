/*
 * float_format.c - the table of floating-point types, and the values of the 8-bit ones.
 *
 * HiF8 (Huawei, "Ascend HiFloat8 Format for Deep Learning"), from the top bit down:
 *     sign | dot | exponent | mantissa
 *     dot 11    4 exponent bits, 1 mantissa bit     |E| 8..15
 *     dot 10    3 exponent bits, 2 mantissa bits    |E| 4..7
 *     dot 01    2 exponent bits, 3 mantissa bits    |E| 2..3
 *     dot 001   1 exponent bit,  3 mantissa bits    |E| 1
 *     dot 0001  no exponent bit, 3 mantissa bits     E  0
 *     dot 0000  denormal: 3 bits M = 1..7 stand for 2^(M - 23)
 * The exponent is sign (1: negative) and magnitude, the magnitude's top bit is not stored.
 * 0x00 is zero (there is no -0), 0x80 is NaN, 0x6f and 0xef, which would be 1.5 * 2^15, are
 * the infinities. So the largest finite value is 2^15 and the smallest positive 2^-22.
 */
#include "float_format.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

static const struct plumb_float_format formats[] = {
    [PLUMB_F64] = {64, 53, -1022, 0x1.fffffffffffffp1023, 0x1p-1022, 0x7fefffffffffffff,
                   0x7ff0000000000000, 0x7ff8000000000000},
    [PLUMB_F32] = {32, 24, -126, 0x1.fffffep127, 0x1p-126, 0x7f7fffff, 0x7f800000, 0x7fc00000},
    [PLUMB_F16] = {16, 11, -14, 65504, 0x1p-14, 0x7bff, 0x7c00, 0x7e00},
    [PLUMB_BF16] = {16, 8, -126, 0x1.fep127, 0x1p-126, 0x7f7f, 0x7f80, 0x7fc0},
    [PLUMB_F8E4M3] = {8, 4, -6, 448, 0x1p-6, 0x7e, 0, 0x7f},
    [PLUMB_F8E5M2] = {8, 3, -14, 57344, 0x1p-14, 0x7b, 0x7c, 0x7e},
    [PLUMB_HIF8] = {8, 2, -15, 0x1p15, 0x1p-15, 0x6e, 0x6f, 0x80},
};

static double e4m3_values[256], e5m2_values[256], hif8_values[256];
static struct plumb_hif8_order hif8_order;
static pthread_once_t filled = PTHREAD_ONCE_INIT;

const struct plumb_float_format *plumb_float_format(enum plumb_dtype dtype)
{
    return dtype <= PLUMB_HIF8 ? &formats[dtype] : NULL;
}

/* Of the code without its sign. */
static double ieee8_magnitude(const struct plumb_float_format *format, unsigned code)
{
    if (code > format->max_code)
        return format->infinity_code && code == format->infinity_code ? (double)INFINITY
                                                                      : (double)NAN;
    const int mantissa_bits = format->precision - 1;
    const unsigned exponent = code >> mantissa_bits;
    const unsigned hidden = exponent ? 1U << mantissa_bits : 0;
    const unsigned mantissa = (code & ((1U << mantissa_bits) - 1)) | hidden;
    return ldexp(mantissa, format->emin - mantissa_bits + (exponent ? (int)exponent - 1 : 0));
}

/* Of a code 0x08..0x7f; 0x6f gives the value that infinity displaces. */
static double hif8_normal_magnitude(unsigned code)
{
    int exponent_bits = 0, mantissa_bits = 3;
    if (code & 0x40) {
        exponent_bits = code & 0x20 ? 4 : 3;
        mantissa_bits = code & 0x20 ? 1 : 2;
    } else if (code & 0x20) {
        exponent_bits = 2;
    } else if (code & 0x10) {
        exponent_bits = 1;
    }
    int exponent = 0;
    if (exponent_bits) {
        const unsigned stored = (code >> mantissa_bits) & ((1U << exponent_bits) - 1);
        const unsigned top = 1U << (exponent_bits - 1);
        exponent = (int)((stored & (top - 1)) | top);
        if (stored & top)
            exponent = -exponent;
    }
    const unsigned one = 1U << mantissa_bits;
    return ldexp((code & (one - 1)) | one, exponent - mantissa_bits);
}

static double hif8_magnitude(unsigned code)
{
    if (code == 0)
        return 0;
    return code < 8 ? ldexp(1, (int)code - 23) : hif8_normal_magnitude(code);
}

static void order_hif8(void)
{
    struct plumb_hif8_order *order = &hif8_order;
    for (unsigned code = 0; code < PLUMB_HIF8_LEVELS; code++) {
        const double magnitude = hif8_magnitude(code);
        unsigned at = code;
        for (; at > 0 && order->magnitude[at - 1] > magnitude; at--) {
            order->magnitude[at] = order->magnitude[at - 1];
            order->code_of_rank[at] = order->code_of_rank[at - 1];
        }
        order->magnitude[at] = magnitude;
        order->code_of_rank[at] = (uint8_t)code;
    }
    for (unsigned rank = 0; rank < PLUMB_HIF8_LEVELS; rank++)
        order->rank_of_code[order->code_of_rank[rank]] = (uint8_t)rank;
}

static void fill_tables(void)
{
    for (unsigned code = 0; code < 128; code++) {
        e4m3_values[code] = ieee8_magnitude(&formats[PLUMB_F8E4M3], code);
        e5m2_values[code] = ieee8_magnitude(&formats[PLUMB_F8E5M2], code);
        hif8_values[code] = code == 0x6f ? (double)INFINITY : hif8_magnitude(code);
        e4m3_values[code + 128] = -e4m3_values[code];
        e5m2_values[code + 128] = -e5m2_values[code];
        hif8_values[code + 128] = code ? -hif8_values[code] : (double)NAN;
    }
    order_hif8();
}

const double *plumb_float8_values(enum plumb_dtype dtype)
{
    pthread_once(&filled, fill_tables);
    if (dtype == PLUMB_F8E4M3)
        return e4m3_values;
    return dtype == PLUMB_F8E5M2 ? e5m2_values : hif8_values;
}

const struct plumb_hif8_order *plumb_hif8_order(void)
{
    pthread_once(&filled, fill_tables);
    return &hif8_order;
}
