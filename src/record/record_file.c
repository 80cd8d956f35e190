/* record_file.c - see record_file.h. */
#include "record/record_file.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char file_name[] = "/records.plumb";

enum plumb_status plumb_record_file_open(struct plumb_record_file *file, const char *directory,
                                         struct plumb_error *err)
{
    const size_t size = strlen(directory) + sizeof file_name;
    *file = (struct plumb_record_file){.fd = -1};
    plumb_buffer_init(&file->block, (size_t)PLUMB_BLOCK_LARGEST + PLUMB_BLOCK_HEADER);
    file->path = plumb_alloc(size);
    if (!file->path)
        return plumb_fail_memory(err);
    (void)snprintf(file->path, size, "%s%s", directory, file_name);
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file->fd < 0 && errno == EEXIST)
        return plumb_fail(err, PLUMB_INVALID, -1,
                          "%s: there is a recorded run already; give another directory or "
                          "remove this one",
                          file->path);
    if (file->fd < 0)
        return plumb_fail_errno(err, "create", file->path);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)fcntl(file->fd, F_OFD_SETLK, &lock); /* without it, readers only know less */
    return PLUMB_OK;
}

static enum plumb_status write_all(struct plumb_record_file *file, struct plumb_error *err)
{
    const char *from = file->block.data;
    size_t size = file->block.size;
    while (size) {
        const ssize_t put = write(file->fd, from, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            const enum plumb_status status = plumb_fail_errno(err, "write", file->path);
            /* What was written of the block tells nobody anything. */
            if (ftruncate(file->fd, (off_t)file->end) != 0)
                return status;
            return status;
        }
        from += put;
        size -= (size_t)put;
    }
    file->end += file->block.size;
    file->number++;
    return PLUMB_OK;
}

enum plumb_status plumb_record_file_append(struct plumb_record_file *file,
                                           const struct plumb_batch *batch,
                                           struct plumb_error *err)
{
    struct timespec now;
    struct stat info;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    plumb_buffer_clear(&file->block);
    plumb_batch_write(batch, file->number, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
                      &file->block);
    if (plumb_buffer_failed(&file->block))
        return plumb_fail_memory(err);
    /* A file that was removed takes bytes and keeps none. */
    if (fstat(file->fd, &info) == 0 && info.st_nlink == 0)
        return plumb_fail(err, PLUMB_IO, -1, "%s: the file was removed while recording",
                          file->path);
    return write_all(file, err);
}

void plumb_record_file_close(struct plumb_record_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    plumb_buffer_release(&file->block);
    plumb_free(file->path);
    *file = (struct plumb_record_file){.fd = -1};
}

void plumb_signal_guard_begin(struct plumb_signal_guard *guard)
{
    sigset_t block, pending;
    (void)sigemptyset(&block);
    (void)sigaddset(&block, SIGXFSZ);
    (void)sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGXFSZ) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &block, &guard->before);
}

void plumb_signal_guard_end(const struct plumb_signal_guard *guard)
{
    sigset_t raised;
    (void)sigemptyset(&raised);
    (void)sigaddset(&raised, SIGXFSZ);
    const struct timespec at_once = {0};
    if (!guard->was_pending)
        (void)sigtimedwait(&raised, NULL, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}
