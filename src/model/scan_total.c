/* scan_total.c - see scan_total.h. */
#include "scan_total.h"

#include <math.h>

enum { STEP = 600 };
static const double largest = 0x1p480, smallest = 0x1p-400;

void plumb_total_add(struct plumb_total *total, double value, int exponent)
{
    if (value == 0)
        return;
    if (exponent != total->exponent) {
        if (total->high == 0 && total->low == 0) {
            total->exponent = exponent;
        } else if (exponent > total->exponent) {
            total->high = ldexp(total->high, total->exponent - exponent);
            total->low = ldexp(total->low, total->exponent - exponent);
            total->exponent = exponent;
        } else {
            value = ldexp(value, exponent - total->exponent);
        }
    }
    const double sum = total->high + value;
    if (!isfinite(sum))
        total->low = 0; /* what rounding took from infinity is not a number */
    else if (fabs(total->high) >= fabs(value))
        total->low += (total->high - sum) + value;
    else
        total->low += (value - sum) + total->high;
    total->high = sum;
}

void plumb_total_merge(struct plumb_total *total, const struct plumb_total *other)
{
    plumb_total_add(total, other->high, other->exponent);
    plumb_total_add(total, other->low, other->exponent);
}

struct plumb_wide plumb_total_value(const struct plumb_total *total)
{
    return (struct plumb_wide){total->high + total->low, total->exponent};
}

double plumb_total_mean(const struct plumb_total *total, uint64_t count)
{
    if (count == 0)
        return 0;
    struct plumb_wide value = plumb_total_value(total);
    value.value /= (double)count;
    return plumb_wide_double(value);
}

bool plumb_wide_is_ordinary(double magnitude)
{
    return magnitude <= largest && (magnitude >= smallest || magnitude == 0);
}

int plumb_wide_exponent(double magnitude)
{
    if (plumb_wide_is_ordinary(magnitude))
        return 0;
    return magnitude > largest ? STEP : -STEP;
}

struct plumb_wide plumb_wide_of(double value)
{
    const int exponent = plumb_wide_exponent(fabs(value));
    return (struct plumb_wide){exponent ? ldexp(value, -exponent) : value, exponent};
}

struct plumb_wide plumb_wide_difference(double a, double b)
{
    const double difference = b - a;
    if (isfinite(difference))
        return plumb_wide_of(difference);
    return (struct plumb_wide){ldexp(b, -STEP) - ldexp(a, -STEP), STEP};
}

static struct plumb_wide normal(struct plumb_wide x)
{
    int shift = 0;
    if (x.value == 0 || !isfinite(x.value))
        return (struct plumb_wide){x.value, 0};
    x.value = frexp(x.value, &shift);
    x.exponent += shift;
    return x;
}

struct plumb_wide plumb_wide_times(struct plumb_wide x, struct plumb_wide y)
{
    x = normal(x);
    y = normal(y);
    return (struct plumb_wide){x.value * y.value, x.exponent + y.exponent};
}

struct plumb_wide plumb_wide_plus(struct plumb_wide x, struct plumb_wide y)
{
    x = normal(x);
    y = normal(y);
    if (x.value == 0)
        return y;
    if (y.value == 0)
        return x;
    if (x.exponent < y.exponent)
        return (struct plumb_wide){ldexp(x.value, x.exponent - y.exponent) + y.value,
                                   y.exponent};
    return (struct plumb_wide){x.value + ldexp(y.value, y.exponent - x.exponent), x.exponent};
}

struct plumb_wide plumb_wide_minus(struct plumb_wide x, struct plumb_wide y)
{
    return plumb_wide_plus(x, (struct plumb_wide){-y.value, y.exponent});
}

struct plumb_wide plumb_wide_root(struct plumb_wide x)
{
    x = normal(x);
    if (x.exponent % 2) {
        x.value *= 2;
        x.exponent--;
    }
    return (struct plumb_wide){sqrt(x.value), x.exponent / 2};
}

double plumb_wide_ratio(struct plumb_wide x, struct plumb_wide y)
{
    x = normal(x);
    y = normal(y);
    return ldexp(x.value / y.value, x.exponent - y.exponent);
}

double plumb_wide_double(struct plumb_wide x)
{
    return x.exponent ? ldexp(x.value, x.exponent) : x.value;
}
