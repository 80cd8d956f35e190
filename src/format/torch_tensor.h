/*
 * torch_tensor.h - the pickled calls that describe a PyTorch tensor, and its element types.
 *
 * A tensor is pickled as a call of a rebuild function whose first argument is a persistent
 * reference to a storage: ("storage", torch.FloatStorage, key, location, elements[, view]).
 */
#ifndef PLUMB_FORMAT_TORCH_TENSOR_H
#define PLUMB_FORMAT_TORCH_TENSOR_H

#include "base/pickle.h"

enum plumb_torch_found {
    PLUMB_TORCH_OTHER,  /* not a tensor */
    PLUMB_TORCH_TENSOR, /* all of it is known */
    PLUMB_TORCH_OPAQUE, /* a tensor of a kind that Plumb does not read */
};

/* The storage that a reference names. */
struct plumb_torch_reference {
    const char *key;
    const char *location; /* "cpu", "npu:0", "meta" ... */
    int64_t elements;
    int64_t view_offset; /* in elements: old files have storages that are parts of others */
    enum plumb_dtype dtype;
    bool untyped; /* elements are bytes and `dtype` means nothing */
};

struct plumb_torch_tensor {
    struct plumb_torch_reference storage;
    enum plumb_dtype dtype;
    int64_t offset; /* in elements */
    int rank;
    int64_t shape[PLUMB_MAX_RANK];
    int64_t strides[PLUMB_MAX_RANK];
    bool conjugated, negated; /* bits that are to be applied when reading */
};

/* `what` gets a few words on an opaque one. */
enum plumb_torch_found plumb_torch_tensor_parse(const struct plumb_pickle_node *node,
                                                struct plumb_torch_tensor *tensor,
                                                const char **what);
/* False: not a reference to a storage of a known type. */
bool plumb_torch_reference_parse(const struct plumb_pickle_node *node,
                                 struct plumb_torch_reference *reference);
/* "torch.float32" and the like. */
bool plumb_torch_dtype_parse(const struct plumb_pickle_node *node, enum plumb_dtype *dtype);
/* A tuple, list or torch.Size of integers. Returns how many, or -1. */
int plumb_torch_integers_parse(const struct plumb_pickle_node *node,
                               int64_t integers[PLUMB_MAX_RANK]);

/* For writing: "FloatStorage", or NULL for a type that only the newer scheme can express. */
const char *plumb_torch_storage_class(enum plumb_dtype dtype);
/* "float8_e4m3fn"; NULL if PyTorch has no such type. */
const char *plumb_torch_dtype_name(enum plumb_dtype dtype);

#endif
