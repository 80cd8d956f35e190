/* record_loop.c - a toy training loop that records itself; `plumb show RUN` reads it. */
#include "plumb.h"

#include <stdio.h>

enum { WEIGHTS = 8, STEPS = 50 };

int main(int argc, char **argv)
{
    const int64_t shape[1] = {WEIGHTS};
    float w[WEIGHTS] = {0}, grad[WEIGHTS];
    struct plumb_error error;
    struct plumb_recorder *run = NULL;
    const struct plumb_recorder_options options = {
        .path = argc > 1 ? argv[1] : "runs/toy", .framework = "none", .command_line = argv[0]};
    if (plumb_recorder_open(&options, &run,
                            &error)) /* the loop works without a recorder, too */
        (void)fprintf(stderr, "%s\n", error.message);
    plumb_record_config(run, "lr", "0.1");
    for (int64_t step = 0; step < STEPS; step++) {
        double loss = 0;
        plumb_record_step_begin(run, step);
        plumb_record_enter(run, PLUMB_PHASE_BACKWARD, "toy", "square", PLUMB_CALL_COUNTED);
        for (int i = 0; i < WEIGHTS; i++) { /* the loss is the distance from 1, 2, 3, ... */
            grad[i] = w[i] - (float)(i + 1);
            loss += 0.5 * (double)(grad[i] * grad[i]);
        }
        plumb_record_tensor(run, "input0", PLUMB_F32, 1, shape, w);
        plumb_record_tensor(run, "grad:w", PLUMB_F32, 1, shape, grad);
        plumb_record_leave(run);
        for (int i = 0; i < WEIGHTS; i++)
            w[i] -= 0.1F * grad[i];
        plumb_record_series(run, "loss", step, loss);
        plumb_record_step_end(run);
    }
    if (plumb_recorder_close(run, NULL, &error))
        (void)fprintf(stderr, "%s\n", error.message);
    return 0;
}
