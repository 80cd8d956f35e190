/*
 * item.c - the values of a tensor on their way into a file: read, converted, streamed.
 *
 * Writers never see where values come from; all memory is one block of fixed size.
 */
#include "format/format.h"

#include "base/crc32.h"
#include "base/error.h"
#include "base/memory.h"

enum { STREAM_ELEMENTS = 1 << 14 };

enum plumb_status plumb_write_item_values(const struct plumb_write_item *item, int64_t first,
                                          int64_t count, void *buffer, struct plumb_error *err)
{
    const struct plumb_tensor *source = item->source;
    if (item->dtype == source->dtype)
        return plumb_tensor_read(source, first, count, buffer, err);
    const size_t size = plumb_dtype_size(source->dtype);
    void *block = plumb_alloc_array((size_t)count, size);
    if (!block)
        return plumb_fail_memory(err);
    enum plumb_status status = plumb_tensor_read(source, first, count, block, err);
    if (status == PLUMB_OK)
        status = plumb_convert_values(source->dtype, block, item->dtype, buffer, (size_t)count,
                                      item->round, err);
    plumb_free(block);
    return status;
}

static bool go_on(const struct plumb_progress *progress, const char *name, int64_t done,
                  int64_t total)
{
    if (!progress || !progress->update)
        return true;
    return progress->update(progress->context, name, (uint64_t)done, (uint64_t)total);
}

enum plumb_status plumb_write_item_range(const struct plumb_write_item *item, int64_t first,
                                         int64_t length, struct plumb_output *output,
                                         uint32_t *crc, const struct plumb_progress *progress,
                                         struct plumb_error *err)
{
    const size_t size = plumb_dtype_size(item->dtype);
    const int64_t total = item->source->count, end = first + length;
    unsigned char *block = plumb_alloc_array(STREAM_ELEMENTS, size);
    if (!block)
        return plumb_fail_memory(err);
    enum plumb_status status = PLUMB_OK;
    for (int64_t at = first; at < end && status == PLUMB_OK; at += STREAM_ELEMENTS) {
        const int64_t count = end - at < STREAM_ELEMENTS ? end - at : STREAM_ELEMENTS;
        const size_t bytes = (size_t)count * size;
        status = plumb_write_item_values(item, at, count, block, err);
        if (status == PLUMB_OK && crc)
            *crc = plumb_crc32(*crc, block, bytes);
        if (status == PLUMB_OK)
            status = plumb_output_write(output, block, bytes, err);
        if (status == PLUMB_OK && !go_on(progress, item->name, at + count, total))
            status = plumb_fail(err, PLUMB_STOPPED, -1, "stopped before the end, as asked");
    }
    plumb_free(block);
    return status;
}

enum plumb_status plumb_write_item_stream(const struct plumb_write_item *item,
                                          struct plumb_output *output, uint32_t *crc,
                                          const struct plumb_progress *progress,
                                          struct plumb_error *err)
{
    enum plumb_status status =
        plumb_write_item_range(item, 0, item->source->count, output, crc, progress, err);
    plumb_storage_drop(item->source->storage);
    return status;
}
