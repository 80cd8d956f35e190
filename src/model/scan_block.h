/*
 * scan_block.h - statistics of one block of values, whatever blocks are around it: threads may share the blocks of a
 * tensor, and what they find is joined in order (scan_stats.h).
 */
#ifndef PLUMB_MODEL_SCAN_BLOCK_H
#define PLUMB_MODEL_SCAN_BLOCK_H

#include "kernel/fingerprint.h"

struct plumb_block_stats {
    uint64_t count, finite, nan, pos_inf, neg_inf, zero, subnormal, at_max;
    double min, max; /* of the finite values, as the rest; +inf, -inf if there are none */
    /* In units of 2^exponent: of x - pivot, of its square, of |x|. */
    double pivot, sum, square, absolute;
    int exponent;
};

/* What the last block was like, from one block to the next: a guess that saves time. And how exact the sums
 * are to be. */
struct plumb_block_habits {
    bool gaps;  /* values that are not finite */
    bool zeros; /* zeros */
    bool quick; /* see PLUMB_SUMMARY_QUICK */
};

/* Of the next block, where `left` values are: a chunk has large ones first if its sums are quick. */
size_t plumb_block_size(enum plumb_dtype part, bool quick, size_t left);
/* A pivot for the blocks of a chunk, from its first one: 0, or a value among them if they lie far from 0 for
 * their spread. Blocks that lie far from it make the spread of all as large. `habits`, unless NULL: zeros are
 * to be expected if some are seen. */
double plumb_block_pivot(enum plumb_dtype part, const void *values, size_t n,
                         struct plumb_block_habits *habits);
/* `print`: the fingerprint on the way, piece by piece while it is near; NULL: none. */
void plumb_block_measure(enum plumb_dtype part, const void *values, size_t n, double pivot,
                         struct plumb_block_habits *habits,
                         struct plumb_fingerprint_state *print,
                         struct plumb_block_stats *block);

#endif
