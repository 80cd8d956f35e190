/*
 * sample.h - the elements of a pair that the judges look at.
 *
 * A small tensor is read whole. Of a large one the blocks that differ are read, if they are
 * few; otherwise windows spread over the tensor, the blocks with most differences, and the
 * surroundings of the first and the worst element. So judging costs about the same for a
 * thousand elements as for a billion.
 */
#ifndef PLUMB_COMPARE_SAMPLE_H
#define PLUMB_COMPARE_SAMPLE_H

#include "compare/operand.h"
#include "model/scan.h"

struct plumb_sample {
    size_t count;
    int64_t *index; /* ascending */
    double *a, *b;
    bool whole; /* every element is in it */
    bool exact; /* every element that differs is in it */
};

enum plumb_status plumb_sample_read(const struct plumb_operand *a,
                                    const struct plumb_operand *b,
                                    const struct plumb_comparison *comparison,
                                    const struct plumb_block_map *map,
                                    struct plumb_sample *sample, struct plumb_error *err);
void plumb_sample_release(struct plumb_sample *sample);

#endif
