/* toy_run.h - a small run for tests of readers: every kind of row, known counts. */
#ifndef PLUMB_TESTS_TOY_RUN_H
#define PLUMB_TESTS_TOY_RUN_H

#include "plumb.h"

#include <stdlib.h>

enum { TOY_WIDTH = 16 };

/* One step: 2 tensor records, 3 spans, a counter, a collective, 2 series. */
static inline void toy_step(struct plumb_recorder *recorder, int64_t step)
{
    const int64_t shape[] = {4, TOY_WIDTH / 4};
    float values[TOY_WIDTH];
    for (int i = 0; i < TOY_WIDTH; i++)
        values[i] = (float)i - (float)step;
    plumb_record_step_begin(recorder, step);
    for (int call = 0; call < 2; call++) {
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "net.0", "linear",
                           PLUMB_CALL_COUNTED);
        plumb_record_called_at(recorder,
                               plumb_record_stack(recorder, "toy.c:7 linear\ntoy.c:9 main"));
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, values);
        plumb_record_leave(recorder);
    }
    plumb_record_span(recorder, "host", "forward", 10 * step, 10 * step + 5);
    plumb_record_counter(recorder, "queue", 10 * step, (double)step);
    const struct plumb_collective collective = {
        .group = "world", .name = "all_reduce", .sequence = step, .bytes = 64};
    plumb_record_collective(recorder, &collective);
    plumb_record_series(recorder, "loss", step, 1.0 / (double)(step + 1));
    plumb_record_series(recorder, "lr", step, 0.1);
    plumb_record_step_end(recorder);
}

static inline struct plumb_recorder *toy_open(const char *path,
                                              struct plumb_recorder_options options)
{
    struct plumb_recorder *recorder = NULL;
    options.path = path;
    if (plumb_recorder_open(&options, &recorder, NULL))
        return NULL;
    plumb_record_config(recorder, "lr", "0.1");
    plumb_record_config(recorder, "optimizer", "\"sgd\"");
    return recorder;
}

#endif
