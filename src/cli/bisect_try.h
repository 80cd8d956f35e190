/*
 * bisect_try.h - one try of a bisection: the command under `plumb run` with some ops computed in float64, and how far its loss
 * then is from the good one. What was tried is kept in a log, so that a hunt that was interrupted goes on.
 */
#ifndef BISECT_TRY_H
#define BISECT_TRY_H

#include <plumb.h>

#include <stdbool.h>
#include <stddef.h>

enum { BISECT_PATH = 4096 };

struct bisect_result {
    char *ops; /* the names, separated by commas; "" for none */
    double
        distance; /* largest relative difference of the series; infinite: it failed or did not get as far */
};

struct bisect {
    const char *good, *bad, *series, *folder;
    char **ops; /* what is chosen from: a name each, or names with commas between them */
    size_t op_count;
    struct plumb_run *reference; /* of the good command */
    struct bisect_result *results;
    size_t result_count, result_room;
    size_t started, most; /* tries of this call, at most */
    bool interrupted;
};

/* Reads the log of an earlier call. False after saying why it cannot be gone on with. */
bool bisect_open(struct bisect *bisect);
void bisect_close(struct bisect *bisect);
/* Runs the good command, unless it is a run already. False after saying why there is nothing to compare with. */
bool bisect_run_good(struct bisect *bisect);
/* Runs the bad command once to see which ops there are that fit the patterns in bisect->ops, which they replace. */
bool bisect_list_ops(struct bisect *bisect);
/* The ops of one kind, in whatever module, become one thing to choose: a faulty kernel is faulty everywhere. */
bool bisect_group_ops(struct bisect *bisect);
/* The chosen ones alone, one by one again. *changed: there are others to choose from now. */
bool bisect_ungroup_ops(struct bisect *bisect, const bool *chosen, bool *changed);
/* Distance with the chosen ops (NULL: none) in float64, from the log or by a run. False: no more tries. */
bool bisect_try(struct bisect *bisect, const bool *chosen, double *distance);

#endif
