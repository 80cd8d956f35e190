/*
 * record_format.h - what a format of records (not of tensors) is to Plumb: dumps of other tools,
 * logs and tables of losses. One file that ends in one of these structs, and one line in
 * record_formats.def.
 */
#ifndef PLUMB_FORMAT_RECORD_FORMAT_H
#define PLUMB_FORMAT_RECORD_FORMAT_H

#include "base/arena.h"
#include "format/format.h"
#include "model/record_feed.h"

/* What is read in one go: a step of a rank, or a file. */
struct plumb_record_part {
    const char *path;
    int rank;
    bool has_step; /* everything in it is of `step` */
    int64_t step;
    bool has_values; /* open_values() has something to open */
};

enum { PLUMB_RECORD_MOST_PARTS = 4 << 20 };

struct plumb_record_parts {
    struct plumb_arena arena;
    struct plumb_record_part *items;
    size_t count, capacity;
    const char **warnings; /* what was found on the way */
    size_t warning_count, warning_capacity;
};

struct plumb_record_format {
    struct plumb_entry entry;
    const char *framework; /* "" if the content says, or nobody */
    /* One for files, the other for directories; the surest reads, ties go to the earlier line. */
    enum plumb_probe (*probe)(const struct plumb_map *map);
    enum plumb_probe (*probe_directory)(const char *path);
    /* Adds the parts of `path`, in the order they are to be read. NULL: the file is one. */
    enum plumb_status (*find)(struct plumb_record_parts *parts, const char *path,
                              struct plumb_error *err);
    enum plumb_status (*read)(const struct plumb_record_part *part,
                              const struct plumb_record_feed *feed, struct plumb_error *err);
    /* The saved tensors of a part, by the names the records have. NULL: there never are any. */
    enum plumb_status (*open_values)(const struct plumb_record_part *part,
                                     struct plumb_file **file, struct plumb_error *err);
};

/* NULL past the end. */
const struct plumb_record_format *plumb_record_format_at(size_t i);
/* The surest for what is at `path`, and how sure that is; NULL if there is none. */
const struct plumb_record_format *plumb_record_format_of(const char *path,
                                                         enum plumb_probe *sure);

enum plumb_status plumb_record_parts_add(struct plumb_record_parts *parts,
                                         const struct plumb_record_part *part,
                                         struct plumb_error *err);
enum plumb_status plumb_record_parts_warn(struct plumb_record_parts *parts,
                                          struct plumb_error *err, const char *format, ...)
    PLUMB_PRINTF(3, 4);
void plumb_record_parts_release(struct plumb_record_parts *parts);

/* Reads a file that has nothing but series and settings: maps it and hands it to `body`. Does nothing
 * if the feed wants no series. */
typedef enum plumb_status plumb_series_body(const void *context,
                                            const struct plumb_record_part *part,
                                            const struct plumb_map *map,
                                            const struct plumb_record_feed *feed,
                                            struct plumb_error *err);
enum plumb_status plumb_series_read(const struct plumb_record_part *part,
                                    const struct plumb_record_feed *feed,
                                    plumb_series_body *body, const void *context,
                                    struct plumb_error *err);

/* Tells the feed what was left out; PLUMB_STOPPED if it wants no more. */
enum plumb_status plumb_record_warn(const struct plumb_record_feed *feed, bool cut,
                                    struct plumb_error *err, const char *format, ...)
    PLUMB_PRINTF(4, 5);

/* The number after `prefix` in "step12", "rank_3"; -1 if the name is not of that kind. */
int64_t plumb_numbered_name(const char *name, const char *prefix);

/* The numbers of "(32,1,28,28)", "[32 1]", up to the bracket that closes; false if they are too many
 * or too large. */
bool plumb_shape_in_words(const char *text, int64_t shape[PLUMB_MAX_RANK], int *dims);

/* Opens a directory's files of saved tensors as one; each tensor is called like its file. */
enum plumb_status plumb_record_open_directory(const char *path, struct plumb_file **file,
                                              struct plumb_error *err);

#endif
