/* tensor.h - what the library itself asks of a tensor beyond plumb.h. */
#ifndef PLUMB_MODEL_TENSOR_H
#define PLUMB_MODEL_TENSOR_H

#include "plumb.h"

/* True if logical order is the order of the bytes, without holes, in this machine's byte
 * order: then element i is byte offset + i * size of the storage. */
bool plumb_tensor_is_plain(const struct plumb_tensor *tensor);
/* True if the elements follow each other without holes; the byte order may differ. */
bool plumb_tensor_is_contiguous(const struct plumb_tensor *tensor);
/* True if it is plain and all of its storage: its values in order are the bytes that a checksum
 * of the storage is of. */
bool plumb_tensor_covers_storage(const struct plumb_tensor *tensor);

/* Elements [first, first + count) in logical order, where they lie if they are plain, else
 * copied to `buffer`. Passes over whole tensors use this: pages of a mapped file that is in
 * memory cost a third of copying them. */
enum plumb_status plumb_tensor_values(const struct plumb_tensor *tensor, int64_t first,
                                      int64_t count, void *buffer, const void **values,
                                      struct plumb_error *err);

#endif
