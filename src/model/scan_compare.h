/* scan_compare.h - comparison gathered block by block and merged in a fixed order. */
#ifndef PLUMB_MODEL_SCAN_COMPARE_H
#define PLUMB_MODEL_SCAN_COMPARE_H

#include "model/scan.h"
#include "model/scan_total.h"

struct plumb_compare_state {
    struct plumb_comparison counts; /* with extremes and indices; the rest is filled last */
    uint64_t zero;                  /* finite pairs with a == 0 */
    double block_error;             /* largest |b - a| of the block added last */
    struct plumb_total d_square, d_absolute, d_sum, d_outward, d_a;
    struct plumb_total a_square, b_square, dot, a_absolute, relative;
};

/* What is compared with what, and how. Types may be complex; counts are then of parts. */
struct plumb_compare_task {
    enum plumb_dtype dtype_a, dtype_b;
    double tolerance[2];         /* relative, absolute */
    bool brief;                  /* see plumb_compare_options */
    struct plumb_block_map *map; /* or NULL */
};

/* Both 0 means the usual 1e-5 and 1e-8. */
struct plumb_compare_task plumb_compare_task(enum plumb_dtype dtype_a, enum plumb_dtype dtype_b,
                                             double rtol, double atol);
void plumb_compare_begin(struct plumb_compare_state *state);
/* `count` elements, the first of which is number `first` of its tensor. */
void plumb_compare_add(struct plumb_compare_state *state, const struct plumb_compare_task *task,
                       const void *a, const void *b, int64_t first, size_t count);
void plumb_compare_merge(struct plumb_compare_state *state,
                         const struct plumb_compare_state *next);
void plumb_compare_finish(const struct plumb_compare_state *state,
                          struct plumb_comparison *comparison);

#endif
