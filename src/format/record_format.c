/* record_format.c - the registry of record formats, and what several of them need. */
#include "format/record_format.h"

#include "base/error.h"
#include "base/listing.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RECORD_FORMAT(name) extern const struct plumb_record_format plumb_record_format_##name;
#include "format/record_formats.def"
#undef RECORD_FORMAT

static const struct plumb_record_format *const formats[] = {
#define RECORD_FORMAT(name) &plumb_record_format_##name,
#include "format/record_formats.def"
#undef RECORD_FORMAT
};

enum { OPEN_DESCRIPTORS = 128, MOST_FILES = 50000 };

const struct plumb_record_format *plumb_record_format_at(size_t i)
{
    return i < sizeof formats / sizeof *formats ? formats[i] : NULL;
}

static enum plumb_probe ask(const struct plumb_record_format *format,
                            const struct plumb_map *map, const char *path)
{
    if (map)
        return format->probe ? format->probe(map) : PLUMB_PROBE_NO;
    return format->probe_directory ? format->probe_directory(path) : PLUMB_PROBE_NO;
}

const struct plumb_record_format *plumb_record_format_of(const char *path,
                                                         enum plumb_probe *sure)
{
    struct stat info;
    struct plumb_map *map = NULL;
    const struct plumb_record_format *best = NULL, *format;
    *sure = PLUMB_PROBE_NO;
    if (stat(path, &info) != 0 ||
        (!S_ISDIR(info.st_mode) &&
         (!S_ISREG(info.st_mode) || plumb_map_open(path, &map, NULL))))
        return NULL;
    for (size_t i = 0; *sure < PLUMB_PROBE_CERTAIN && (format = plumb_record_format_at(i));
         i++) {
        const enum plumb_probe answer = ask(format, map, path);
        if (answer > *sure) {
            *sure = answer;
            best = format;
        }
    }
    plumb_map_close(map);
    return best;
}

/* ---- parts -------------------------------------------------------------------------------- */

enum plumb_status plumb_record_parts_add(struct plumb_record_parts *parts,
                                         const struct plumb_record_part *part,
                                         struct plumb_error *err)
{
    if (parts->count == PLUMB_RECORD_MOST_PARTS)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: more than %d steps and ranks; open fewer",
                          part->path, PLUMB_RECORD_MOST_PARTS);
    if (parts->count == parts->capacity) {
        const size_t larger = parts->capacity ? parts->capacity * 2 : 16;
        void *items = plumb_realloc_array(parts->items, larger, sizeof *parts->items);
        if (!items)
            return plumb_fail_memory(err);
        parts->items = items;
        parts->capacity = larger;
    }
    const char *path = plumb_arena_text(&parts->arena, part->path, strlen(part->path));
    if (!path)
        return plumb_fail_memory(err);
    parts->items[parts->count] = *part;
    parts->items[parts->count++].path = path;
    return PLUMB_OK;
}

enum plumb_status plumb_record_parts_warn(struct plumb_record_parts *parts,
                                          struct plumb_error *err, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (parts->warning_count == parts->warning_capacity) {
        const size_t larger = parts->warning_capacity ? parts->warning_capacity * 2 : 8;
        void *warnings = plumb_realloc_array(parts->warnings, larger, sizeof *parts->warnings);
        if (!warnings)
            return plumb_fail_memory(err);
        parts->warnings = warnings;
        parts->warning_capacity = larger;
    }
    const char *copy = plumb_arena_text(&parts->arena, text, strlen(text));
    if (!copy)
        return plumb_fail_memory(err);
    parts->warnings[parts->warning_count++] = copy;
    return PLUMB_OK;
}

void plumb_record_parts_release(struct plumb_record_parts *parts)
{
    plumb_free(parts->items);
    plumb_free(parts->warnings);
    plumb_arena_release(&parts->arena);
    *parts = (struct plumb_record_parts){0};
}

enum plumb_status plumb_series_read(const struct plumb_record_part *part,
                                    const struct plumb_record_feed *feed,
                                    plumb_series_body *body, const void *context,
                                    struct plumb_error *err)
{
    struct plumb_map *map = NULL;
    if (!feed->series)
        return PLUMB_OK;
    enum plumb_status status = plumb_map_open(part->path, &map, err);
    if (!status)
        status = body(context, part, map, feed, err);
    plumb_map_close(map);
    return status;
}

enum plumb_status plumb_record_warn(const struct plumb_record_feed *feed, bool cut,
                                    struct plumb_error *err, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!feed->warn)
        return PLUMB_OK;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return feed->warn(feed->context, cut, text) ? PLUMB_OK
                                                : plumb_fail(err, PLUMB_STOPPED, -1, "stopped");
}

bool plumb_shape_in_words(const char *text, int64_t shape[PLUMB_MAX_RANK], int *dims)
{
    *dims = 0;
    while (*text && *text != ']' && *text != ')') {
        if (*text < '0' || *text > '9') {
            text++;
            continue;
        }
        int64_t value = 0;
        for (; *text >= '0' && *text <= '9'; text++)
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, *text - '0', &value))
                return false;
        if (*dims == PLUMB_MAX_RANK)
            return false;
        shape[(*dims)++] = value;
    }
    return true;
}

int64_t plumb_numbered_name(const char *name, const char *prefix)
{
    const size_t length = strlen(prefix);
    int64_t number = 0;
    if (strncmp(name, prefix, length) != 0 || !name[length])
        return -1;
    for (const char *c = name + length; *c; c++)
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *c - '0', &number))
            return -1;
    return number;
}

/* ---- saved values ------------------------------------------------------------------------- */

static enum plumb_status include(struct plumb_file *file, const char *path, const char *name,
                                 struct plumb_error *err)
{
    struct plumb_file *inside = NULL;
    struct plumb_error problem;
    enum plumb_status status = plumb_file_open_inside(file, path, &inside, &problem);
    if (status == PLUMB_NO_MEMORY)
        return plumb_fail_memory(err);
    if (status)
        return plumb_file_warn(file, err, "left out: %.900s", problem.message);
    for (size_t i = 0; i < inside->map_count && file->map_count > OPEN_DESCRIPTORS; i++)
        plumb_map_drop_descriptor(inside->maps[i]);
    const bool one = inside->tensor_count == 1;
    char *called = plumb_arena_printf(&file->arena, one ? "%s" : "%s/", name);
    if (called && one)
        inside->tensors[0]->name = called;
    status = called ? plumb_file_absorb(file, inside, one ? "" : called, NULL, err)
                    : plumb_fail_memory(err);
    plumb_file_close(inside);
    return status;
}

enum plumb_status plumb_record_open_directory(const char *path, struct plumb_file **out,
                                              struct plumb_error *err)
{
    struct plumb_listing listing;
    struct plumb_file *file = NULL;
    enum plumb_status status = plumb_listing_read(path, MOST_FILES, &listing, err);
    if (status)
        return status;
    status = plumb_file_new(path, &file, err);
    for (size_t i = 0; i < listing.count && !status; i++) {
        const char *name = listing.names[i], *kind = plumb_path_extension(name);
        char whole[4096];
        if ((strcmp(kind, "pt") == 0 || strcmp(kind, "npy") == 0) &&
            snprintf(whole, sizeof whole, "%s/%s", path, name) < (int)sizeof whole)
            status = include(file, whole, name, err);
    }
    plumb_listing_release(&listing);
    if (status) {
        plumb_file_close(file);
        return status;
    }
    file->format = "directory";
    *out = file;
    return PLUMB_OK;
}
