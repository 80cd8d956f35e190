/* open.c - the registry of formats: which one a file is in, and how it is opened. */
#include "format/format.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FORMAT(name) extern const struct plumb_format plumb_format_##name;
#include "format/formats.def"
#undef FORMAT

static const struct plumb_format *const formats[] = {
#define FORMAT(name) &plumb_format_##name,
#include "format/formats.def"
#undef FORMAT
    NULL, /* past the end */
};

enum { DEEPEST_INCLUDE = 8 };

const struct plumb_format *plumb_format_at(size_t i)
{
    return i < sizeof formats / sizeof *formats ? formats[i] : NULL;
}

const struct plumb_format *plumb_format_named(const char *name)
{
    const struct plumb_format *format;
    for (size_t i = 0; (format = plumb_format_at(i)); i++)
        if (strcmp(format->entry.name, name) == 0)
            return format;
    return NULL;
}

const struct plumb_format *plumb_format_for_writing(const char *path)
{
    const char *extension = plumb_path_extension(path);
    const struct plumb_format *format;
    for (size_t i = 0; *extension && (format = plumb_format_at(i)); i++)
        if (format->write && plumb_text_has_word(format->extensions, extension))
            return format;
    return NULL;
}

static enum plumb_probe ask(const struct plumb_format *format, const struct plumb_map *map,
                            const char *path)
{
    if (map)
        return format->probe ? format->probe(map) : PLUMB_PROBE_NO;
    return format->probe_directory ? format->probe_directory(path) : PLUMB_PROBE_NO;
}

const struct plumb_format *plumb_format_of(const struct plumb_map *map, const char *path)
{
    const struct plumb_format *best = NULL, *format;
    enum plumb_probe most = PLUMB_PROBE_NO;
    for (size_t i = 0; (format = plumb_format_at(i)); i++) {
        const enum plumb_probe sure = ask(format, map, path);
        if (sure > most) {
            most = sure;
            best = format;
        }
    }
    return best;
}

/* "93 4e 55 4d ...": what an unknown file starts with, to help whoever reads the message. */
static void first_bytes(const struct plumb_map *map, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < map->size && i < 8 && at + 4 < size; i++)
        at += (size_t)snprintf(text + at, size - at, i ? " %02x" : "%02x", map->base[i]);
}

/* The first format of files with that extension. */
static const struct plumb_format *format_by_name_of(const char *path)
{
    const char *extension = plumb_path_extension(path);
    const struct plumb_format *format;
    for (size_t i = 0; *extension && (format = plumb_format_at(i)); i++)
        if (format->probe && plumb_text_has_word(format->extensions, extension))
            return format;
    return NULL;
}

/* What the format that the file's name suggests makes of it: a name decides nothing, but with the
 * first bytes damaged it is the only hint left. The attempt is thrown away. */
static enum plumb_status explain_by_name(const struct plumb_file *file,
                                         const struct plumb_map *map,
                                         const struct plumb_format *format, const char *start,
                                         struct plumb_error *err)
{
    struct plumb_file *attempt = NULL;
    struct plumb_error found = {.offset = -1};
    const size_t prefix = strlen(file->path) + 2; /* "path: " is said once */
    enum plumb_status status = plumb_file_new(file->path, &attempt, &found);
    if (status == PLUMB_OK) {
        attempt->depth = file->depth;
        status = format->read(attempt, map, &found);
        plumb_file_close(attempt);
    }
    if (status == PLUMB_NO_MEMORY)
        return plumb_fail_memory(err);
    if (status == PLUMB_OK)
        return plumb_fail(err, PLUMB_UNSUPPORTED, 0,
                          "%s: does not begin like any tensor file Plumb knows (%zu bytes, "
                          "starting %s), but can be read as what its name suggests: "
                          "--format %s",
                          file->path, map->size, start, format->entry.name);
    const bool repeats = plumb_text_starts(found.message, file->path) &&
                         plumb_text_starts(found.message + prefix - 2, ": ");
    return plumb_fail(
        err, status, found.offset,
        "%s: does not begin like any tensor file Plumb knows (%zu bytes, starting "
        "%s); as %s, which its name suggests: %s",
        file->path, map->size, start, format->entry.name,
        repeats ? found.message + prefix : found.message);
}

static enum plumb_status choose(const struct plumb_file *file, const struct plumb_map *map,
                                const char *wanted, const struct plumb_format **format,
                                struct plumb_error *err)
{
    if (wanted) {
        *format = plumb_format_named(wanted);
        if (!*format)
            return plumb_fail(err, PLUMB_NOT_FOUND, -1,
                              "no format is called '%s'; `plumb list formats` shows them",
                              wanted);
        return PLUMB_OK;
    }
    *format = plumb_format_of(map, file->path);
    if (*format)
        return PLUMB_OK;
    if (!map)
        return plumb_fail(err, PLUMB_NOT_FOUND, -1,
                          "%s: no tensor files in this directory; give a file or a directory "
                          "that holds some",
                          file->path);
    char start[32];
    first_bytes(map, start, sizeof start);
    const struct plumb_format *suggested = map->size ? format_by_name_of(file->path) : NULL;
    if (suggested)
        return explain_by_name(file, map, suggested, start, err);
    return plumb_fail(err, PLUMB_UNSUPPORTED, 0,
                      "%s: not a tensor file Plumb knows (%zu bytes, starting %s); "
                      "`plumb list formats` shows what it reads",
                      file->path, map->size, map->size ? start : "with nothing");
}

