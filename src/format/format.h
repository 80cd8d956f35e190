/*
 * format.h - what a file format is to Plumb: one file that ends in one of these structs, and
 * one line in formats.def.
 */
#ifndef PLUMB_FORMAT_FORMAT_H
#define PLUMB_FORMAT_FORMAT_H

#include "base/map.h"
#include "base/output.h"
#include "model/file.h"

/* How sure a probe is. The surest format reads the file; ties go to the earlier line. */
enum plumb_probe {
    PLUMB_PROBE_NO = 0,
    PLUMB_PROBE_MAYBE = 40,   /* nothing speaks against it (formats without a magic number) */
    PLUMB_PROBE_LIKELY = 70,  /* its structure fits */
    PLUMB_PROBE_CERTAIN = 100 /* a magic number, or a structure nothing else has */
};

/* One tensor to write: where its values come from and what they are to become. */
struct plumb_write_item {
    const char *name;
    enum plumb_dtype dtype;
    int rank;
    const int64_t *shape; /* its product is source->count */
    const struct plumb_tensor *source;
    enum plumb_round round; /* when dtype is not the source's */
};

struct plumb_write_request {
    const struct plumb_write_item *items;
    size_t count;
    const char *framework;                 /* whose names the items carry, "" if nobody's */
    bool bare;                             /* torch: the one tensor itself, not a dict of it */
    const struct plumb_progress *progress; /* may be NULL */
};

struct plumb_format {
    struct plumb_entry entry; /* .name .summary .detail: `plumb list`, `plumb explain` */
    const char *extensions;   /* "pt pth bin": for choosing a writer, never a reader */
    /* Looks at the content. A format for files has `probe`, one for directories the other. */
    enum plumb_probe (*probe)(const struct plumb_map *map);
    enum plumb_probe (*probe_directory)(const char *path);
    /* Adds what is in it to `file`. `map` belongs to the file already; NULL for a directory,
     * whose path is file->path. */
    enum plumb_status (*read)(struct plumb_file *file, const struct plumb_map *map,
                              struct plumb_error *err);
    /* NULL: read only. */
    enum plumb_status (*write)(const struct plumb_write_request *request,
                               struct plumb_output *output, struct plumb_error *err);
};

/* NULL past the end. */
const struct plumb_format *plumb_format_at(size_t i);
const struct plumb_format *plumb_format_named(const char *name);
/* The first writable format that lists the extension of `path`; NULL if there is none. */
const struct plumb_format *plumb_format_for_writing(const char *path);

/* The format whose probe is the surest; NULL if none knows the content. For a directory `map` is
 * NULL and `path` counts. */
const struct plumb_format *plumb_format_of(const struct plumb_map *map, const char *path);

/* Opens what `file` refers to, apart from it; a chain of such files has a limited length. */
enum plumb_status plumb_file_open_inside(const struct plumb_file *file, const char *path,
                                         struct plumb_file **inside, struct plumb_error *err);
/* Reads another file into this one, each tensor's name prefixed: shards of an index, files of a
 * directory. `only` (may be NULL) names the tensors wanted, before the prefix. */
enum plumb_status plumb_file_include(struct plumb_file *file, const char *path,
                                     const char *prefix, const struct plumb_table *only,
                                     struct plumb_error *err);
/* Moves everything in `from` into `to`, names prefixed; `from` is empty afterwards and only
 * waits to be closed. */
enum plumb_status plumb_file_absorb(struct plumb_file *to, struct plumb_file *from,
                                    const char *prefix, const struct plumb_table *only,
                                    struct plumb_error *err);
/* A file inside a file: bytes [offset, offset + size) of a map: opened apart, so that the caller may
 * look at its tensors or absorb it. The map must outlive it. */
enum plumb_status plumb_file_open_slice(const struct plumb_map *map, uint64_t offset,
                                        uint64_t size, int depth, struct plumb_file **file,
                                        struct plumb_error *err);

/* Values [first, first + count) of an item, already of the item's dtype, little endian. */
enum plumb_status plumb_write_item_values(const struct plumb_write_item *item, int64_t first,
                                          int64_t count, void *buffer, struct plumb_error *err);
/* Streams all values of an item to `output`; `crc` (may be NULL) is updated with zlib's crc32. */
enum plumb_status plumb_write_item_stream(const struct plumb_write_item *item,
                                          struct plumb_output *output, uint32_t *crc,
                                          const struct plumb_progress *progress,
                                          struct plumb_error *err);
/* The same for `length` values from `first` on; the caller drops the source's storage. */
enum plumb_status plumb_write_item_range(const struct plumb_write_item *item, int64_t first,
                                         int64_t length, struct plumb_output *output,
                                         uint32_t *crc, const struct plumb_progress *progress,
                                         struct plumb_error *err);

#endif
