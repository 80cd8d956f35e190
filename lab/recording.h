/*
 * recording.h - what the lab writes down of a run, through plumb's recorder as any user's
 * program would. All calls take NULL and then do nothing.
 */
#ifndef LAB_RECORDING_H
#define LAB_RECORDING_H

#include "dataset.h"
#include "optimizer.h"
#include "pipeline.h"
#include "plan.h"

struct lab_recording;

struct lab_recording_options {
    const char *path; /* NULL: nothing is recorded */
    enum plumb_level level;
    enum plumb_save save;
    const char *steps; /* selection, NULL: all */
};

struct lab_recording *lab_recording_open(const struct lab_recording_options *options,
                                         const struct lab_plan *plan, int rank);
/* What did not work was told on stderr in one line; the training is none the worse for it. */
void lab_recording_close(struct lab_recording *recording);

void lab_recording_step_begin(struct lab_recording *recording, int64_t step);
void lab_recording_step_end(struct lab_recording *recording);
void lab_recording_series(struct lab_recording *recording, const char *name, int64_t step,
                          double value);
/* A phase of the step that began at `begin` and ends now. */
void lab_recording_phase(struct lab_recording *recording, const char *name, int64_t begin);
void lab_recording_queues(struct lab_recording *recording, struct lab_pipeline *pipeline);
void lab_recording_batch(struct lab_recording *recording, const struct lab_net_kind *kind,
                         const struct lab_batch *batch);
void lab_recording_enter(struct lab_recording *recording, struct lab_node *node,
                         enum lab_phase phase);
void lab_recording_leave(struct lab_recording *recording, struct lab_node *node,
                         enum lab_phase phase);
/* One message of the all-reduce, which began at `begin` and ends now; what went in and came out. */
void lab_recording_reduce(struct lab_recording *recording, int message, const real *before,
                          const real *after, size_t count, int64_t begin);
void lab_recording_update(struct lab_recording *recording, struct lab_net *net,
                          const struct lab_optimizer *optimizer);
int64_t lab_recording_now(void);

#endif
