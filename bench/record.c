/*
 * record.c - what recording costs, and how fast a run opens.
 *
 *     record values DIR    tensor values written a second, through the recorder's thread
 *     record rows DIR      statistics of small tensors: calls a second
 *     record make DIR      a run of 10,000 steps x 500 tensor records
 *     record open DIR      opens it: milliseconds and peak memory
 *
 * Prints one line "what number unit" a measurement; bench/record.sh compares them with dd.
 */
#include "plumb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { STEPS = 10000, RECORDS = 500, VALUES = 4 << 20, TENSORS = 128, CALLS = 200000 };

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

static void bench_rows(const char *path)
{
    const int64_t shape[] = {64};
    float values[64] = {1, 2, 3};
    struct plumb_recorder *recorder =
        open_recorder((struct plumb_recorder_options){.wait_when_full = true}, path);
    const int64_t begin = plumb_record_now();
    for (int i = 0; i < CALLS; i++)
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, values);
    (void)printf("tensor-of-64 %.0f ns\n", seconds_since(begin) / CALLS * 1e9);
    const int64_t middle = plumb_record_now();
    for (int i = 0; i < CALLS; i++)
        plumb_record_series(recorder, "loss", i, 1.0);
    (void)printf("series %.0f ns\n", seconds_since(middle) / CALLS * 1e9);
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

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(const char *path);
    } benches[] = {{"values", bench_values},
                   {"rows", bench_rows},
                   {"make", make_long_run},
                   {"open", bench_open}};
    for (size_t i = 0; argc == 3 && i < sizeof benches / sizeof *benches; i++)
        if (strcmp(argv[1], benches[i].name) == 0) {
            benches[i].run(argv[2]);
            return 0;
        }
    (void)fprintf(stderr, "usage: record values|rows|make|open DIR\n");
    return 2;
}
