/*
 * plan.h - which settings hold at a step on a rank.
 */
#ifndef LAB_PLAN_H
#define LAB_PLAN_H

#include "net.h"
#include "settings.h"

enum { LAB_ALL_RANKS = -1, LAB_MAX_RANKS = 8 };

struct lab_plan {
    const struct lab_net_kind *kind;
    uint64_t seed;
    int steps;
    int ranks;
    int local_batch; /* samples of a step on one rank */
    struct lab_settings usual, changed;
    int change_step; /* `changed` holds from here; past the end: never */
    int change_rank; /* on this rank, or LAB_ALL_RANKS */
};

static inline const struct lab_settings *lab_plan_at(const struct lab_plan *plan, int64_t step,
                                                     int rank)
{
    bool here = plan->change_rank == LAB_ALL_RANKS || plan->change_rank == rank;
    return here && step >= plan->change_step ? &plan->changed : &plan->usual;
}

#endif
