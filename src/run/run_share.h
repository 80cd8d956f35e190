/*
 * run_share.h - reading a run on several threads.
 *
 * Parts of other tools' records are read without touching the run. Plumb's own blocks are not: a
 * damaged one leaves a warning there.
 */
#ifndef PLUMB_RUN_RUN_SHARE_H
#define PLUMB_RUN_RUN_SHARE_H

#include "plumb.h"

/* What a visit hands over; a function that is NULL is not wanted. Each returns false to stop. */
struct plumb_run_visitor {
    bool (*record)(void *context, const struct plumb_tensor_record *record);
    bool (*collective)(void *context, const struct plumb_rank_collective *collective);
    void *context;
};

/* May several threads visit it at once? */
bool plumb_run_may_share(const struct plumb_run *run);
/* Records and collectives, in one reading if that can be. */
enum plumb_status plumb_run_visit_both(struct plumb_run *run,
                                       const struct plumb_run_query *query,
                                       const struct plumb_run_visitor *visitor,
                                       struct plumb_error *err);

#endif
