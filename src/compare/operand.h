/*
 * operand.h - one side of a comparison, as the judges see it: values by logical index.
 *
 * A judge looks at a bounded number of elements, wherever they are stored. Complex tensors
 * appear as real ones with a last axis of two parts. Tests judge plain arrays the same way.
 */
#ifndef PLUMB_COMPARE_OPERAND_H
#define PLUMB_COMPARE_OPERAND_H

#include "plumb.h"

struct plumb_operand {
    enum plumb_dtype dtype; /* never complex */
    int rank;
    int64_t shape[PLUMB_MAX_RANK + 1];
    int64_t count;
    bool weight; /* its name says that it was trained, not computed from inputs */
    const struct plumb_tensor *tensor; /* or NULL, and then: */
    const void *array;
};

void plumb_operand_of_tensor(struct plumb_operand *operand, const struct plumb_tensor *tensor);
void plumb_operand_of_array(struct plumb_operand *operand, enum plumb_dtype dtype, int rank,
                            const int64_t *shape, const void *array);

/* Elements [first, first + count) as doubles. */
enum plumb_status plumb_operand_values(const struct plumb_operand *operand, int64_t first,
                                       int64_t count, double *values, struct plumb_error *err);
/* The bits of one element, zero-extended. */
enum plumb_status plumb_operand_bits(const struct plumb_operand *operand, int64_t index,
                                     uint64_t *bits, struct plumb_error *err);

/* How many elements one step along the axis moves in logical order. */
int64_t plumb_operand_stride(const struct plumb_operand *operand, int axis);

#endif
