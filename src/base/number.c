/*
 * number.c - doubles to text and back; see number.h.
 *
 * printf and strtod follow the locale, so both run under the C locale here (for glibc that is
 * a static object: newlocale() allocates nothing and cannot fail).
 */
#include "base/number.h"

#include "base/memory.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double parse_ended(const char *text, char **end)
{
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return strtod(text, end);
    const double value = strtod_l(text, end, c_locale);
    freelocale(c_locale);
    return value;
}

static void print_digits(double value, int digits, char text[PLUMB_NUMBER_TEXT])
{
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
    (void)snprintf(text, PLUMB_NUMBER_TEXT, "%.*g", digits, value);
    if (c_locale) {
        (void)uselocale(before);
        freelocale(c_locale);
    }
}

void plumb_number_text(double value, char text[PLUMB_NUMBER_TEXT])
{
    if (!isfinite(value)) {
        (void)snprintf(text, PLUMB_NUMBER_TEXT, "%s",
                       isnan(value) ? "nan"
                       : value > 0  ? "inf"
                                    : "-inf");
        return;
    }
    /* A normal double that has a text of fewer than 15 digits prints it with 15; subnormals
     * have fewer true digits and are tried from 1. */
    const int first = fabs(value) < DBL_MIN ? 1 : 15;
    for (int digits = first; digits <= 17; digits++) {
        print_digits(value, digits, text);
        if (parse_ended(text, NULL) == value)
            return;
    }
}

static bool only_number_characters(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!text[i] || !strchr("0123456789+-.eE", text[i]))
            return false;
    return length > 0;
}

bool plumb_number_parse(const char *text, size_t length, double *value)
{
    char small[64];
    if (!only_number_characters(text, length))
        return false;
    char *copy = length < sizeof small ? small : plumb_alloc(length + 1);
    if (!copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *end = NULL;
    const double parsed = parse_ended(copy, &end);
    const bool whole = end == copy + length;
    if (whole)
        *value = parsed;
    if (copy != small)
        plumb_free(copy);
    return whole;
}
