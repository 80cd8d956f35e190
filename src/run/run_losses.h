/*
 * run_losses.h - what was recorded and cannot be read any more, by rank and step.
 *
 * A comparison needs more than the sentence of a warning: which steps are only there in part, and whether
 * what is there of a step is its beginning.
 */
#ifndef PLUMB_RUN_RUN_LOSSES_H
#define PLUMB_RUN_RUN_LOSSES_H

#include "plumb.h"

enum plumb_lost {
    PLUMB_LOST_RECORDS, /* tensor records, or nobody knows what */
    PLUMB_LOST_SERIES,
    PLUMB_LOST_SETTINGS,
    PLUMB_LOST_OTHER, /* spans, counters, collectives, stacks */
};

struct plumb_run_loss {
    enum plumb_lost what;
    int rank;
    int64_t first_step, last_step; /* INT64_MAX: to the end; last < first: of no step */
    bool
        has_head; /* of the first step the records up to some point are there, without a hole */
};

size_t plumb_run_loss_count(const struct plumb_run *run);
const struct plumb_run_loss *plumb_run_loss(const struct plumb_run *run, size_t i);
/* Does a step of a rank (-1: of any) lack records before others that are there? */
bool plumb_run_step_is_torn(const struct plumb_run *run, int rank, int64_t step);

/* The last step of a rank that has tensor records; of anything if there are none. */
int64_t plumb_run_recorded_until(const struct plumb_run *run, int rank);

/* For readers. False when out of memory. */
bool plumb_run_lose(struct plumb_run *run, const struct plumb_run_loss *loss);

#endif
