/* scan_chunks.c - see scan_chunks.h. */
#include "scan_chunks.h"

#include "base/error.h"
#include "base/memory.h"

int64_t plumb_scan_chunk(int64_t count)
{
    int64_t chunk = PLUMB_SCAN_CHUNK;
    while (chunk < count / PLUMB_SCAN_MOST_CHUNKS + 1)
        chunk *= 2;
    return chunk;
}

size_t plumb_scan_chunk_count(int64_t count)
{
    const int64_t chunk = plumb_scan_chunk(count);
    return count > chunk ? (size_t)((count - 1) / chunk + 1) : 1;
}

enum plumb_status plumb_scan_buffers_new(struct plumb_scan_buffers *buffers, int threads,
                                         int sides, struct plumb_error *err)
{
    buffers->sides = sides;
    buffers->memory = plumb_alloc((size_t)threads * (size_t)sides * (size_t)PLUMB_SCAN_BUFFER);
    return buffers->memory ? PLUMB_OK : plumb_fail_memory(err);
}

void plumb_scan_buffers_free(struct plumb_scan_buffers *buffers)
{
    plumb_free(buffers->memory);
}

void *plumb_scan_buffer(const struct plumb_scan_buffers *buffers, int worker, int side)
{
    const size_t number = (size_t)worker * (size_t)buffers->sides + (size_t)side;
    return buffers->memory + number * PLUMB_SCAN_BUFFER;
}
