/* blame_lists.c - what the walk over the steps finds: events, and which ops were fed by what. Both grow as
 * needed, up to a limit. */
#include "compare/run_blame.h"

#include "base/memory.h"

enum { MOST_EVENTS = 20000, MOST_EVENTS_OF_STEP = 256, MOST_FED = 1 << 20 };

void plumb_blame_release(struct plumb_blame *blame)
{
    plumb_free(blame->events);
    plumb_free(blame->fed);
    *blame = (struct plumb_blame){0};
}

struct plumb_event *plumb_blame_add(struct plumb_blame *blame, size_t first_of_step)
{
    if (blame->event_count >= MOST_EVENTS ||
        blame->event_count - first_of_step >= MOST_EVENTS_OF_STEP) {
        blame->events_lost++;
        return NULL;
    }
    if (blame->event_count == blame->event_capacity) {
        const size_t capacity = blame->event_capacity ? 2 * blame->event_capacity : 16;
        struct plumb_event *events =
            plumb_realloc_array(blame->events, capacity, sizeof *events);
        if (!events) {
            blame->failed = true;
            return NULL;
        }
        blame->events = events;
        blame->event_capacity = capacity;
    }
    return &blame->events[blame->event_count++];
}

void plumb_blame_add_fed(struct plumb_blame *blame, int64_t step, uint32_t label)
{
    if (blame->fed_count == blame->fed_capacity) {
        const size_t capacity = blame->fed_capacity ? 2 * blame->fed_capacity : 64;
        struct plumb_fed *fed = blame->fed_count < MOST_FED
                                    ? plumb_realloc_array(blame->fed, capacity, sizeof *fed)
                                    : NULL;
        blame->failed |= !fed && blame->fed_count < MOST_FED;
        if (!fed)
            return;
        blame->fed = fed;
        blame->fed_capacity = capacity;
    }
    blame->fed[blame->fed_count++] = (struct plumb_fed){step, label};
}
