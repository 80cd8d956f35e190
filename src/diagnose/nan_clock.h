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
struct plumb_nan_part;

/* The collectives of one rank in their order. A zeroed struct is empty. */
struct plumb_nan_parts {
    struct plumb_nan_part *items;
    size_t count, capacity;
    bool failed; /* out of memory */
};

/* False when out of memory. */
bool plumb_nan_parts_add(struct plumb_nan_parts *parts,
                         const struct plumb_rank_collective *collective);
void plumb_nan_parts_release(struct plumb_nan_parts *parts);

/* `parts` has one list for each rank of the run: same group and sequence are the same collective. */
enum plumb_status plumb_nan_clock_new(const struct plumb_run *run,
                                      const struct plumb_nan_parts *parts,
                                      struct plumb_nan_clock **clock, struct plumb_error *err);
void plumb_nan_clock_free(struct plumb_nan_clock *clock);
/* When the rank had `passed` collectives of that step behind it. */
uint64_t plumb_nan_clock_time(const struct plumb_nan_clock *clock, int rank, int64_t step,
                              uint64_t passed);

#endif
