/*
 * pipeline.h - the data pipeline: read, decode, augment, batch, send, each in threads of its own
 * with a bounded queue behind it. What comes out does not depend on how many threads there are.
 */
#ifndef LAB_PIPELINE_H
#define LAB_PIPELINE_H

#include "dataset.h"

struct lab_pipeline;

/* Starts at step `first_step`. */
struct lab_pipeline *lab_pipeline_start(const struct lab_plan *plan,
                                        struct lab_dataset *dataset, int rank,
                                        int64_t first_step);
/* The next step's batch, to be given back. */
struct lab_batch *lab_pipeline_next(struct lab_pipeline *pipeline);
void lab_pipeline_return(struct lab_pipeline *pipeline, struct lab_batch *batch);
void lab_pipeline_stop(struct lab_pipeline *pipeline);

/* Queues for the record, in order of flow: false past the end. */
bool lab_pipeline_queue(struct lab_pipeline *pipeline, int i, const char **name, size_t *length,
                        size_t *capacity);

#endif
