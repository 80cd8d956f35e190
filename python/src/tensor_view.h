/*
 * tensor_view.h - the values of a framework's tensor as C sees them.
 *
 * A view borrows: it is good as long as the tensor lives and nobody resizes it.
 */
#ifndef PLUMB_PYTHON_TENSOR_VIEW_H
#define PLUMB_PYTHON_TENSOR_VIEW_H

#include "python.h"

#include "plumb.h"

enum plumb_view_state {
    PLUMB_VIEW_READY,
    PLUMB_VIEW_DEVICE,     /* sound, but its values are not in the host's memory */
    PLUMB_VIEW_UNREADABLE, /* sparse, quantized, fake, a type Plumb does not know, no tensor */
};

struct plumb_view {
    enum plumb_dtype dtype;
    int rank;
    int64_t shape[PLUMB_MAX_RANK];
    int64_t strides[PLUMB_MAX_RANK]; /* in elements */
    int64_t count;
    bool in_order;     /* C order without holes: `data` can be read as it is */
    const void *data;  /* NULL only if count is 0 */
    PyObject *keeping; /* what had to be made to see the values; or NULL */
};

/* Looks at `object` (torch, anything with DLPack's exchange interface, numpy). Never leaves a
 * Python exception. What was made is released by plumb_view_release(). */
enum plumb_view_state plumb_view_of(PyObject *object, struct plumb_view *view);
void plumb_view_release(struct plumb_view *view);
/* A view of memory that the caller describes. */
enum plumb_view_state plumb_view_at(struct plumb_view *view, enum plumb_dtype dtype,
                                    const void *data, int rank, const int64_t *shape,
                                    const int64_t *strides);
/* How many numbers the sequence has, at most PLUMB_MAX_RANK; -1 for what is no sequence of numbers. */
int plumb_view_numbers(PyObject *sequence, int64_t *numbers);

/* The values in C order: the tensor's own, or a copy in the calling thread's scratch memory, which
 * is good until the next call. NULL: no memory. */
const void *plumb_view_values(const struct plumb_view *view);
/* Copies the values in C order; `target` has room for them. */
void plumb_view_gather(const struct plumb_view *view, void *target);
size_t plumb_view_bytes(const struct plumb_view *view);

#endif
