/*
 * number.c - whole texts that are numbers within limits, or a clear refusal.
 */
#include "number.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trouble.h"

int64_t lab_number(const char *what, const char *text, int64_t low, int64_t high)
{
    int64_t value = 0;
    const char *digit = text;
    for (; *digit >= '0' && *digit <= '9' && value <= INT64_MAX / 10 - 1; digit++)
        value = value * 10 + (*digit - '0');
    if (digit == text || *digit || value < low || value > high)
        lab_give_up("%s is a number from %" PRId64 " to %" PRId64 ", not '%s'", what, low, high,
                    text);
    return value;
}

double lab_fraction(const char *what, const char *text, double low, double high)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= low && value <= high))
        lab_give_up("%s is a number from %g to %g, not '%s'", what, low, high, text);
    return value;
}
