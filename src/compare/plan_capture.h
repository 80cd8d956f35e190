/*
 * plan_capture.h - what to record next of two runs that part.
 *
 * Each answer narrows the next question: series give a step, modules of that step a module, its ops an op, and
 * the values of that op what is wrong with it. A capture that is narrow can be deep and stays small.
 */
#ifndef PLUMB_COMPARE_PLAN_CAPTURE_H
#define PLUMB_COMPARE_PLAN_CAPTURE_H

#include "compare/run_diff.h"

struct plumb_plan {
    struct plumb_arena arena;
    struct plumb_run_diff *diff;
    bool clear;         /* nothing needs to be recorded: `answer` is the answer */
    const char *answer; /* one sentence */
    const char *why;    /* what it rests on */
    const char *level, *save, *steps;
    const char *ops, *ranks; /* NULL: all */
    bool knows_bytes, knows_time;
    uint64_t bytes;    /* of one rank */
    int64_t time_ns;   /* until the last wanted step is over, as fast as A was */
    int64_t last_step; /* that is wanted */
    const char *command_a, *command_b, *then;
    const char *remark; /* about the commands; or NULL */
};

/* plan_command.c: fills command_a, command_b, then and remark. False when out of memory. */
bool plumb_plan_commands(struct plumb_plan *plan);
/* plan_size.c: fills bytes and time, and says which step before `step` both have records of: INT64_MIN if none. */
enum plumb_status plumb_plan_estimate(struct plumb_plan *plan, int64_t step,
                                      struct plumb_error *err);
enum plumb_status plumb_plan_step_before(struct plumb_plan *plan, int rank, int64_t step,
                                         int64_t *before, struct plumb_error *err);

#endif
