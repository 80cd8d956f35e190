/*
 * ranks.c - processes by fork, memory by mmap, order by a barrier in that memory.
 */
#include "ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trouble.h"

struct shared {
    pthread_barrier_t barrier;
    uint64_t gathered[LAB_MAX_RANKS];
    real values[]; /* one part a rank, then the result */
};

struct lab_group {
    int ranks;
    size_t capacity, size;
    struct shared *shared;
};

int lab_group_started(void)
{
    return 0;
}

struct lab_group *lab_group_new(int ranks, size_t capacity)
{
    struct lab_group *group = lab_allocate(1, sizeof *group);
    group->ranks = ranks;
    group->capacity = capacity;
    group->size = sizeof *group->shared + ((size_t)ranks + 1) * capacity * sizeof(real);
    group->shared =
        mmap(NULL, group->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (group->shared == MAP_FAILED)
        lab_give_up("no %zu bytes of shared memory for the ranks", group->size);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&group->shared->barrier, &attributes, (unsigned)ranks);
    pthread_barrierattr_destroy(&attributes);
    return group;
}

void lab_group_free(struct lab_group *group)
{
    if (!group)
        return;
    munmap(group->shared, group->size);
    free(group);
}

static int wait_for_all(const pid_t *children, int ranks)
{
    int result = 0;
    for (int left = ranks; left > 0; left--) {
        int status = 0;
        if (wait(&status) < 0)
            return result ? result : 2;
        bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (well || result != 0)
            continue;
        result = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
        for (int i = 0; i < ranks; i++) /* they would wait for it for ever */
            kill(children[i], SIGTERM);
    }
    return result;
}

int lab_group_run(struct lab_group *group, int (*body)(void *context, int rank), void *context)
{
    pid_t children[LAB_MAX_RANKS] = {0};
    if (group->ranks == 1)
        return body(context, 0);
    fflush(NULL);
    pid_t parent = getpid();
    for (int rank = 0; rank < group->ranks; rank++) {
        children[rank] = fork();
        if (children[rank] < 0)
            lab_give_up("cannot start rank %d: fork failed", rank);
        if (children[rank] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(2);
        int status = body(context, rank);
        fflush(NULL);
        _exit(status);
    }
    return wait_for_all(children, group->ranks);
}

static void wait_here(struct lab_group *group)
{
    pthread_barrier_wait(&group->shared->barrier);
}

void lab_all_reduce(struct lab_group *group, int rank, real *values, size_t count)
{
    if (group->ranks == 1)
        return;
    size_t ranks = (size_t)group->ranks, me = (size_t)rank;
    real *parts = group->shared->values, *result = parts + ranks * group->capacity;
    memcpy(parts + me * group->capacity, values, count * sizeof(real));
    wait_here(group);
    for (size_t i = count * me / ranks; i < count * (me + 1) / ranks; i++) {
        real sum = parts[i];
        for (size_t r = 1; r < ranks; r++)
            sum += parts[r * group->capacity + i];
        result[i] = sum;
    }
    wait_here(group);
    memcpy(values, result, count * sizeof(real));
}

void lab_all_gather(struct lab_group *group, int rank, uint64_t value, uint64_t *values)
{
    group->shared->gathered[rank] = value;
    if (group->ranks > 1)
        wait_here(group);
    memcpy(values, group->shared->gathered, (size_t)group->ranks * sizeof *values);
    if (group->ranks > 1)
        wait_here(group);
}
