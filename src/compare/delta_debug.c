/*
 * delta_debug.c - the smallest part of a set that still does it (ddmin, Zeller and Hildebrandt 2002).
 *
 * The set is cut into parts. A part that does it alone is the new set; else what is left without a part, if that does it;
 * else the parts are made smaller. One culprit among n takes about 2 log2 n tries.
 */
#include "plumb.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

struct hunt {
    const struct plumb_minimize_options *options;
    size_t count;
    bool *set, *tried; /* what is left; what is tried now */
};

static size_t size_of(const bool *set, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += set[i];
    return size;
}

/* Part `k` of `parts` of the set, or all but it. */
static void choose(struct hunt *hunt, size_t parts, size_t k, bool without)
{
    const size_t size = size_of(hunt->set, hunt->count);
    const size_t from = k * size / parts, end = (k + 1) * size / parts;
    size_t at = 0;
    for (size_t i = 0; i < hunt->count; i++) {
        const bool inside = hunt->set[i] && at >= from && at < end;
        hunt->tried[i] = hunt->set[i] && inside != without;
        at += hunt->set[i];
    }
}

/* The first part, or complement, that does it becomes the set. */
static enum plumb_try try_all(struct hunt *hunt, size_t parts, bool without)
{
    for (size_t k = 0; k < parts; k++) {
        choose(hunt, parts, k, without);
        const enum plumb_try outcome =
            hunt->options->test(hunt->options->context, hunt->tried, hunt->count);
        if (outcome == PLUMB_TRY_GOOD)
            memcpy(hunt->set, hunt->tried, hunt->count * sizeof *hunt->set);
        if (outcome != PLUMB_TRY_BAD)
            return outcome;
    }
    return PLUMB_TRY_BAD;
}

static bool shrink(struct hunt *hunt)
{
    size_t parts = 2, size = 0;
    while ((size = size_of(hunt->set, hunt->count)) > 1) {
        parts = parts > size ? size : parts;
        enum plumb_try outcome = try_all(hunt, parts, false);
        if (outcome == PLUMB_TRY_GOOD) {
            parts = 2;
            continue;
        }
        if (outcome == PLUMB_TRY_BAD &&
            parts > 2) { /* of two, each is the other's complement */
            outcome = try_all(hunt, parts, true);
            if (outcome == PLUMB_TRY_GOOD) {
                parts--;
                continue;
            }
        }
        if (outcome == PLUMB_TRY_STOP)
            return false;
        if (parts == size)
            break;
        parts *= 2;
    }
    return true;
}

enum plumb_status plumb_minimize(const struct plumb_minimize_options *options, bool *set,
                                 size_t count, bool *smallest, struct plumb_error *err)
{
    struct hunt hunt = {.options = options, .count = count, .set = set};
    hunt.tried = plumb_alloc_array(count + 1, sizeof *hunt.tried);
    if (!hunt.tried)
        return plumb_fail_memory(err);
    *smallest = shrink(&hunt);
    plumb_free(hunt.tried);
    return PLUMB_OK;
}
