/* tensor.c - reading elements in logical order whatever the strides and byte order are. */
#include "model/tensor.h"

#include "base/error.h"
#include "model/storage.h"

#include <string.h>

bool plumb_tensor_is_contiguous(const struct plumb_tensor *tensor)
{
    int64_t step = 1;
    if (tensor->count == 0)
        return true;
    for (int i = tensor->rank; i-- > 0;) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != step)
            return false;
        step *= tensor->shape[i];
    }
    return true;
}

static bool swaps(const struct plumb_tensor *tensor)
{
    return tensor->storage->big_endian && plumb_dtype_size(tensor->dtype) > 1;
}

bool plumb_tensor_is_plain(const struct plumb_tensor *tensor)
{
    return plumb_tensor_is_contiguous(tensor) && !swaps(tensor);
}

bool plumb_tensor_covers_storage(const struct plumb_tensor *tensor)
{
    const uint64_t size = (uint64_t)tensor->count * plumb_dtype_size(tensor->dtype);
    return tensor->offset == 0 && plumb_tensor_is_plain(tensor) &&
           size == tensor->storage->size;
}

bool plumb_tensor_same_storage(const struct plumb_tensor *a, const struct plumb_tensor *b)
{
    if (a->storage != b->storage || a->offset != b->offset || a->dtype != b->dtype ||
        a->rank != b->rank || a->count == 0)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i] || a->strides[i] != b->strides[i])
            return false;
    return true;
}

static void swap_words(unsigned char *bytes, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++, bytes += size)
        for (size_t low = 0, high = size - 1; low < high; low++, high--) {
            const unsigned char byte = bytes[low];
            bytes[low] = bytes[high];
            bytes[high] = byte;
        }
}

static void swap_elements(const struct plumb_tensor *tensor, void *buffer, int64_t count)
{
    const size_t size = plumb_dtype_size(tensor->dtype);
    const size_t parts = plumb_dtype_is_complex(tensor->dtype) ? 2 : 1;
    swap_words(buffer, (size_t)count * parts, size / parts);
}

/* Copies `count` elements that lie `stride` bytes apart. One case a size, so that each copy
 * is a single move. */
static void gather(unsigned char *to, const unsigned char *from, int64_t count, int64_t stride,
                   size_t size)
{
    switch (size) {
    case 1:
        for (int64_t i = 0; i < count; i++)
            to[i] = from[i * stride];
        break;
    case 2:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + 2 * i, from + i * stride, 2);
        break;
    case 4:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + 4 * i, from + i * stride, 4);
        break;
    case 8:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + 8 * i, from + i * stride, 8);
        break;
    default:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + (int64_t)size * i, from + i * stride, size);
    }
}

/* Walks the multi-index from element `first` on, one run along the last dimension at a time. */
static void read_strided(const struct plumb_tensor *tensor, const unsigned char *base,
                         int64_t first, int64_t count, unsigned char *to)
{
    const int64_t size = (int64_t)plumb_dtype_size(tensor->dtype);
    const int last = tensor->rank - 1;
    int64_t index[PLUMB_MAX_RANK];
    int64_t position = 0; /* in elements, from the tensor's first */
    for (int i = last; i >= 0; i--) {
        index[i] = first % tensor->shape[i];
        first /= tensor->shape[i];
        position += index[i] * tensor->strides[i];
    }
    while (count > 0) {
        const int64_t left = tensor->shape[last] - index[last];
        const int64_t run = count < left ? count : left;
        gather(to, base + position * size, run, tensor->strides[last] * size, (size_t)size);
        to += run * size;
        count -= run;
        index[last] += run;
        position += run * tensor->strides[last];
        for (int i = last; i > 0 && index[i] == tensor->shape[i]; i--) {
            position += tensor->strides[i - 1] - index[i] * tensor->strides[i];
            index[i] = 0;
            index[i - 1]++;
        }
    }
}

enum plumb_status plumb_tensor_read(const struct plumb_tensor *tensor, int64_t first,
                                    int64_t count, void *buffer, struct plumb_error *err)
{
    if (first < 0 || count < 0 || first > tensor->count || count > tensor->count - first)
        return plumb_fail(
            err, PLUMB_INVALID, -1, "elements %lld to %lld were asked of '%s', which has %lld",
            (long long)first, (long long)first + count, tensor->name, (long long)tensor->count);
    if (count == 0)
        return PLUMB_OK;
    const size_t size = plumb_dtype_size(tensor->dtype);
    enum plumb_status status;
    if (plumb_tensor_is_contiguous(tensor)) {
        const uint64_t at = (uint64_t)tensor->offset + (uint64_t)first * size;
        status = plumb_storage_read(tensor->storage, at, (size_t)count * size, buffer, err);
    } else {
        const unsigned char *address = NULL;
        status = plumb_storage_address(tensor->storage, &address, err);
        if (status == PLUMB_OK)
            read_strided(tensor, address + tensor->offset, first, count, buffer);
    }
    if (status == PLUMB_OK && swaps(tensor))
        swap_elements(tensor, buffer, count);
    return status;
}

enum plumb_status plumb_tensor_values(const struct plumb_tensor *tensor, int64_t first,
                                      int64_t count, void *buffer, const void **values,
                                      struct plumb_error *err)
{
    const struct plumb_storage *storage = tensor->storage;
    if (storage->piece_count != 1 || !plumb_tensor_is_plain(tensor)) {
        *values = buffer;
        return plumb_tensor_read(tensor, first, count, buffer, err);
    }
    const unsigned char *address = NULL;
    enum plumb_status status = plumb_storage_address(storage, &address, err);
    if (status == PLUMB_OK)
        *values = address + tensor->offset + first * (int64_t)plumb_dtype_size(tensor->dtype);
    return status;
}
