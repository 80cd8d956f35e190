/* words.c - see words.h. */
#include "report/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *plumb_word_count(uint64_t count, char text[WORD_SIZE])
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

const char *plumb_word_bytes(uint64_t bytes, char text[WORD_SIZE])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double amount = (double)bytes;
    size_t unit = 0;
    /* 999.5 would be printed as 1000: the next unit reads better. */
    while (amount >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        amount /= 1000;
        unit++;
    }
    const int decimals = unit == 0 || amount >= 99.95 ? 0 : amount >= 9.995 ? 1 : 2;
    (void)snprintf(text, WORD_SIZE, "%.*f %s", decimals, amount, units[unit]);
    return text;
}

const char *plumb_word_number(double value, char text[WORD_SIZE])
{
    if (isnan(value))
        (void)snprintf(text, WORD_SIZE, "-");
    else
        (void)snprintf(text, WORD_SIZE, "%.6g", value);
    return text;
}

const char *plumb_word_shape(const struct plumb_tensor *tensor, char text[SHAPE_SIZE])
{
    size_t at = 0;
    text[at++] = '[';
    for (int i = 0; i < tensor->rank; i++) {
        if (at > SHAPE_SIZE - 32) {
            at += (size_t)snprintf(text + at, SHAPE_SIZE - at, "...");
            break;
        }
        at += (size_t)snprintf(text + at, SHAPE_SIZE - at, i ? ", %lld" : "%lld",
                               (long long)tensor->shape[i]);
    }
    text[at++] = ']';
    text[at] = '\0';
    return text;
}