static enum plumb_status read_with_best(struct plumb_file *file, const struct plumb_map *map,
                                        const char *wanted, struct plumb_error *err)
{
    const struct plumb_format *format = NULL;
    enum plumb_status status = choose(file, map, wanted, &format, err);
    if (status)
        return status;
    if (!format->probe != !map)
        return plumb_fail(err, PLUMB_INVALID, -1, "%s: format '%s' is for %s", file->path,
                          format->entry.name, format->probe ? "files" : "directories");
    file->format = format->entry.name;
    return format->read(file, map, err);
}

static enum plumb_status open_path(struct plumb_file *file, const char *wanted,
                                   struct plumb_error *err)
{
    struct stat info;
    if (stat(file->path, &info) == 0 && S_ISDIR(info.st_mode))
        return read_with_best(file, NULL, wanted, err);
    struct plumb_map *map = NULL;
    enum plumb_status status = plumb_map_open(file->path, &map, err);
    if (status == PLUMB_OK)
        status = plumb_file_own_map(file, map, err);
    return status ? status : read_with_best(file, map, wanted, err);
}

static enum plumb_status open_map(struct plumb_map *map, const char *wanted, int depth,
                                  struct plumb_file **out, struct plumb_error *err)
{
    struct plumb_file *file = NULL;
    enum plumb_status status = plumb_file_new(map->path, &file, err);
    if (status) {
        plumb_map_close(map);
        return status;
    }
    file->depth = depth;
    status = plumb_file_own_map(file, map, err);
    if (status == PLUMB_OK)
        status = read_with_best(file, map, wanted, err);
    if (status)
        plumb_file_close(file);
    else
        *out = file;
    return status;
}

static enum plumb_status open_deep(const char *path, const char *wanted, int depth,
                                   struct plumb_file **out, struct plumb_error *err)
{
    if (depth > DEEPEST_INCLUDE)
        return plumb_fail(err, PLUMB_LIMIT, -1,
                          "%s: files that refer to files more than %d deep", path,
                          DEEPEST_INCLUDE);
    struct plumb_file *file = NULL;
    enum plumb_status status = plumb_file_new(path, &file, err);
    if (status)
        return status;
    file->depth = depth;
    status = open_path(file, wanted, err);
    if (status)
        plumb_file_close(file);
    else
        *out = file;
    return status;
}

enum plumb_status plumb_file_open(const char *path, const struct plumb_open_options *options,
                                  struct plumb_file **file, struct plumb_error *err)
{
    return open_deep(path, options ? options->format : NULL, 0, file, err);
}

enum plumb_status plumb_file_open_memory(const char *name, const void *bytes, size_t size,
                                         const struct plumb_open_options *options,
                                         struct plumb_file **file, struct plumb_error *err)
{
    struct plumb_map *map = NULL;
    enum plumb_status status = plumb_map_memory(name, bytes, size, &map, err);
    return status ? status : open_map(map, options ? options->format : NULL, 0, file, err);
}

enum plumb_status plumb_file_open_slice(const struct plumb_map *map, uint64_t offset,
                                        uint64_t size, int depth, struct plumb_file **file,
                                        struct plumb_error *err)
{
    if (offset > map->size || size > map->size - offset || depth > DEEPEST_INCLUDE)
        return plumb_fail(
            err, PLUMB_DAMAGED, (int64_t)offset,
            "%s: a file inside should be bytes %llu to %llu, but the file has only "
            "%zu; it was cut off, copy it again",
            map->path, (unsigned long long)offset, (unsigned long long)(offset + size),
            map->size);
    struct plumb_map *slice = NULL;
    enum plumb_status status = plumb_map_slice(map, (size_t)offset, (size_t)size, &slice, err);
    return status ? status : open_map(slice, NULL, depth, file, err);
}

enum plumb_status plumb_file_open_inside(const struct plumb_file *file, const char *path,
                                         struct plumb_file **inside, struct plumb_error *err)
{
    return open_deep(path, NULL, file->depth + 1, inside, err);
}

enum plumb_status plumb_file_include(struct plumb_file *file, const char *path,
                                     const char *prefix, const struct plumb_table *only,
                                     struct plumb_error *err)
{
    struct plumb_file *other = NULL;
    enum plumb_status status = plumb_file_open_inside(file, path, &other, err);
    if (status)
        return status;
    status = plumb_file_absorb(file, other, prefix, only, err);
    plumb_file_close(other);
    return status;
}
