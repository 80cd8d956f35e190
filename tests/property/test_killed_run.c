/*
 * test_killed_run.c - 200 processes are killed while they record. Every run opens, says that it was
 * killed, holds whole steps in order up to some step, and its flight recorder goes further.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "property/toy_run.h"
#include "unit/scratch.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { KILLS = 200, LONGEST_US = 40000 };

static struct scratch scratch;

/* Records until it is killed; now and then it waits, so that rows are flushed by the clock. */
static void record_forever(const char *path, int kind)
{
    struct plumb_recorder *recorder =
        toy_open(path, (struct plumb_recorder_options){.no_thread = kind & 1,
                                                       .save = kind & 2 ? PLUMB_SAVE_TENSORS
                                                                        : PLUMB_SAVE_STATS});
    for (int64_t step = 0;; step++)
        toy_step(recorder, step);
}

static bool last_flight(void *context, int64_t step, int64_t time_ns, const char *what)
{
    (void)time_ns;
    (void)what;
    *(int64_t *)context = step;
    return true;
}

static bool in_order(void *context, const struct plumb_tensor_record *record)
{
    int64_t *count = context;
    if (record->step != *count / 2)
        return false;
    ++*count;
    return true;
}

static void check(const char *path)
{
    struct plumb_run *run = NULL;
    struct plumb_error error;
    if (!plumb_run_is(path))
        return; /* killed before the first file was there */
    if (plumb_run_open(path, &run, &error))
        fail_msg("%s", error.message);
    if (plumb_run_rank_count(run)) {
        const struct plumb_run_rank *rank = plumb_run_rank(run, 0);
        int64_t records = 0, flight = INT64_MAX - 1;
        assert_int_equal(rank->ended, PLUMB_ENDED_KILLED);
        assert_int_equal(plumb_run_visit_records(run, NULL, in_order, &records, &error),
                         PLUMB_OK);
        assert_int_equal((uint64_t)records, rank->records);
        const struct plumb_series *loss = plumb_run_find_series(run, "loss", -1);
        for (size_t i = 0; loss && i < loss->count; i++)
            assert_int_equal(loss->steps[i], i);
        (void)plumb_run_visit_flight(run, 0, last_flight, &flight, NULL);
        assert_true(flight + 1 >= rank->last_step);
    }
    plumb_run_close(run);
}

static void killed_at_any_moment(void **state)
{
    (void)state;
    unsigned seed = 12345;
    for (int i = 0; i < KILLS; i++) {
        char name[32], path[600];
        (void)snprintf(name, sizeof name, "run%d", i);
        (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, name));
        const pid_t child = fork();
        if (child == 0) {
            record_forever(path, i % 4);
            _exit(0);
        }
        seed = seed * 1103515245U + 12345U;
        const struct timespec moment = {
            .tv_nsec = (long)((seed >> 8) % LONGEST_US + (i % 10 ? 0 : 3 * LONGEST_US)) * 1000};
        (void)nanosleep(&moment, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        check(path);
        assert_int_equal(
            access(path, F_OK) == 0 ? nftw(path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS) : 0,
            0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_at_any_moment)};
    scratch_open(&scratch);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_close(&scratch);
    return failed;
}
