/*
 * record.c - what recording costs, and how fast a run opens.
 *
 *     record values DIR    tensor values written a second, through the recorder's thread
 *     record rows DIR      processor time of an op with three tensors of 16 elements, and of a series
 *     record make DIR      a run of 10,000 steps x 500 tensor records
 *     record open DIR      opens it: milliseconds and peak memory
 *     record lab DIR       the lab's gpt, recorded and not: ratios of processor and wall time
 *
 * Prints one line "what number unit" a measurement; bench/record.sh compares them with dd.
 */
#include "plumb.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    STEPS = 10000,
    RECORDS = 500,
    VALUES = 4 << 20,
    TENSORS = 32,
    CALLS = 200000,
    OP_TENSORS = 3,
    STEP_OPS = 500,
    LAB_ROUNDS = 7,
};
#define LAB_STEPS "200"

static double seconds_since(int64_t begin)
{
    return (double)(plumb_record_now() - begin) * 1e-9;
}

static struct plumb_recorder *open_recorder(struct plumb_recorder_options options,
                                            const char *path)
{
    struct plumb_recorder *recorder = NULL;
    struct plumb_error error;
    options.path = path;
    if (plumb_recorder_open(&options, &recorder, &error)) {
        (void)fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    return recorder;
}

static void close_recorder(struct plumb_recorder *recorder)
{
    struct plumb_error error;
    if (plumb_recorder_close(recorder, NULL, &error)) {
        (void)fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
}

static void bench_values(const char *path)
{
    const int64_t shape[] = {VALUES};
    float *values = calloc(VALUES, sizeof *values);
    if (!values)
        exit(2);
    for (int i = 0; i < VALUES; i++)
        values[i] = (float)i;
    struct plumb_recorder *recorder = open_recorder(
        (struct plumb_recorder_options){
            .save = PLUMB_SAVE_TENSORS, .wait_when_full = true, .memory_limit = 256 << 20},
        path);
    const int64_t begin = plumb_record_now();
    plumb_record_step_begin(recorder, 0);
    for (int i = 0; i < TENSORS; i++) {
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "m", "op", PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, values);
        plumb_record_leave(recorder);
    }
    plumb_record_step_end(recorder);
    close_recorder(recorder);
    (void)printf("values %.2f GB/s\n",
                 (double)TENSORS * VALUES * sizeof *values / seconds_since(begin) * 1e-9);
    free(values);
}

static double thread_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What a caller does once for every op of a step; `known` NULL: the tensors change. */
static void record_op(struct plumb_recorder *recorder, struct plumb_place *place,
                      const float *values, struct plumb_known *known)
{
    static const char *const slots[OP_TENSORS] = {"input0", "param:weight", "output0"};
    const int64_t shape[] = {4, 4};
    plumb_record_enter_place(recorder, place, PLUMB_CALL_COUNTED);
    for (int i = 0; i < OP_TENSORS; i++)
        if (known)
            plumb_record_known(recorder, slots[i], PLUMB_F32, 2, shape, values, known);
        else
            plumb_record_tensor(recorder, slots[i], PLUMB_F32, 2, shape, values);
    plumb_record_leave(recorder);
}

/* Processor time of the recording thread: what the training pays. */
static void bench_rows(const char *path)
{
    const float values[16] = {1, 2, 3};
    struct plumb_known known = {.known = false};
    struct plumb_recorder *recorder =
        open_recorder((struct plumb_recorder_options){.wait_when_full = true}, path);
    struct plumb_place *place =
        plumb_record_place(recorder, PLUMB_PHASE_FORWARD, "layers.0.mlp", "linear");
    for (int round = 0; round < 2; round++) {
        const double begin = thread_seconds();
        for (int i = 0; i < CALLS; i++) {
            if (i % STEP_OPS == 0)
                plumb_record_step_begin(recorder, i / STEP_OPS);
            record_op(recorder, place, values, round ? &known : NULL);
        }
        (void)printf("%s %.0f ns\n", round ? "op-known" : "op",
                     (thread_seconds() - begin) / CALLS * 1e9);
    }
    const double begin = thread_seconds();
    for (int i = 0; i < CALLS; i++)
        plumb_record_series(recorder, "loss", i, 1.0);
    (void)printf("series %.0f ns\n", (thread_seconds() - begin) / CALLS * 1e9);
    close_recorder(recorder);
}

static void make_long_run(const char *path)
{
    const int64_t shape[] = {4};
    float values[4] = {1, 2, 3, 4};
    struct plumb_recorder *recorder =
        open_recorder((struct plumb_recorder_options){.wait_when_full = true}, path);
    for (int64_t step = 0; step < STEPS; step++) {
        plumb_record_step_begin(recorder, step);
        for (int i = 0; i < RECORDS; i++)
            plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, values);
        plumb_record_series(recorder, "loss", step, 1.0 / (double)(step + 1));
        plumb_record_step_end(recorder);
    }
    close_recorder(recorder);
}

