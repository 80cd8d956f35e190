/* tensor.h - what the library itself asks of a tensor beyond plumb.h. */
#ifndef PLUMB_MODEL_TENSOR_H
#define PLUMB_MODEL_TENSOR_H

#include "plumb.h"

/* True if logical order is the order of the bytes, without holes, in this machine's byte
 * order: then element i is byte offset + i * size of the storage. */
bool plumb_tensor_is_plain(const struct plumb_tensor *tensor);
/* True if the elements follow each other without holes; the byte order may differ. */
bool plumb_tensor_is_contiguous(const struct plumb_tensor *tensor);

#endif
