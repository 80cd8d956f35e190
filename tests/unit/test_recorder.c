/* test_recorder.c - what is recorded is in the file; trouble ends the capture and nothing else. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/record_walk.h"
#include "unit/scratch_group.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { STEPS = 40, WIDTH = 64 };

static struct plumb_recorder *open_at(const char *name, struct plumb_recorder_options options)
{
    struct plumb_recorder *recorder = NULL;
    struct plumb_error error;
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", scratch.root, name);
    options.path = path;
    if (plumb_recorder_open(&options, &recorder, &error))
        fail_msg("%s", error.message);
    return recorder;
}

static void record_step(struct plumb_recorder *recorder, int64_t step)
{
    static const int64_t shape[] = {8, WIDTH / 8};
    float values[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        values[i] = (float)i + (float)step;
    plumb_record_step_begin(recorder, step);
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "layers.0", "linear", PLUMB_CALL_COUNTED);
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
    plumb_record_leave(recorder);
    plumb_record_span(recorder, "host", "forward", 1, 2);
    plumb_record_counter(recorder, "queue", 1, 3);
    plumb_record_collective(
        recorder,
        &(struct plumb_collective){.group = "world", .name = "all_reduce", .sequence = step});
    plumb_record_series(recorder, "loss", step, 1.0 / (double)(step + 1));
    plumb_record_step_end(recorder);
}

static struct record_walk walk_of(const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s/rank0000/records.plumb", scratch.root, name);
    return record_walk(path);
}

static void everything_arrives(void **state)
{
    (void)state;
    for (int no_thread = 0; no_thread < 2; no_thread++) {
        const char *name = no_thread ? "plain" : "threaded";
        struct plumb_recorder *recorder =
            open_at(name, (struct plumb_recorder_options){.no_thread = no_thread});
        plumb_record_config(recorder, "lr", "0.1");
        for (int64_t step = 0; step < STEPS; step++)
            record_step(recorder, step);
        assert_null(plumb_recorder_message(recorder));
        assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
        const struct record_walk walk = walk_of(name);
        assert_null(walk.problem);
        assert_int_equal(walk.left_over, 0);
        assert_int_equal(walk.rows[PLUMB_BLOCK_CONFIG], 1);
        assert_int_equal(walk.rows[PLUMB_BLOCK_STEPS], STEPS);
        assert_int_equal(walk.rows[PLUMB_BLOCK_SERIES], STEPS);
        assert_int_equal(walk.rows[PLUMB_BLOCK_TENSORS], STEPS);
        assert_int_equal(walk.rows[PLUMB_BLOCK_SPANS], 2 * STEPS);
        assert_int_equal(walk.rows[PLUMB_BLOCK_COUNTERS], STEPS);
        assert_int_equal(walk.rows[PLUMB_BLOCK_COLLECTIVES], STEPS);
        assert_true(walk.rows[PLUMB_BLOCK_END] > 0);
    }
}

static void nothing_on_other_steps_and_ranks(void **state)
{
    (void)state;
    struct plumb_recorder *recorder =
        open_at("steps", (struct plumb_recorder_options){.steps = "3-4,10-:10"});
    for (int64_t step = 0; step < STEPS; step++)
        record_step(recorder, step);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    const struct record_walk walk = walk_of("steps");
    assert_int_equal(walk.rows[PLUMB_BLOCK_TENSORS], 2 + 3);
    assert_int_equal(walk.rows[PLUMB_BLOCK_SPANS], 2 * (2 + 3));
    assert_int_equal(walk.rows[PLUMB_BLOCK_SERIES], STEPS);
    recorder = open_at("ranks", (struct plumb_recorder_options){.ranks = "1-"});
    record_step(recorder, 0);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    assert_int_equal(access(scratch_path(&scratch, "ranks"), F_OK), -1);
    recorder = open_at("watch", (struct plumb_recorder_options){.level = PLUMB_LEVEL_WATCH});
    record_step(recorder, 0);
    assert_false(plumb_record_wants_tensors(recorder));
    const float weights[2] = {1, 2};
    plumb_record_fingerprint(recorder, "param", PLUMB_F32, 1, (const int64_t[]){2}, weights);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    assert_int_equal(walk_of("watch").rows[PLUMB_BLOCK_TENSORS], 1); /* that alone */
    assert_int_equal(walk_of("watch").rows[PLUMB_BLOCK_SPANS], 1);
}

static void values_are_numpy_files(void **state)
{
    (void)state;
    for (int no_thread = 0; no_thread < 2; no_thread++) {
        const char *name = no_thread ? "values-plain" : "values";
        struct plumb_recorder *recorder =
            open_at(name, (struct plumb_recorder_options){.save = PLUMB_SAVE_TENSORS,
                                                          .no_thread = no_thread});
        record_step(recorder, 6);
        record_step(recorder, 7);
        assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
        char path[600];
        (void)snprintf(path, sizeof path, "%s/%s/rank0000/step000007.npz", scratch.root, name);
        struct plumb_file *file = NULL;
        float values[WIDTH];
        assert_int_equal(plumb_file_open(path, NULL, &file, NULL), PLUMB_OK);
        const struct plumb_tensor *tensor =
            plumb_file_find(file, "layers.0.linear/forward/output0");
        assert_non_null(tensor);
        assert_int_equal(plumb_tensor_read(tensor, 0, WIDTH, values, NULL), PLUMB_OK);
        assert_true(values[0] == 7.0F && values[63] == 70.0F);
        plumb_file_close(file);
    }
}

