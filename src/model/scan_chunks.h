/* scan_chunks.h - how passes over tensors are cut up, and the buffers workers read into. */
#ifndef PLUMB_MODEL_SCAN_CHUNKS_H
#define PLUMB_MODEL_SCAN_CHUNKS_H

#include "plumb.h"

enum {
    PLUMB_SCAN_BUFFER = 128 << 10, /* bytes: two of them and the blocks of kernels fit in L2 */
    PLUMB_SCAN_CHUNK = 1 << 18,    /* elements, at least */
    PLUMB_SCAN_TASK = 1 << 20,     /* bytes that are worth a task */
    PLUMB_SCAN_MOST_CHUNKS = 4096, /* of one tensor */
};

/* Elements of a chunk of a tensor of `count`: a power of two, so that chunks begin at whole
 * blocks of fingerprints and block maps. */
int64_t plumb_scan_chunk(int64_t count);
size_t plumb_scan_chunk_count(int64_t count); /* at least 1 */

/* `sides` buffers for each of `threads` workers. */
struct plumb_scan_buffers {
    unsigned char *memory;
    int sides;
};
enum plumb_status plumb_scan_buffers_new(struct plumb_scan_buffers *buffers, int threads,
                                         int sides, struct plumb_error *err);
void plumb_scan_buffers_free(struct plumb_scan_buffers *buffers);
void *plumb_scan_buffer(const struct plumb_scan_buffers *buffers, int worker, int side);

#endif
