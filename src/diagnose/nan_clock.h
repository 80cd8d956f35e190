/*
 * nan_clock.h - a logical clock over the ranks of a run (Lamport's), driven by its collectives.
 *
 * A collective happens after everything its members did before it. So of two places on different
 * ranks the one with the smaller time may have caused the other, and never the other way round.
 */
#ifndef PLUMB_DIAGNOSE_NAN_CLOCK_H
#define PLUMB_DIAGNOSE_NAN_CLOCK_H

#include "plumb.h"

struct plumb_nan_clock;

/* Reads the collectives of all ranks: same group and sequence are the same collective. */
enum plumb_status plumb_nan_clock_new(struct plumb_run *run, struct plumb_nan_clock **clock,
                                      struct plumb_error *err);
void plumb_nan_clock_free(struct plumb_nan_clock *clock);
/* When the rank had `passed` collectives of that step behind it. */
uint64_t plumb_nan_clock_time(const struct plumb_nan_clock *clock, int rank, int64_t step,
                              uint64_t passed);

#endif
