/*
 * op_tensor.h - a tensor as an operator sees it: borrowed, and good while the operator runs.
 */
#ifndef PLUMB_PYTHON_OP_TENSOR_H
#define PLUMB_PYTHON_OP_TENSOR_H

#include "plumb.h"

#include "tensor_view.h"
#include "torch_symbols.h"

enum plumb_op_order {
    PLUMB_ORDER_PLAIN,     /* C order without holes */
    PLUMB_ORDER_PERMUTED,  /* without holes, in another order */
    PLUMB_ORDER_SCATTERED, /* with holes, or elements that several indices share */
};

struct plumb_op_tensor {
    const unsigned char *data;
    int64_t count; /* not 0 */
    enum plumb_dtype dtype;
    enum plumb_op_order order;
    int rank;
    const int64_t *shape, *strides;
    uintptr_t storage; /* where the memory it is a part of begins */
    uintptr_t end;     /* behind its last element; never before data */
};

enum plumb_op_look {
    PLUMB_LOOK_READY,
    PLUMB_LOOK_NOTHING, /* undefined, or no elements */
    PLUMB_LOOK_FOREIGN, /* on a device, sparse, a type Plumb does not know */
    PLUMB_LOOK_WRAPPER, /* of another tensor, as a DTensor is; or fake, or its memory was given back */
    PLUMB_LOOK_FAILED, /* torch refused, which is slow */
};

/* Looks at a tensor through torch's shim. */
enum plumb_op_look plumb_op_tensor_of(const struct plumb_torch_symbols *torch,
                                      plumb_torch_tensor handle,
                                      struct plumb_op_tensor *tensor);
/* Of a view, which it borrows from; false: no elements. Its storage is taken to begin with it, which at
 * worst costs a look at values that are known. */
bool plumb_op_tensor_from_view(const struct plumb_view *view, struct plumb_op_tensor *tensor);
/* Fills `order`, `end` of a tensor whose other fields are set. */
void plumb_op_tensor_settle(struct plumb_op_tensor *tensor);
/* Of c10::ScalarType; false: not one that Plumb has. */
bool plumb_dtype_of_torch(int32_t scalar_type, enum plumb_dtype *dtype);
/* The values in C order: its own, or a copy in the calling thread's scratch memory that is good until the next
 * call. NULL: no memory. */
const void *plumb_op_tensor_values(const struct plumb_op_tensor *tensor);

#endif
