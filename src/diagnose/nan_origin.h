/* nan_origin.h - what a search for the first value that is not finite found. */
#ifndef PLUMB_DIAGNOSE_NAN_ORIGIN_H
#define PLUMB_DIAGNOSE_NAN_ORIGIN_H

#include "base/arena.h"
#include "model/finding.h"

enum { PLUMB_NAN_CHAIN = 64 };

struct plumb_nan {
    const struct plumb_run *run;
    struct plumb_arena arena;
    struct plumb_arena *arenas; /* of each rank, which is searched on a thread of its own */
    size_t arena_count;
    bool found;
    struct plumb_nan_place origin;
    bool came_in; /* the origin is an input that nothing recorded had produced */
    bool in_data; /* the origin is the batch: it was there before the network */
    int64_t sample, value_of_sample, batch_size; /* where in the batch; -1: not known */
    struct plumb_nan_place chain[PLUMB_NAN_CHAIN];
    size_t chain_count;   /* kept */
    size_t chain_total;   /* in all */
    size_t recovered;     /* steps whose gradients overflowed under a loss scale, and no more */
    char largest[64];     /* magnitude among the origin's inputs; "" if not known */
    double largest_input; /* the same; 0 if not known */
    struct plumb_finding finding;
};

/* nan_finding.c: says it in a finding. False when out of memory. */
bool plumb_nan_explain(struct plumb_nan *nan, const char *run_path);
/* "NaN", "infinity", "saturation" */
const char *plumb_nan_word(const char *kind);
/* nan_data.c: moves the origin to the batch if the data brought it. */
enum plumb_status plumb_nan_ask_data(struct plumb_nan *nan, struct plumb_run *run,
                                     struct plumb_error *err);
/* Title, cause and fix of that. False when out of memory. */
bool plumb_nan_explain_data(struct plumb_nan *nan);

#endif
