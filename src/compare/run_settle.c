/* run_settle.c - drops events that other ranks or earlier events explain. */
#include "compare/run_blame.h"

#include <stdlib.h>

static int by_step_and_label(const void *x, const void *y)
{
    const struct plumb_fed *a = x, *b = y;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->label > b->label) - (a->label < b->label);
}

static bool is_later(const struct plumb_event *a, const struct plumb_event *b)
{
    return a->step > b->step || (a->step == b->step && a->position > b->position);
}

/* After something that is more than rounding, errors may grow as they like. */
static void drop_jumps(struct plumb_blame *blame)
{
    const struct plumb_event *clear = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < blame->event_count; i++) {
        const struct plumb_event *event = &blame->events[i];
        if (event->error.error > event->error.allowed && (!clear || is_later(clear, event)))
            clear = event;
    }
    if (!clear)
        return;
    const struct plumb_event first = *clear;
    for (size_t i = 0; i < blame->event_count; i++) {
        const struct plumb_event *event = &blame->events[i];
        if (event->kind != PLUMB_EVENT_JUMP || !is_later(event, &first))
            blame->events[kept++] = *event;
    }
    blame->event_count = kept;
}

void plumb_blame_settle(struct plumb_blame *blame)
{
    size_t kept = 0;
    if (blame->fed_count)
        qsort(blame->fed, blame->fed_count, sizeof *blame->fed, by_step_and_label);
    for (size_t i = 0; i < blame->event_count; i++) {
        const struct plumb_event *event = &blame->events[i];
        const struct plumb_fed key = {event->step, event->label};
        const bool brought =
            event->through_messages && blame->fed_count &&
            bsearch(&key, blame->fed, blame->fed_count, sizeof *blame->fed, by_step_and_label);
        if (!brought)
            blame->events[kept++] = *event;
    }
    blame->event_count = kept;
    blame->fed_count = 0;
    drop_jumps(blame);
}
