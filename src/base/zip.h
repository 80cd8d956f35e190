/*
 * zip.h - the reader of a zip archive's directory. (The writer is zip_writer.h.)
 *
 * Opening reads the central directory only, so that a 100 GB checkpoint opens at once; where a
 * member's bytes begin is found from its local header when asked. Names are never used as paths.
 */
#ifndef PLUMB_BASE_ZIP_H
#define PLUMB_BASE_ZIP_H

#include "base/arena.h"
#include "base/map.h"
#include "base/table.h"

enum {
    PLUMB_ZIP_STORED = 0,
    PLUMB_ZIP_DEFLATED = 8,
    PLUMB_ZIP_MAX_ENTRIES = 4 << 20,
};

struct plumb_zip_entry {
    const char *name;
    uint16_t method;
    uint32_t crc;
    uint64_t packed_size; /* in the file */
    uint64_t size;        /* unpacked */
    uint64_t header;      /* where its local header is */
};

struct plumb_zip {
    const struct plumb_map *map;
    struct plumb_zip_entry *entries; /* in the order of the directory */
    size_t count;
    struct plumb_table names;
};

/* True if the map begins like an archive: a cheap test before opening. */
bool plumb_zip_begins(const struct plumb_map *map);
/* Entries and names are allocated in `arena`; `map` must outlive the archive. */
enum plumb_status plumb_zip_open(const struct plumb_map *map, struct plumb_arena *arena,
                                 struct plumb_zip *zip, struct plumb_error *err);
void plumb_zip_release(struct plumb_zip *zip);
/* NULL if there is none. The last of several with the same name. */
const struct plumb_zip_entry *plumb_zip_find(const struct plumb_zip *zip, const char *name);
/* Where the packed bytes begin; they are known to be all in the map. */
enum plumb_status plumb_zip_locate(const struct plumb_map *map,
                                   const struct plumb_zip_entry *entry, uint64_t *offset,
                                   struct plumb_error *err);
/* Unpacks to `memory`, which takes entry->size bytes. The crc is left to the caller. */
enum plumb_status plumb_zip_extract(const struct plumb_map *map,
                                    const struct plumb_zip_entry *entry, void *memory,
                                    struct plumb_error *err);
/* The first `size` bytes of the content, of which there are as many. */
enum plumb_status plumb_zip_peek(const struct plumb_map *map,
                                 const struct plumb_zip_entry *entry, void *memory, size_t size,
                                 struct plumb_error *err);

#endif