static void refusals_are_sentences(void **state)
{
    (void)state;
    struct plumb_recorder *recorder = NULL;
    struct plumb_error error;
    const struct plumb_recorder_options bad[] = {
        {.path = NULL},
        {.path = "/proc/nothing/here"},
        {.path = scratch.root, .rank = 3, .world_size = 2},
        {.path = scratch.root, .steps = "3-1"},
        {.path = scratch.root, .steps = "x"},
        {.path = scratch.root, .ranks = "1,"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error.message[0] = '\0';
        assert_true(plumb_recorder_open(&bad[i], &recorder, &error) != PLUMB_OK);
        assert_null(recorder);
        assert_true(error.message[0] != '\0');
    }
    recorder = open_at("twice", (struct plumb_recorder_options){0});
    struct plumb_recorder *second = NULL;
    const struct plumb_recorder_options again = {.path = scratch_path(&scratch, "twice")};
    assert_int_equal(plumb_recorder_open(&again, &second, &error), PLUMB_INVALID);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    record_step(NULL, 1); /* a recorder that is none takes every call */
    assert_int_equal(plumb_recorder_close(NULL, NULL, NULL), PLUMB_OK);
}

/* The file-size limit of a child is below what it records; it must not die of SIGXFSZ. */
static int record_with_small_files(bool no_thread, enum plumb_save save)
{
    const struct rlimit limit = {500 << 10, 500 << 10};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 10;
    (void)signal(SIGXFSZ, SIG_DFL);
    struct plumb_recorder *recorder = NULL;
    struct plumb_error error = {0};
    const struct plumb_recorder_options options = {
        .path = scratch_path(&scratch, "limit"), .no_thread = no_thread, .save = save};
    if (plumb_recorder_open(&options, &recorder, &error))
        return 11;
    for (int64_t step = 0; step < 5000; step++)
        record_step(recorder, step);
    if (plumb_recorder_close(recorder, NULL, &error) != PLUMB_IO)
        return 12;
    return strstr(error.message, "File too large") && !strchr(error.message, '\n') ? 0 : 13;
}

static void file_size_limit_ends_the_capture_only(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(record_with_small_files(i, PLUMB_SAVE_STATS));
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        const struct record_walk walk = walk_of("limit");
        assert_null(walk.problem);
        assert_int_equal(walk.left_over, 0);
        assert_true(walk.rows[PLUMB_BLOCK_SERIES] > 0);
        assert_int_equal(
            nftw(scratch_path(&scratch, "limit"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    }
}

static void removed_directory_is_told(void **state)
{
    (void)state;
    struct plumb_error error;
    struct plumb_recorder *recorder =
        open_at("gone", (struct plumb_recorder_options){.no_thread = true});
    record_step(recorder, 0);
    assert_int_equal(
        nftw(scratch_path(&scratch, "gone"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    for (int64_t step = 1; step < 2000; step++)
        record_step(recorder, step);
    assert_non_null(plumb_recorder_message(recorder));
    assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_IO);
    assert_non_null(strstr(error.message, "removed"));
}

static void child_of_fork_is_harmless(void **state)
{
    (void)state;
    for (int closes = 0; closes < 2; closes++) {
        const char *name = closes ? "fork-close" : "fork";
        struct plumb_recorder *recorder =
            open_at(name, (struct plumb_recorder_options){.save = PLUMB_SAVE_TENSORS});
        record_step(recorder, 0);
        plumb_record_step_begin(recorder, 1);
        const pid_t child = fork();
        if (child == 0) {
            if (plumb_record_wants_tensors(recorder))
                _exit(1);
            for (int64_t step = 100; step < 200; step++)
                record_step(recorder, step);
            if (closes)
                (void)plumb_recorder_close(recorder, NULL, NULL);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        record_step(recorder, 1);
        assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
        const struct record_walk walk = walk_of(name);
        assert_null(walk.problem);
        assert_int_equal(walk.rows[PLUMB_BLOCK_TENSORS], 2);
        assert_int_equal(walk.rows[PLUMB_BLOCK_SERIES], 2);
    }
}

enum { THREADS = 4, EACH = 500 };

static void *record_many(void *argument)
{
    struct plumb_recorder *recorder = argument;
    const int64_t shape[] = {WIDTH};
    float values[WIDTH] = {1};
    for (int i = 0; i < EACH; i++) {
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "m", "op", PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, values);
        plumb_record_leave(recorder);
        plumb_record_series(recorder, "s", i, 1);
    }
    return NULL;
}

static void threads_record_at_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct plumb_recorder *recorder = open_at("threads", (struct plumb_recorder_options){0});
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_many, recorder), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    const struct record_walk walk = walk_of("threads");
    assert_null(walk.problem);
    assert_int_equal(walk.rows[PLUMB_BLOCK_TENSORS], THREADS * EACH);
    assert_int_equal(walk.rows[PLUMB_BLOCK_SERIES], THREADS * EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives),
        cmocka_unit_test(nothing_on_other_steps_and_ranks),
        cmocka_unit_test(values_are_numpy_files),
        cmocka_unit_test(refusals_are_sentences),
        cmocka_unit_test(file_size_limit_ends_the_capture_only),
        cmocka_unit_test(removed_directory_is_told),
        cmocka_unit_test(child_of_fork_is_harmless),
        cmocka_unit_test(threads_record_at_once),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
