/* scan_stats.h - statistics gathered block by block and merged in a fixed order. */
#ifndef PLUMB_MODEL_SCAN_STATS_H
#define PLUMB_MODEL_SCAN_STATS_H

#include "model/scan_block.h"
#include "model/scan_total.h"

/* Of so many values sums are always exact: whether they are the same values in another order shows in the last
 * digits, and only there. */
enum { PLUMB_EXACT_VALUES = 10000 };

/* Start with plumb_stats_begin(); the type is that of one part of a complex number. */
struct plumb_stats_state {
    struct plumb_stats counts; /* its min and max too; the rest is filled at the end */
    uint64_t finite;
    struct plumb_total sum, absolute;
    /* Of the finite values, in units of 2^exponent: their mean, and the sum of the squared
     * distances from it. */
    double mean, spread;
    int exponent;
    double pivot; /* of the blocks, once there was one */
    bool begun;
    struct plumb_block_habits habits;
    struct plumb_block_stats gathered; /* quick sums that are not yet part of the above */
};

void plumb_stats_begin(struct plumb_stats_state *state);
/* Are the sums of so many values to be quick (plumb_summary_parts)? */
bool plumb_stats_are_quick(int parts, size_t count);
/* `count` counts parts. */
void plumb_stats_add(struct plumb_stats_state *state, enum plumb_dtype part, const void *values,
                     size_t count);
/* And their fingerprint on the way, piece by piece while it is near; NULL: none. */
void plumb_stats_add_printed(struct plumb_stats_state *state, enum plumb_dtype part,
                             const void *values, size_t count,
                             struct plumb_fingerprint_state *print);
/* The same from a block that was measured with the chunk's pivot; they are joined in order. */
void plumb_stats_join(struct plumb_stats_state *state, const struct plumb_block_stats *block);
/* `next` is done with then. */
void plumb_stats_merge(struct plumb_stats_state *state, struct plumb_stats_state *next);
void plumb_stats_finish(struct plumb_stats_state *state, struct plumb_stats *stats);

#endif
