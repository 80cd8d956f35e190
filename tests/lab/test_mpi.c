/*
 * test_mpi.c - ranks that mpirun started compute and record the same bits as those the lab starts
 * itself.
 */
#define LAB_PROGRAM "/usr/bin/env"
#include "run_lab.h"

#include <ftw.h>
#include <plumb.h>

enum { RANKS = 4, MOST_RECORDS = 1 << 14 };

#define WORK "train --net gpt --steps 6 --seed 3 --dropout 0.1"

/* Without MPI there is no such program, and nothing to test. */
static void need_mpi(void)
{
    if (access("build/lab-mpi", X_OK) != 0)
        skip();
}

/* mpirun refuses root and more ranks than cores unless it is told; idle ranks give way. */
static int prepare(void **state)
{
    (void)state;
    static const char *const settings[][2] = {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"OMPI_MCA_mpi_yield_when_idle", "1"},
        {"OMPI_MCA_btl", "self,vader"},
        {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (setenv(settings[i][0], settings[i][1], 1) != 0)
            return -1;
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

struct outcome {
    char run[256], printed[256], log[256];
};

/* Runs the lab as `command`, recorded and logged. */
static struct outcome run_as(const char *command, const char *name)
{
    struct outcome outcome;
    char all[1024], file[64];
    snprintf(file, sizeof file, "%s-run", name);
    temporary(outcome.run, sizeof outcome.run, file);
    snprintf(file, sizeof file, "%s-printed", name);
    temporary(outcome.printed, sizeof outcome.printed, file);
    snprintf(file, sizeof file, "%s-log", name);
    temporary(outcome.log, sizeof outcome.log, file);
    snprintf(all, sizeof all, "%s --out %s --log %s", command, outcome.run, outcome.log);
    assert_int_equal(run_lab(outcome.printed, all), 0);
    return outcome;
}

static void forget(const struct outcome *outcome)
{
    unlink(outcome->printed);
    unlink(outcome->log);
    nftw(outcome->run, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct fingerprints {
    size_t count;
    uint64_t of[MOST_RECORDS];
};

static bool keep_fingerprint(void *context, const struct plumb_tensor_record *record)
{
    struct fingerprints *all = context;
    assert_true(all->count < MOST_RECORDS);
    all->of[all->count++] = record->fingerprint;
    return true;
}

static void read_fingerprints(const char *path, struct fingerprints *all)
{
    struct plumb_run *run = NULL;
    assert_int_equal(plumb_run_open(path, &run, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_rank_count(run), RANKS);
    assert_int_equal(plumb_run_ended(run), PLUMB_ENDED_CLOSED);
    all->count = 0;
    assert_int_equal(plumb_run_visit_records(run, NULL, keep_fingerprint, all, NULL), PLUMB_OK);
    plumb_run_close(run);
}

static void same_bits_as_with_fork(void **state)
{
    (void)state;
    static struct fingerprints forked_all, started_all;
    static struct lab_log forked_log, started_log;
    need_mpi();
    const struct outcome forked = run_as("build/lab " WORK " --ranks 4", "forked");
    const struct outcome started = run_as("mpirun -n 4 build/lab-mpi " WORK, "started");
    char *forked_text = read_text(forked.printed), *started_text = read_text(started.printed);
    assert_string_equal(started_text, forked_text);
    assert_non_null(strstr(forked_text, "step 5 loss "));
    read_log(forked.log, &forked_log);
    read_log(started.log, &started_log);
    assert_int_equal(started_log.rows, 6);
    for (int i = 0; i < started_log.rows; i++) {
        assert_string_equal(started_log.weights[i], forked_log.weights[i]);
        assert_string_equal(started_log.batch[i], forked_log.batch[i]);
        assert_true(started_log.value[REPLICAS][i] == 1);
    }
    read_fingerprints(forked.run, &forked_all);
    read_fingerprints(started.run, &started_all);
    assert_true(forked_all.count > 0);
    assert_int_equal(started_all.count, forked_all.count);
    assert_memory_equal(started_all.of, forked_all.of,
                        forked_all.count * sizeof forked_all.of[0]);
    free(forked_text);
    free(started_text);
    forget(&forked);
    forget(&started);
}

/* One rank needs no mpirun; as many as it started is the only number there is. */
static void number_of_ranks(void **state)
{
    (void)state;
    char out[256], told[256];
    need_mpi();
    temporary(out, sizeof out, "out");
    temporary(told, sizeof told, "told");
    assert_int_equal(run_lab(out, "build/lab-mpi train --net mlp --steps 2"), 0);
    char *text = read_text(out);
    assert_non_null(strstr(text, "step 1 loss "));
    free(text);
    assert_int_equal(run_lab_with(out, told, "mpirun -n 2 build/lab-mpi train --ranks 3"), 2);
    text = read_text(told);
    assert_non_null(strstr(text, "--ranks is 3, but mpirun started 2"));
    free(text);
    unlink(out);
    unlink(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_as_with_fork),
        cmocka_unit_test(number_of_ranks),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
