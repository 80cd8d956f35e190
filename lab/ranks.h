/*
 * ranks.h - data-parallel ranks as processes: ranks.c starts them and shares memory, ranks_mpi.c takes
 * those that mpirun started.
 *
 * The all-reduce is the real thing in small: every rank publishes its part, waits, sums its share
 * of the elements over the ranks in ascending order, waits, and copies the whole result. So all
 * ranks get the same bits, whatever the timing.
 */
#ifndef LAB_RANKS_H
#define LAB_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "plan.h"
#include "real.h"

struct lab_group; /* of all ranks */

/* How many ranks there are already; 0: as many as are asked for can be started. */
int lab_group_started(void);
/* `capacity`: elements of the largest message. */
struct lab_group *lab_group_new(int ranks, size_t capacity);
void lab_group_free(struct lab_group *group);
/* Runs `body` once a rank, each in a process of its own if there are several; returns the first
 * exit status that is not 0. A rank that dies takes the others with it. */
int lab_group_run(struct lab_group *group, int (*body)(void *context, int rank), void *context);

void lab_all_reduce(struct lab_group *group, int rank, real *values, size_t count);
void lab_all_gather(struct lab_group *group, int rank, uint64_t value, uint64_t *values);

#endif
