/*
 * map.h - a file to read: mapped, and also readable in blocks.
 *
 * Structure and plain data are used where they are mapped. What has to be joined or turned
 * first is copied with plumb_map_read(). A file that shrinks while it is mapped raises SIGBUS:
 * only finished files are opened this way.
 */
#ifndef PLUMB_BASE_MAP_H
#define PLUMB_BASE_MAP_H

#include "plumb.h"

struct plumb_map {
    const unsigned char *base; /* never NULL, also for an empty file */
    size_t size;
    char *path;         /* for messages and for finding neighbours */
    int fd;             /* -1: bytes in memory */
    uint64_t fd_offset; /* of base[0] in fd */
    bool owned;         /* the mapping and fd are this map's own; a slice borrows them */
};

enum plumb_status plumb_map_open(const char *path, struct plumb_map **map,
                                 struct plumb_error *err);
/* Borrowed bytes: they must outlive the map. */
enum plumb_status plumb_map_memory(const char *name, const void *bytes, size_t size,
                                   struct plumb_map **map, struct plumb_error *err);
/* A part of another map, which must outlive it. The caller has checked the range. */
enum plumb_status plumb_map_slice(const struct plumb_map *whole, size_t offset, size_t size,
                                  struct plumb_map **map, struct plumb_error *err);
void plumb_map_close(struct plumb_map *map);
/* Keeps the mapping and gives the descriptor back, so that a directory of thousands of files stays
 * below the process's limit. Slices must be told as well. */
void plumb_map_drop_descriptor(struct plumb_map *map);

/* Copies bytes that the caller knows to be inside the map. Fails if the file shrank. */
enum plumb_status plumb_map_read(const struct plumb_map *map, uint64_t offset, size_t size,
                                 void *buffer, struct plumb_error *err);

/* Memory of `size` bytes that lives in an unlinked temporary file, so that it does not count
 * as memory of the process when it is large. Given back with plumb_spill_free(). */
enum plumb_status plumb_spill_new(size_t size, void **memory, struct plumb_error *err);
void plumb_spill_free(void *memory, size_t size);

#endif
