/* threads.h - numbered tasks spread over some threads, with progress told by the caller's. */
#ifndef PLUMB_BASE_THREADS_H
#define PLUMB_BASE_THREADS_H

#include "plumb.h"

struct plumb_job {
    size_t task_count;
    /* Runs task `task` on worker `worker` (0 <= worker < threads). A failure stops the job. */
    enum plumb_status (*run)(void *context, size_t task, int worker, struct plumb_error *err);
    void *context;
    /* What a task counts in the progress; NULL: one each. */
    uint64_t (*weight)(void *context, size_t task);
    const char *what;
    const struct plumb_progress *progress; /* may be NULL */
    int threads;                           /* from plumb_thread_count() */
};

/* How many threads to use when asked for `wanted` (0: one per processor this process may run
 * on, PLUMB_THREADS overrides), at most 64. */
int plumb_thread_count(int wanted);

/* Tasks start in order. Returns the failure of the lowest-numbered task that failed. The
 * calling thread works as worker 0. If threads cannot be made, fewer do the work. */
enum plumb_status plumb_job_run(const struct plumb_job *job, struct plumb_error *err);

#endif
