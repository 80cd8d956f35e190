/*
 * run_data.h - what B's batches are, if they are not A's: shifted, repeated, dealt to other ranks, in
 * another order, or normalised in another way.
 */
#ifndef PLUMB_COMPARE_RUN_DATA_H
#define PLUMB_COMPARE_RUN_DATA_H

#include "compare/run_diff.h"

/* A half sentence that begins with "; ", or nothing. The event is of the data. */
void plumb_data_describe(struct plumb_run_diff *diff, const struct plumb_event *event,
                         char *text, size_t size);

#endif
