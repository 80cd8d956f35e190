/*
 * run_overlap.h - which ranks and steps two runs have in common, and what stands on one side only.
 *
 * Equal numbers belong together. Two dumps of one step each, or of one rank each, are compared
 * whatever their numbers: that is what somebody asks for who names two such dumps.
 */
#ifndef PLUMB_COMPARE_RUN_OVERLAP_H
#define PLUMB_COMPARE_RUN_OVERLAP_H

#include "plumb.h"

struct plumb_step_range {
    int64_t first, last; /* last < first: none */
};

struct plumb_overlap {
    struct plumb_step_range a, b;        /* of the ranks that both have */
    struct plumb_step_range both;        /* as A counts */
    int64_t shift;                       /* a step of A is that much more in B */
    size_t ranks, only_a, only_b;        /* that both have; that one side has */
    bool other_rank;                     /* one rank each, with another number */
    int rank_a, rank_b;                  /* then, these */
    uint64_t most_records;               /* of one rank */
    uint64_t steps_only_a, steps_only_b; /* between those that both have; counted by the walk */
};

void plumb_overlap_find(struct plumb_overlap *overlap, const struct plumb_run *a,
                        const struct plumb_run *b);
/* B's rank for one of A that has records on both sides; NULL if there is none. */
const struct plumb_run_rank *plumb_overlap_partner(const struct plumb_overlap *overlap,
                                                   const struct plumb_run *b,
                                                   const struct plumb_run_rank *rank);
/* Why nothing was compared, and what to do; `text` holds `size` bytes. */
void plumb_overlap_explain(const struct plumb_overlap *overlap, const struct plumb_run *a,
                           const struct plumb_run *b, char *text, size_t size);

#endif
