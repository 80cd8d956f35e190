/* run_series.h - scalars by step of two runs, told apart by how they part. */
#ifndef PLUMB_COMPARE_RUN_SERIES_H
#define PLUMB_COMPARE_RUN_SERIES_H

#include "base/arena.h"

struct plumb_series_list {
    struct plumb_series_diff *items; /* those that differ first */
    size_t count;
};

/* Series that both runs have; what only measures time is left out. */
enum plumb_status plumb_series_compare(struct plumb_arena *arena, struct plumb_run *a,
                                       struct plumb_run *b,
                                       const struct plumb_run_diff_options *options,
                                       struct plumb_series_list *list, struct plumb_error *err);
/* The part of training a series tells about. */
enum plumb_stage plumb_series_stage(const char *name);
/* The series that shows a difference first; NULL if all are equal. */
const struct plumb_series_diff *plumb_series_first(const struct plumb_series_list *list);

#endif
