/*
 * checkpoint.c - hands the master weights to plumb's writers.
 */
#include "checkpoint.h"

#include <stdio.h>

bool lab_checkpoint_write(const char *path, const struct lab_net *net)
{
    struct plumb_value values[LAB_MAX_PARAMETERS];
    struct plumb_error error;
    for (int i = 0; i < net->parameter_count; i++) {
        const struct lab_parameter *parameter = net->parameters[i];
        values[i] = (struct plumb_value){.name = parameter->tensor.name,
                                         .dtype = LAB_REAL_DTYPE,
                                         .rank = parameter->tensor.rank,
                                         .shape = parameter->tensor.shape,
                                         .data = parameter->master};
    }
    if (!plumb_write_file(path, NULL, values, (size_t)net->parameter_count, &error))
        return true;
    fprintf(stderr, "lab: %s\n", error.message);
    return false;
}
