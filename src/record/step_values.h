/*
 * step_values.h - stepNNNNNN.npz while it is written: a step's saved tensors, one by one.
 *
 * The file appears under its name when the step is over, whole or not at all.
 */
#ifndef PLUMB_RECORD_STEP_VALUES_H
#define PLUMB_RECORD_STEP_VALUES_H

#include "base/zip_writer.h"

struct plumb_step_values {
    const char *directory;       /* borrowed */
    struct plumb_output *output; /* NULL: none is open */
    struct plumb_zip_writer zip;
    int64_t step; /* of the open file */
    int64_t last; /* the last one that was finished; INT64_MIN: none */
};

void plumb_step_values_init(struct plumb_step_values *values, const char *directory);
/* Adds a tensor to its step's file; one of another step that is open is finished first. */
enum plumb_status plumb_step_values_add(struct plumb_step_values *values, int64_t step,
                                        const struct plumb_value *value,
                                        struct plumb_error *err);
enum plumb_status plumb_step_values_finish(struct plumb_step_values *values,
                                           struct plumb_error *err);
/* Leaves nothing of a file that is not finished. */
void plumb_step_values_abandon(struct plumb_step_values *values);

#endif
