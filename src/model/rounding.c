/*
 * rounding.c - one number rounded to a narrower type, in each of the six modes.
 *
 * Everything works on a magnitude m * 2^e with an integer m: the bits that do not fit are
 * shifted out and decide, with the mode, whether the rest is raised by one. Because codes of
 * an IEEE-like type are consecutive across binades, a carry needs no special case.
 */
#include "dtype.h"

#include "kernel/float_format.h"

#include <math.h>
#include <string.h>

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Whether a magnitude goes up when what is cut off is `below`, `at` or above one half
 * (order: -1, 0, 1) of a unit and not zero. */
static bool raises(bool odd, int order, bool negative, enum plumb_round round)
{
    switch (round) {
    case PLUMB_ROUND_NEAREST_EVEN:
        return order > 0 || (order == 0 && odd);
    case PLUMB_ROUND_NEAREST_AWAY:
        return order >= 0;
    case PLUMB_ROUND_TO_ODD:
        return !odd;
    case PLUMB_ROUND_UP:
        return !negative;
    case PLUMB_ROUND_DOWN:
        return negative;
    case PLUMB_ROUND_TO_ZERO:
    case PLUMB_ROUND_COUNT:
        break;
    }
    return false;
}

/* `m` is below 2^64; drops the low `shift` bits. */
static uint64_t shift_out(uint64_t m, int shift, bool negative, enum plumb_round round)
{
    if (shift <= 0 || m == 0)
        return shift <= 0 ? m << -shift : 0;
    const uint64_t kept = shift < 64 ? m >> shift : 0;
    const uint64_t rest = shift < 64 ? m & ((UINT64_C(1) << shift) - 1) : m;
    if (rest == 0)
        return kept;
    int order = -1;
    if (shift <= 64) {
        const uint64_t half = UINT64_C(1) << (shift - 1);
        order = (rest > half) - (rest < half);
    }
    return kept + raises(kept & 1, order, negative, round);
}

/* A finite value too large for the type. */
static uint64_t overflow_code(const struct plumb_float_format *format, bool negative,
                              enum plumb_round round)
{
    const bool to_infinity =
        round == PLUMB_ROUND_NEAREST_EVEN || round == PLUMB_ROUND_NEAREST_AWAY ||
        (round == PLUMB_ROUND_UP && !negative) || (round == PLUMB_ROUND_DOWN && negative);
    return to_infinity && format->infinity_code ? format->infinity_code : format->max_code;
}

/* Hardware keeps the sign and the top bits of a NaN and makes it quiet; so do we. */
static uint64_t nan_code(const struct plumb_float_format *format, uint64_t bits)
{
    if (!format->infinity_code)
        return format->nan_code;
    const uint64_t payload = bits & UINT64_C(0x000fffffffffffff);
    return format->nan_code | (payload >> (53 - format->precision));
}

static uint64_t finite_code(const struct plumb_float_format *format, uint64_t magnitude,
                            bool negative, enum plumb_round round)
{
    const int stored = (int)(magnitude >> 52);
    uint64_t m = magnitude & UINT64_C(0x000fffffffffffff);
    if (stored)
        m |= UINT64_C(1) << 52;
    const int unit = (stored ? stored : 1) - 1075; /* value = m * 2^unit */
    const int lowest = format->emin - format->precision + 1;
    const int wanted = unit + 53 - format->precision;
    const int target = wanted > lowest ? wanted : lowest;
    const uint64_t kept = shift_out(m, target - unit, negative, round);
    const uint64_t code = ((uint64_t)(target - lowest) << (format->precision - 1)) + kept;
    return code > format->max_code ? overflow_code(format, negative, round) : code;
}

static uint64_t hif8_code(double magnitude, bool negative, enum plumb_round round)
{
    const struct plumb_hif8_order *order = plumb_hif8_order();
    const unsigned last = PLUMB_HIF8_LEVELS - 1;
    if (magnitude >= order->magnitude[last])
        return overflow_code(plumb_float_format(PLUMB_HIF8), negative, round);
    unsigned low = 0, high = last; /* magnitude[low] <= magnitude < magnitude[high] */
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (order->magnitude[middle] <= magnitude)
            low = middle;
        else
            high = middle;
    }
    if (magnitude > order->magnitude[low]) {
        const double half = (order->magnitude[low] + order->magnitude[high]) / 2;
        const int side = (magnitude > half) - (magnitude < half);
        if (raises(low & 1, side, negative, round))
            low = high;
    }
    return low == last ? overflow_code(plumb_float_format(PLUMB_HIF8), negative, round)
                       : order->code_of_rank[low];
}

static uint64_t round_to_hif8(double value, enum plumb_round round)
{
    if (isnan(value))
        return 0x80;
    const bool negative = signbit(value);
    const uint64_t code = isinf(value) ? 0x6f : hif8_code(fabs(value), negative, round);
    return code && negative ? code | 0x80 : code;
}

uint64_t plumb_round_to_bits(enum plumb_dtype dtype, double value, enum plumb_round round)
{
    if (dtype == PLUMB_HIF8)
        return round_to_hif8(value, round);
    const struct plumb_float_format *format = plumb_float_format(dtype);
    const uint64_t bits = double_bits(value);
    if (!format || dtype == PLUMB_F64)
        return bits;
    const bool negative = bits >> 63;
    const uint64_t magnitude = bits & INT64_MAX;
    uint64_t code;
    if (isnan(value))
        code = nan_code(format, bits);
    else if (isinf(value))
        code = format->infinity_code ? format->infinity_code : format->max_code;
    else
        code = finite_code(format, magnitude, negative, round);
    return code | (uint64_t)negative << (format->bits - 1);
}

double plumb_round_to_integer(double value, enum plumb_round round)
{
    if (!isfinite(value) || value == trunc(value))
        return value;
    /* Not an integer, so below 2^52: the fraction is exact. */
    const double magnitude = fabs(value), whole = trunc(magnitude);
    const double fraction = magnitude - whole;
    const int order = (fraction > 0.5) - (fraction < 0.5);
    const bool up = raises((uint64_t)whole & 1, order, value < 0, round);
    return copysign(whole + (up ? 1 : 0), value);
}

double plumb_round_from_integer(uint64_t magnitude, bool negative, enum plumb_round round)
{
    if (magnitude == 0)
        return 0;
    const int excess = 11 - __builtin_clzll(magnitude); /* bits beyond the 53 that fit */
    const int shift = excess > 0 ? excess : 0;
    const double value = ldexp((double)shift_out(magnitude, shift, negative, round), shift);
    return negative ? -value : value;
}
