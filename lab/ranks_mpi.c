/*
 * ranks_mpi.c - ranks.h over MPI, for `mpirun -n R build/lab-mpi train ...`; in place of ranks.c.
 *
 * MPI_Allreduce may sum in any order. Here every rank gathers all parts and sums them in ascending
 * order, as ranks.c does, so that both programs print the same bits.
 */
#include "ranks.h"

#include <mpi.h>
#include <stdlib.h>

#include "trouble.h"

struct lab_group {
    int ranks;
    real *parts; /* one message a rank */
};

static void start_mpi(void)
{
    int started = 0, level = 0;
    MPI_Initialized(&started);
    /* The loader has threads, which do not talk to other ranks. */
    if (!started && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        lab_give_up("MPI does not start");
}

int lab_group_started(void)
{
    int ranks = 0;
    start_mpi();
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
}

struct lab_group *lab_group_new(int ranks, size_t capacity)
{
    struct lab_group *group = lab_allocate(1, sizeof *group);
    group->ranks = ranks;
    group->parts = lab_allocate((size_t)ranks * capacity, sizeof(real));
    return group;
}

void lab_group_free(struct lab_group *group)
{
    if (!group)
        return;
    free(group->parts);
    free(group);
    MPI_Finalize();
}

int lab_group_run(struct lab_group *group, int (*body)(void *context, int rank), void *context)
{
    int rank = 0, status, worst = 0;
    (void)group;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    status = body(context, rank);
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return worst;
}

void lab_all_reduce(struct lab_group *group, int rank, real *values, size_t count)
{
    (void)rank;
    if (group->ranks == 1)
        return;
    int bytes = (int)(count * sizeof(real));
    MPI_Allgather(values, bytes, MPI_BYTE, group->parts, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++) {
        real sum = group->parts[i];
        for (size_t r = 1; r < (size_t)group->ranks; r++)
            sum += group->parts[r * count + i];
        values[i] = sum;
    }
}

void lab_all_gather(struct lab_group *group, int rank, uint64_t value, uint64_t *values)
{
    (void)group;
    (void)rank;
    MPI_Allgather(&value, sizeof value, MPI_BYTE, values, sizeof value, MPI_BYTE,
                  MPI_COMM_WORLD);
}
