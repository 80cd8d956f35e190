/*
 * evidence.h - all that the patterns look at to judge one pair.
 *
 * The error model (docs/verdicts.md). Two correct computations of one tensor differ by the
 * order of their sums before the result is rounded to the grid of its type, and by that last
 * rounding. With sums of up to 65536 terms kept in fp32 the first part is at most
 * `allowed_rms` of the scale of the element's neighbourhood; the second is one step of the
 * grid, and takes place only where the first part crosses the middle between two grid values:
 * a "flip". An element further away than both together is `beyond`.
 */
#ifndef PLUMB_COMPARE_EVIDENCE_H
#define PLUMB_COMPARE_EVIDENCE_H

#include "compare/grid.h"
#include "compare/sample.h"

enum { PLUMB_PLACE_SIZE = 160 };

struct plumb_evidence {
    const struct plumb_operand *a, *b;
    const struct plumb_comparison *comparison;
    struct plumb_sample sample;

    /* NULL grids: integers, which no rounding can change. `grid` is the coarser. */
    const struct plumb_grid *grid_a, *grid_b, *grid;
    double *rounded_a, *rounded_b; /* the sample on `grid` (may be sample.a or sample.b) */
    double *scale;                 /* what the error of an element is measured against */
    double rms_a;                  /* of the sample */

    uint32_t *beyond; /* positions in the sample that rounding does not explain */
    size_t beyond_count;
    size_t beyond_far; /* those that the scale of the whole tensor does not explain either */

    double unit;        /* of roundoff while summing */
    double allowed_rms; /* difference over scale, before the last rounding */
    double seen_rms;
    double seen_worst;    /* largest difference over what is allowed for its element */
    double seen_steps;    /* largest difference in steps of the element's scale */
    uint64_t nonzero;     /* elements of the whole tensor with a value on either side */
    uint64_t flips;       /* of those, how many differ on the common grid */
    double flips_likely;  /* how many the longest allowed sums would flip */
    double flips_allowed; /* the same with six standard deviations of room */
    bool sparse_changes;  /* a handful of elements changed: sums would touch many */
    bool crowded;         /* flips that stand close together count as beyond */
    double sparse_share;  /* of the allowance, that flips this rare leave; 1 if not sparse */
};

enum plumb_status
plumb_evidence_gather(struct plumb_evidence *evidence, const struct plumb_operand *a,
                      const struct plumb_operand *b, const struct plumb_comparison *comparison,
                      const struct plumb_block_map *map, struct plumb_error *err);
void plumb_evidence_release(struct plumb_evidence *evidence);

/* Whether rounding explains all: nothing beyond, and no more flips than allowed. */
bool plumb_evidence_is_rounding(const struct plumb_evidence *evidence);
bool plumb_evidence_flips_fit(const struct plumb_evidence *evidence);
/* Whether the elements that are not beyond flip as seldom as they do beside a few wrong ones:
 * without the room that small tensors are given. True on fine grids, where all may flip. */
bool plumb_evidence_rest_is_calm(const struct plumb_evidence *evidence);
/* The length of fp32 sums that would give the observed differences; 1 to 65536 and more. */
double plumb_evidence_sum_length(const struct plumb_evidence *evidence);

/* Whether b is not a, or not close to it in the way rounding allows; for elements that were
 * read outside the sample. */
bool plumb_evidence_is_beyond(const struct plumb_evidence *evidence, double a, double b);

/* "[3, 17]", or "3" for one axis. */
void plumb_evidence_place(const struct plumb_operand *operand, int64_t index,
                          char place[PLUMB_PLACE_SIZE]);

#endif
