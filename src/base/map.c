/* map.c - mapping files and temporary spill space; see map.h. */
#include "base/map.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char nothing[1];

static struct plumb_map *new_map(const char *path)
{
    struct plumb_map *map = plumb_alloc_array(1, sizeof *map);
    if (!map)
        return NULL;
    map->fd = -1;
    map->base = nothing;
    map->path = plumb_copy_string(path);
    if (!map->path) {
        plumb_free(map);
        return NULL;
    }
    return map;
}

static enum plumb_status map_descriptor(struct plumb_map *map, struct plumb_error *err)
{
    struct stat info;
    if (fstat(map->fd, &info) != 0)
        return plumb_fail_errno(err, "examine", map->path);
    if (!S_ISREG(info.st_mode))
        return plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                          "%s: neither a file nor a directory; give the path of a tensor file",
                          map->path);
    map->size = (size_t)info.st_size;
    if (map->size == 0)
        return PLUMB_OK;
    void *base = mmap(NULL, map->size, PROT_READ, MAP_SHARED, map->fd, 0);
    if (base == MAP_FAILED)
        return plumb_fail_errno(err, "map", map->path);
    map->base = base;
    return PLUMB_OK;
}

enum plumb_status plumb_map_open(const char *path, struct plumb_map **out,
                                 struct plumb_error *err)
{
    struct plumb_map *map = new_map(path);
    if (!map)
        return plumb_fail_memory(err);
    /* Without O_NONBLOCK a named pipe would hang here for ever. */
    map->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    map->owned = true;
    enum plumb_status status =
        map->fd < 0 ? plumb_fail_errno(err, "open", path) : map_descriptor(map, err);
    if (status) {
        plumb_map_close(map);
        return status;
    }
    *out = map;
    return PLUMB_OK;
}

enum plumb_status plumb_map_memory(const char *name, const void *bytes, size_t size,
                                   struct plumb_map **out, struct plumb_error *err)
{
    struct plumb_map *map = new_map(name);
    if (!map)
        return plumb_fail_memory(err);
    if (size)
        map->base = bytes;
    map->size = size;
    *out = map;
    return PLUMB_OK;
}

enum plumb_status plumb_map_slice(const struct plumb_map *whole, size_t offset, size_t size,
                                  struct plumb_map **out, struct plumb_error *err)
{
    struct plumb_map *map = NULL;
    enum plumb_status status =
        plumb_map_memory(whole->path, whole->base + offset, size, &map, err);
    if (status)
        return status;
    map->fd = whole->fd;
    map->fd_offset = whole->fd_offset + offset;
    *out = map;
    return PLUMB_OK;
}

void plumb_map_close(struct plumb_map *map)
{
    if (!map)
        return;
    if (map->owned && map->base != nothing)
        (void)munmap((void *)(uintptr_t)map->base, map->size);
    if (map->owned && map->fd >= 0)
        (void)close(map->fd);
    plumb_free(map->path);
    plumb_free(map);
}

void plumb_map_drop_descriptor(struct plumb_map *map)
{
    if (map->owned && map->fd >= 0)
        (void)close(map->fd);
    map->fd = -1;
}

enum plumb_status plumb_map_read(const struct plumb_map *map, uint64_t offset, size_t size,
                                 void *buffer, struct plumb_error *err)
{
    char *to = buffer;
    if (map->fd < 0) {
        if (size)
            memcpy(to, map->base + offset, size);
        return PLUMB_OK;
    }
    while (size) {
        const ssize_t got = pread(map->fd, to, size, (off_t)(map->fd_offset + offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return plumb_fail_errno(err, "read", map->path);
        if (got == 0)
            return plumb_fail(
                err, PLUMB_IO, (int64_t)offset,
                "%s: the file became shorter while it was read; is it still being "
                "written? Try again when it is finished",
                map->path);
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return PLUMB_OK;
}

enum plumb_status plumb_spill_new(size_t size, void **memory, struct plumb_error *err)
{
    const char *directory = getenv("TMPDIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/plumb-XXXXXX",
                   directory && *directory ? directory : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0)
        return plumb_fail_errno(err, "make a temporary file (set TMPDIR to a writable place)",
                                path);
    (void)unlink(path);
    /* posix_fallocate, not ftruncate: a full disk is an error here, a SIGBUS later. */
    const int full = posix_fallocate(fd, 0, (off_t)(size ? size : 1));
    void *base = MAP_FAILED;
    if (full == 0)
        base = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    else
        errno = full;
    enum plumb_status status = PLUMB_OK;
    if (base == MAP_FAILED)
        status = plumb_fail_errno(
            err, "unpack into a temporary file (set TMPDIR to a larger disk)", path);
    else
        *memory = base;
    (void)close(fd);
    return status;
}

void plumb_spill_free(void *memory, size_t size)
{
    if (memory)
        (void)munmap(memory, size ? size : 1);
}
