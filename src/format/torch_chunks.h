/*
 * torch_chunks.h - a tensor that a distributed checkpoint keeps in several boxes.
 *
 * Boxes that are whole rows of the tensor, one after the other, become one storage of several
 * pieces without copying; anything else is put together in memory when it is first read.
 */
#ifndef PLUMB_FORMAT_TORCH_CHUNKS_H
#define PLUMB_FORMAT_TORCH_CHUNKS_H

#include "model/file.h"

struct plumb_torch_chunk {
    struct plumb_tensor tensor; /* the box's values, in a storage of the file */
    const int64_t *offsets;     /* where it lies in the whole tensor */
};

/* The whole: dtype, shape and name. All arrays live in the file's arena. */
struct plumb_torch_whole {
    const char *name;
    enum plumb_dtype dtype;
    int rank;
    const int64_t *shape;
    struct plumb_torch_chunk *chunks;
    size_t count;
    bool not_parameter;
};

/* Checks that the boxes fit and fill the whole, and adds it to the file. */
enum plumb_status plumb_torch_add_chunks(struct plumb_file *file,
                                         const struct plumb_torch_whole *whole,
                                         struct plumb_error *err);

#endif
