/*
 * gather.c - values that do not lie in C order, brought into it.
 *
 * Fingerprints and saved files are in logical order, and a transposed or expanded tensor is not.
 */
#include "tensor_view.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local void *scratch;
static _Thread_local size_t scratch_size;

/* `count` elements of `size` bytes that lie `stride` bytes apart. */
static void copy_line(char *target, const char *source, int64_t count, int64_t stride,
                      size_t size)
{
    if (stride == (int64_t)size) {
        memcpy(target, source, (size_t)count * size);
        return;
    }
    switch (size) {
    case 4:
        for (int64_t i = 0; i < count; i++)
            memcpy(target + i * 4, source + i * stride, 4);
        return;
    case 2:
        for (int64_t i = 0; i < count; i++)
            memcpy(target + i * 2, source + i * stride, 2);
        return;
    case 8:
        for (int64_t i = 0; i < count; i++)
            memcpy(target + i * 8, source + i * stride, 8);
        return;
    default:
        for (int64_t i = 0; i < count; i++)
            memcpy(target + i * (int64_t)size, source + i * stride, size);
    }
}

/* Dimensions that lie behind one another become one, so that lines are long. Returns how many are
 * left; a dimension of 1 is none. */
static int fold(const struct plumb_view *view, int64_t *shape, int64_t *strides)
{
    int rank = 0;
    for (int i = 0; i < view->rank; i++) {
        if (view->shape[i] == 1)
            continue;
        if (rank && strides[rank - 1] == view->strides[i] * view->shape[i]) {
            shape[rank - 1] *= view->shape[i];
            strides[rank - 1] = view->strides[i];
        } else {
            shape[rank] = view->shape[i];
            strides[rank++] = view->strides[i];
        }
    }
    return rank;
}

void plumb_view_gather(const struct plumb_view *view, void *target)
{
    const size_t size = plumb_dtype_size(view->dtype);
    int64_t shape[PLUMB_MAX_RANK], strides[PLUMB_MAX_RANK], index[PLUMB_MAX_RANK] = {0};
    const int rank = fold(view, shape, strides);
    if (!view->count)
        return;
    if (view->in_order || rank == 0) {
        memcpy(target, view->data, (size_t)view->count * size);
        return;
    }
    const int64_t line = shape[rank - 1], stride = strides[rank - 1] * (int64_t)size;
    const char *source = view->data;
    char *out = target;
    for (int64_t done = 0; done < view->count; done += line) {
        copy_line(out, source, line, stride, size);
        out += (size_t)line * size;
        for (int i = rank - 2; i >= 0; i--) {
            source += strides[i] * (int64_t)size;
            if (++index[i] < shape[i])
                break;
            source -= shape[i] * strides[i] * (int64_t)size;
            index[i] = 0;
        }
    }
}

const void *plumb_view_values(const struct plumb_view *view)
{
    const size_t bytes = plumb_view_bytes(view);
    if (view->in_order)
        return view->data;
    if (bytes > scratch_size) {
        void *larger = realloc(scratch, bytes);
        if (!larger)
            return NULL;
        scratch = larger;
        scratch_size = bytes;
    }
    plumb_view_gather(view, scratch);
    return scratch;
}
