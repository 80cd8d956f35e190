/* test_threads.c - every task runs once, failures are those of the lowest task. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/threads.h"

#include <stdatomic.h>
#include <stdlib.h>

struct trial {
    atomic_int runs[1000];
    size_t fails_at;
    int worker_limit;
};

static enum plumb_status run_task(void *context, size_t task, int worker,
                                  struct plumb_error *err)
{
    struct trial *trial = context;
    (void)atomic_fetch_add(&trial->runs[task], 1);
    if (worker < 0 || worker >= trial->worker_limit)
        return plumb_fail(err, PLUMB_INVALID, -1, "worker %d", worker);
    if (task >= trial->fails_at)
        return plumb_fail(err, PLUMB_DAMAGED, -1, "task %zu", task);
    return PLUMB_OK;
}

static void every_task_runs_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        struct trial trial = {.fails_at = SIZE_MAX, .worker_limit = threads};
        const struct plumb_job job = {
            .task_count = 1000, .run = run_task, .context = &trial, .threads = threads};
        assert_int_equal(plumb_job_run(&job, NULL), PLUMB_OK);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(atomic_load(&trial.runs[i]), 1);
    }
}

static void lowest_failure_is_reported(void **state)
{
    (void)state;
    struct trial trial = {.fails_at = 500, .worker_limit = 4};
    const struct plumb_job job = {
        .task_count = 1000, .run = run_task, .context = &trial, .threads = 4};
    struct plumb_error error;
    assert_int_equal(plumb_job_run(&job, &error), PLUMB_DAMAGED);
    assert_string_equal(error.message, "task 500");
}

static bool stop_at_once(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    assert_string_equal(what, "work");
    assert_true(done <= total);
    return false;
}

static void progress_can_stop(void **state)
{
    (void)state;
    struct trial trial = {.fails_at = SIZE_MAX, .worker_limit = 1};
    const struct plumb_progress progress = {.update = stop_at_once};
    const struct plumb_job job = {.task_count = 1000,
                                  .run = run_task,
                                  .context = &trial,
                                  .threads = 1,
                                  .what = "work",
                                  .progress = &progress};
    struct plumb_error error;
    assert_int_equal(plumb_job_run(&job, &error), PLUMB_STOPPED);
    assert_int_equal(atomic_load(&trial.runs[999]), 0);
}

static void thread_count_follows_wish_and_environment(void **state)
{
    (void)state;
    (void)unsetenv("PLUMB_THREADS");
    assert_int_equal(plumb_thread_count(3), 3);
    assert_int_equal(plumb_thread_count(1000), 64);
    assert_true(plumb_thread_count(0) >= 1);
    (void)setenv("PLUMB_THREADS", "7", 1);
    assert_int_equal(plumb_thread_count(0), 7);
    assert_int_equal(plumb_thread_count(2), 2);
    (void)setenv("PLUMB_THREADS", "many", 1);
    assert_true(plumb_thread_count(0) >= 1);
    (void)unsetenv("PLUMB_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(lowest_failure_is_reported),
        cmocka_unit_test(progress_can_stop),
        cmocka_unit_test(thread_count_follows_wish_and_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
