/* threads.c - see threads.h. Threads live for one job: starting one costs 20 us, a job is
 * worth a millisecond or is run with threads = 1. */
#include "base/threads.h"

#include "base/error.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MOST_THREADS = 64 };

struct crew {
    const struct plumb_job *job;
    atomic_size_t next;
    atomic_bool stop;
    atomic_uint_fast64_t done;
    uint64_t total;
    pthread_mutex_t lock; /* guards the three below */
    size_t failed_task;
    enum plumb_status status;
    struct plumb_error error;
};

struct worker {
    struct crew *crew;
    int number;
    pthread_t thread;
};

static int available_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return CPU_COUNT(&set);
}

int plumb_thread_count(int wanted)
{
    const char *asked = getenv("PLUMB_THREADS");
    int count = wanted;
    if (count <= 0 && asked && *asked >= '1' && *asked <= '9') {
        count = 0;
        for (const char *c = asked; *c >= '0' && *c <= '9' && count < MOST_THREADS; c++)
            count = count * 10 + (*c - '0');
    }
    if (count <= 0)
        count = available_processors();
    return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : count;
}

static void report_failure(struct crew *crew, size_t task, enum plumb_status status,
                           const struct plumb_error *error)
{
    (void)pthread_mutex_lock(&crew->lock);
    if (crew->status == PLUMB_OK || task < crew->failed_task) {
        crew->status = status;
        crew->failed_task = task;
        crew->error = *error;
    }
    (void)pthread_mutex_unlock(&crew->lock);
    atomic_store(&crew->stop, true);
}

static void tell_progress(struct crew *crew)
{
    const struct plumb_progress *progress = crew->job->progress;
    if (!progress || !progress->update)
        return;
    if (!progress->update(progress->context, crew->job->what, atomic_load(&crew->done),
                          crew->total)) {
        struct plumb_error error;
        enum plumb_status status =
            plumb_fail(&error, PLUMB_STOPPED, -1, "stopped before the end, as asked");
        report_failure(crew, SIZE_MAX, status, &error);
    }
}

static uint64_t task_weight(const struct plumb_job *job, size_t task)
{
    return job->weight ? job->weight(job->context, task) : 1;
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct crew *crew = worker->crew;
    const struct plumb_job *job = crew->job;
    while (!atomic_load_explicit(&crew->stop, memory_order_relaxed)) {
        const size_t task = atomic_fetch_add(&crew->next, 1);
        if (task >= job->task_count)
            break;
        struct plumb_error error = {.offset = -1};
        const enum plumb_status status = job->run(job->context, task, worker->number, &error);
        if (status) {
            report_failure(crew, task, status, &error);
            break;
        }
        (void)atomic_fetch_add(&crew->done, task_weight(job, task));
        if (worker->number == 0)
            tell_progress(crew);
    }
    return NULL;
}

enum plumb_status plumb_job_run(const struct plumb_job *job, struct plumb_error *err)
{
    struct crew crew = {.job = job, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct worker workers[MOST_THREADS];
    int threads = job->threads;
    if ((size_t)threads > job->task_count)
        threads = (int)job->task_count;
    for (size_t task = 0; task < job->task_count; task++)
        crew.total += task_weight(job, task);
    int started = 1;
    workers[0] = (struct worker){.crew = &crew};
    for (; started < threads; started++) {
        workers[started] = (struct worker){.crew = &crew, .number = started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
            break;
    }
    (void)work(&workers[0]);
    for (int i = 1; i < started; i++)
        (void)pthread_join(workers[i].thread, NULL);
    (void)pthread_mutex_destroy(&crew.lock);
    if (crew.status && err)
        *err = crew.error;
    return crew.status;
}