static void bench_open(const char *path)
{
    struct plumb_run *run = NULL;
    struct plumb_error error;
    struct rusage usage;
    const int64_t begin = plumb_record_now();
    if (plumb_run_open(path, &run, &error)) {
        (void)fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    const double seconds = seconds_since(begin);
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("records %llu\nopen %.1f ms\npeak %.1f MiB\n",
                 (unsigned long long)plumb_run_rank(run, 0)->records, seconds * 1e3,
                 (double)usage.ru_maxrss / 1024);
    plumb_run_close(run);
}

/* ---- the lab, with and without ------------------------------------------------------------ */

struct cost {
    double wall, processor;
};

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* A training of the lab that runs only while it is told to. */
struct contestant {
    const char *level; /* NULL: nothing is recorded */
    pid_t child;
    bool ended;
    struct cost cost;
};

/* All on one processor: another one, with other neighbours, may be a tenth slower. */
static void stay_here(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    const int here = sched_getcpu();
    CPU_SET((size_t)(here < 0 ? 0 : here), &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

static void start_lab(struct contestant *lab, const char *path)
{
    const char *arguments[] = {"build/lab", "train",  "--net", "gpt",     "--steps",
                               LAB_STEPS,   "--seed", "1",     "--level", lab->level,
                               "--out",     path,     NULL};
    if (!lab->level)
        arguments[8] = NULL;
    lab->child = fork();
    if (lab->child != 0)
        return;
    const int nowhere = open("/dev/null", O_WRONLY);
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)raise(SIGSTOP);
    (void)execv(arguments[0], (char *const *)(uintptr_t)arguments);
    _exit(127);
}

/* Lets it go on for a slice of time, or until it ends. */
static void run_slice(struct contestant *lab)
{
    const struct timespec slice = {.tv_nsec = 25 * 1000 * 1000};
    const int64_t begin = plumb_record_now();
    int status = 0;
    struct rusage usage;
    (void)kill(lab->child, SIGCONT);
    (void)nanosleep(&slice, NULL);
    (void)kill(lab->child, SIGSTOP);
    const pid_t found = wait4(lab->child, &status, WUNTRACED, &usage);
    lab->cost.wall += seconds_since(begin);
    lab->ended = found == lab->child && WIFEXITED(status);
    if (found != lab->child || (lab->ended && WEXITSTATUS(status) != 0)) {
        (void)fprintf(stderr, "build/lab failed\n");
        exit(2);
    }
    lab->cost.processor = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

static int order_doubles(const void *one, const void *two)
{
    const double a = *(const double *)one, b = *(const double *)two;
    return a < b ? -1 : a > b;
}

static double median(double *values)
{
    qsort(values, LAB_ROUNDS, sizeof *values, order_doubles);
    return values[LAB_ROUNDS / 2];
}

/* Two trainings in turns of a fortieth of a second: whatever the machine does meanwhile it does to both,
 * where one whole run after the other differs by a tenth on a shared machine. The wall time is that of the
 * slices, and so no finer than one of them. */
static void bench_lab(const char *path)
{
    static const char *const levels[] = {"watch", "op"};
    stay_here();
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        double wall[LAB_ROUNDS], processor[LAB_ROUNDS];
        for (int round = 0; round < LAB_ROUNDS; round++) {
            struct contestant plain = {.level = NULL}, recorded = {.level = levels[i]};
            (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
            start_lab(&plain, path);
            start_lab(&recorded, path);
            while (!plain.ended || !recorded.ended) {
                if (!plain.ended)
                    run_slice(&plain);
                if (!recorded.ended)
                    run_slice(&recorded);
            }
            wall[round] = recorded.cost.wall / plain.cost.wall;
            processor[round] = recorded.cost.processor / plain.cost.processor;
        }
        (void)printf("%s-wall %.3f times\n", levels[i], median(wall));
        (void)printf("%s-processor %.3f times\n", levels[i], median(processor));
        (void)printf("%s-least %.3f times\n", levels[i], processor[0]);
        (void)printf("%s-most %.3f times\n", levels[i], processor[LAB_ROUNDS - 1]);
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(const char *path);
    } benches[] = {{"values", bench_values},
                   {"rows", bench_rows},
                   {"make", make_long_run},
                   {"open", bench_open},
                   {"lab", bench_lab}};
    for (size_t i = 0; argc == 3 && i < sizeof benches / sizeof *benches; i++)
        if (strcmp(argv[1], benches[i].name) == 0) {
            benches[i].run(argv[2]);
            return 0;
        }
    (void)fprintf(stderr, "usage: record values|rows|make|open|lab DIR\n");
    return 2;
}
