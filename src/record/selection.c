/* selection.c - see selection.h. */
#include "record/selection.h"

#include "base/error.h"

/* Digits at *text, which is moved past them; false if there are none or too many. */
static bool take_number(const char **text, int64_t *number)
{
    const char *c = *text;
    int64_t value = 0;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *c - '0', &value))
            return false;
    if (c == *text)
        return false;
    *text = c;
    *number = value;
    return true;
}

/* FIRST, FIRST-, FIRST-LAST, each with :EVERY. */
static bool take_range(const char **text, struct plumb_selected *range)
{
    *range = (struct plumb_selected){.every = 1};
    if (!take_number(text, &range->first))
        return false;
    range->last = range->first;
    if (**text == '-') {
        (*text)++;
        if (**text < '0' || **text > '9')
            range->last = INT64_MAX;
        else if (!take_number(text, &range->last))
            return false;
    }
    if (**text == ':') {
        (*text)++;
        if (!take_number(text, &range->every))
            return false;
    }
    return range->first <= range->last && range->every > 0;
}

enum plumb_status plumb_selection_parse(const char *text, const char *what,
                                        struct plumb_selection *selection,
                                        struct plumb_error *err)
{
    *selection = (struct plumb_selection){0};
    const char *at = text;
    while (at) {
        if (selection->count == PLUMB_SELECTION_MOST ||
            !take_range(&at, &selection->ranges[selection->count]) || (*at && *at != ','))
            return plumb_fail(err, PLUMB_INVALID, -1,
                              "%s '%s' cannot be read; write up to %d parts such as "
                              "0-9,100,500-:50 (every 50th from 500 on)",
                              what, text, PLUMB_SELECTION_MOST);
        selection->count++;
        at = *at ? at + 1 : NULL;
    }
    return PLUMB_OK;
}

enum plumb_status plumb_selection_check(const char *text, const char *what,
                                        struct plumb_error *err)
{
    struct plumb_selection selection;
    return plumb_selection_parse(text, what, &selection, err);
}

bool plumb_selection_has(const struct plumb_selection *selection, int64_t number)
{
    for (size_t i = 0; i < selection->count; i++) {
        const struct plumb_selected *range = &selection->ranges[i];
        if (number >= range->first && number <= range->last &&
            (number - range->first) % range->every == 0)
            return true;
    }
    return selection->count == 0;
}
