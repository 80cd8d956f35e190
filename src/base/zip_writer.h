/*
 * zip_writer.h - writes archives of stored (not packed) members, as torch.load, numpy and
 * every unzip read them.
 *
 * A member's data may be aligned by padding its header, as torch does it, so that readers can
 * map tensors in place. Its crc is put into the header once the data has passed.
 */
#ifndef PLUMB_BASE_ZIP_WRITER_H
#define PLUMB_BASE_ZIP_WRITER_H

#include "base/buffer.h"
#include "base/output.h"

struct plumb_zip_writer {
    struct plumb_output *output;
    size_t alignment; /* of data; 1: none */
    struct plumb_buffer directory;
    uint64_t count;
    /* The member being written. */
    char *name;
    uint64_t header, begin, size;
};

void plumb_zip_writer_init(struct plumb_zip_writer *writer, struct plumb_output *output,
                           size_t alignment);
void plumb_zip_writer_release(struct plumb_zip_writer *writer);
/* Then exactly `size` bytes go to the output, then plumb_zip_writer_end() with their crc. */
enum plumb_status plumb_zip_writer_begin(struct plumb_zip_writer *writer, const char *name,
                                         uint64_t size, struct plumb_error *err);
enum plumb_status plumb_zip_writer_end(struct plumb_zip_writer *writer, uint32_t crc,
                                       struct plumb_error *err);
/* A whole member at once. */
enum plumb_status plumb_zip_writer_add(struct plumb_zip_writer *writer, const char *name,
                                       const void *bytes, size_t size, struct plumb_error *err);
/* Writes the directory. The output is still to be committed. */
enum plumb_status plumb_zip_writer_finish(struct plumb_zip_writer *writer,
                                          struct plumb_error *err);

#endif
