/* output.c - write beside, then rename; see output.h. */
#include "base/output.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUTPUT_BUFFER = 1 << 18, MOST_NAMES = 10000 };

struct plumb_output {
    char *path;
    char *beside;
    int fd;
    bool committed;
    uint64_t flushed;
    size_t pending;
    unsigned char buffer[OUTPUT_BUFFER];
};

static enum plumb_status write_at(struct plumb_output *output, uint64_t offset,
                                  const void *bytes, size_t size, struct plumb_error *err)
{
    const char *from = bytes;
    while (size) {
        const ssize_t put = pwrite(output->fd, from, size, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return plumb_fail_errno(err, "write", output->path);
        from += put;
        offset += (uint64_t)put;
        size -= (size_t)put;
    }
    return PLUMB_OK;
}

static enum plumb_status flush(struct plumb_output *output, struct plumb_error *err)
{
    enum plumb_status status =
        write_at(output, output->flushed, output->buffer, output->pending, err);
    if (status)
        return status;
    output->flushed += output->pending;
    output->pending = 0;
    return PLUMB_OK;
}

static enum plumb_status open_beside(struct plumb_output *output, struct plumb_error *err)
{
    struct stat info;
    if (stat(output->path, &info) == 0 && S_ISDIR(info.st_mode))
        return plumb_fail(err, PLUMB_INVALID, -1,
                          "%s: is a directory; give the name of the file to write",
                          output->path);
    /* Not mkstemp: its 0600 would have to become what the umask says, and reading the umask
     * changes it for a moment, for all threads of a process we are a guest in. */
    const size_t size = strlen(output->path) + 40;
    output->beside = plumb_alloc(size);
    if (!output->beside)
        return plumb_fail_memory(err);
    for (unsigned n = 0; n < MOST_NAMES && output->fd < 0; n++) {
        (void)snprintf(output->beside, size, "%s.tmp-%ld-%u", output->path, (long)getpid(), n);
        output->fd = open(output->beside, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
        if (output->fd < 0 && errno != EEXIST)
            break;
    }
    if (output->fd >= 0)
        return PLUMB_OK;
    plumb_free(output->beside);
    output->beside = NULL;
    return plumb_fail_errno(err, "create", output->path);
}

enum plumb_status plumb_output_open(const char *path, struct plumb_output **out,
                                    struct plumb_error *err)
{
    struct plumb_output *output = plumb_alloc_array(1, sizeof *output);
    if (!output)
        return plumb_fail_memory(err);
    output->fd = -1;
    output->path = plumb_copy_string(path);
    enum plumb_status status = output->path ? open_beside(output, err) : plumb_fail_memory(err);
    if (status) {
        plumb_output_close(output);
        return status;
    }
    *out = output;
    return PLUMB_OK;
}

enum plumb_status plumb_output_write(struct plumb_output *output, const void *bytes,
                                     size_t size, struct plumb_error *err)
{
    if (size > OUTPUT_BUFFER - output->pending) {
        enum plumb_status status = flush(output, err);
        if (status)
            return status;
    }
    if (size > OUTPUT_BUFFER) {
        enum plumb_status status = write_at(output, output->flushed, bytes, size, err);
        if (status == PLUMB_OK)
            output->flushed += size;
        return status;
    }
    if (size)
        memcpy(output->buffer + output->pending, bytes, size);
    output->pending += size;
    return PLUMB_OK;
}

enum plumb_status plumb_output_fill(struct plumb_output *output, char byte, size_t count,
                                    struct plumb_error *err)
{
    char block[256];
    memset(block, byte, sizeof block);
    enum plumb_status status = PLUMB_OK;
    while (count && status == PLUMB_OK) {
        const size_t part = count < sizeof block ? count : sizeof block;
        status = plumb_output_write(output, block, part, err);
        count -= part;
    }
    return status;
}

enum plumb_status plumb_output_patch(struct plumb_output *output, uint64_t offset,
                                     const void *bytes, size_t size, struct plumb_error *err)
{
    enum plumb_status status = flush(output, err);
    return status ? status : write_at(output, offset, bytes, size, err);
}

uint64_t plumb_output_size(const struct plumb_output *output)
{
    return output->flushed + output->pending;
}

const char *plumb_output_path(const struct plumb_output *output)
{
    return output->path;
}

const char *plumb_output_beside(const struct plumb_output *output)
{
    return output->beside;
}

enum plumb_status plumb_output_publish(struct plumb_output *output, struct plumb_error *err)
{
    enum plumb_status status = flush(output, err);
    if (status)
        return status;
    if (rename(output->beside, output->path) != 0)
        return plumb_fail_errno(err, "rename the finished file to", output->path);
    output->committed = true;
    return PLUMB_OK;
}

enum plumb_status plumb_output_commit(struct plumb_output *output, struct plumb_error *err)
{
    enum plumb_status status = flush(output, err);
    if (status)
        return status;
    if (fsync(output->fd) != 0 && errno != EINVAL)
        return plumb_fail_errno(err, "write", output->path);
    return plumb_output_publish(output, err);
}

void plumb_output_close(struct plumb_output *output)
{
    if (!output)
        return;
    if (output->fd >= 0)
        (void)close(output->fd);
    if (output->beside && !output->committed)
        (void)unlink(output->beside);
    plumb_free(output->beside);
    plumb_free(output->path);
    plumb_free(output);
}
