/*
 * directory.c - a directory of tensor files, opened as one.
 *
 * Files are found by content, in sub-directories as well, in the order of their paths. Tensor `w`
 * of sub/a.pth is called sub/a/w; the array of sub/x.npy is called sub/x. A directory with one
 * tensor file only adds nothing to its names. Where there is a shard index, it alone counts: the
 * other files are its shards. A directory that is a format itself is taken as one file.
 */
#include "format/format.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MAX_DEPTH = 8,
    MAX_FILES = 50000,     /* each is a mapping, of which a process may have about 65000 */
    OPEN_DESCRIPTORS = 128 /* maps beyond these keep no descriptor */
};

/* Files of these kinds lie beside checkpoints and are no news. */
static const char other_kinds[] =
    "json jsonl txt md py pyc log yaml yml csv tsv html js css toml "
    "ini cfg sh model vocab png jpg jpeg svg gif pdf lock xml ir pb";

struct unit {
    char *path;
    char *relative; /* to the directory that was opened */
    char *name;     /* what its tensors' names start with: relative, mostly without extension */
};

struct walk {
    struct plumb_file *file;
    struct plumb_arena arena;
    struct unit *units;
    size_t count, capacity;
    size_t seen; /* files looked at */
    size_t unknown, too_deep;
    const char *example; /* one that is unknown */
    struct plumb_error *err;
};

struct names {
    char **list;
    size_t count, capacity;
};

static enum plumb_probe probe_directory(const char *path)
{
    (void)path;
    return PLUMB_PROBE_MAYBE;
}

/* ---- what is there -------------------------------------------------------------------- */

static int by_text(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

static int by_path(const void *left, const void *right)
{
    const struct unit *a = left, *b = right;
    return strcmp(a->relative, b->relative);
}

static bool add_name(struct walk *walk, struct names *names, const char *name)
{
    if (names->count == names->capacity) {
        const size_t larger = names->capacity ? names->capacity * 2 : 64;
        char **list = plumb_realloc_array(names->list, larger, sizeof *list);
        if (!list)
            return false;
        names->list = list;
        names->capacity = larger;
    }
    char *copy = plumb_arena_text(&walk->arena, name, strlen(name));
    if (copy)
        names->list[names->count++] = copy;
    return copy != NULL;
}

/* Names in a directory, sorted, without hidden ones. */
static enum plumb_status list_names(struct walk *walk, const char *path, struct names *names)
{
    DIR *directory = opendir(path);
    if (!directory)
        return plumb_fail_errno(walk->err, "list", path);
    enum plumb_status status = PLUMB_OK;
    const struct dirent *entry = NULL;
    while (!status && (errno = 0, entry = readdir(directory))) {
        if (entry->d_name[0] == '.')
            continue;
        if (walk->seen++ == 2 * MAX_FILES)
            status = plumb_fail(walk->err, PLUMB_LIMIT, -1,
                                "%s: more than %d files; open a part of it", walk->file->path,
                                2 * MAX_FILES);
        else if (!add_name(walk, names, entry->d_name))
            status = plumb_fail_memory(walk->err);
    }
    (void)closedir(directory);
    if (!status && names->count)
        qsort(names->list, names->count, sizeof *names->list, by_text);
    return status;
}

static enum plumb_status add_unit(struct walk *walk, char *path, char *relative)
{
    if (walk->count == MAX_FILES)
        return plumb_fail(walk->err, PLUMB_LIMIT, -1,
                          "%s: more than %d tensor files; open a part of it", walk->file->path,
                          MAX_FILES);
    if (walk->count == walk->capacity) {
        const size_t larger = walk->capacity ? walk->capacity * 2 : 64;
        struct unit *units = plumb_realloc_array(walk->units, larger, sizeof *units);
        if (!units)
            return plumb_fail_memory(walk->err);
        walk->units = units;
        walk->capacity = larger;
    }
    walk->units[walk->count++] = (struct unit){.path = path, .relative = relative};
    return PLUMB_OK;
}

/* A file is taken if some format knows its content; what cannot be opened is taken too, so that
 * opening it tells why. */
static enum plumb_status take_file(struct walk *walk, char *path, char *relative)
{
    struct plumb_map *map = NULL;
    struct plumb_error problem = {0};
    if (plumb_text_has_word(other_kinds, plumb_path_extension(path)))
        return PLUMB_OK;
    const enum plumb_status opened = plumb_map_open(path, &map, &problem);
    if (opened == PLUMB_NO_MEMORY)
        return plumb_fail_memory(walk->err);
    const bool known = opened == PLUMB_IO || (map && plumb_format_of(map, path));
    plumb_map_close(map);
    if (known)
        return add_unit(walk, path, relative);
    if (walk->unknown++ == 0)
        walk->example = relative;
    return PLUMB_OK;
}

static enum plumb_status walk_directory(struct walk *walk, const char *path,
                                        const char *relative, int depth);

/* A checkpoint that is a directory itself is one unit, any other is walked. */
static enum plumb_status take_directory(struct walk *walk, char *path, char *relative,
                                        int depth)
{
    const struct plumb_format *format = plumb_format_of(NULL, path);
    if (format && format->probe_directory != probe_directory)
        return add_unit(walk, path, relative);
    if (depth < MAX_DEPTH)
        return walk_directory(walk, path, relative, depth + 1);
    walk->too_deep++;
    return PLUMB_OK;
}

static enum plumb_status take_name(struct walk *walk, const char *directory,
                                   const char *relative, const char *name, int depth)
{
    struct stat info;
    char *path = plumb_arena_printf(&walk->arena, "%s/%s", directory, name);
    char *shorter =
        plumb_arena_printf(&walk->arena, "%s%s%s", relative, *relative ? "/" : "", name);
    if (!path || !shorter)
        return plumb_fail_memory(walk->err);
    if (lstat(path, &info) != 0)
        return PLUMB_OK; /* gone meanwhile */
    if (S_ISDIR(info.st_mode))
        return take_directory(walk, path, shorter, depth);
    /* Links to files are followed, links to directories are not: they may lead in circles. */
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return take_file(walk, path, shorter);
    return PLUMB_OK;
}

/* The shard index to use, if there is one; that of safetensors comes before others. */
static const char *choose_index(const struct names *names)
{
    const char *index = NULL;
    for (size_t i = 0; i < names->count; i++) {
        if (plumb_text_ends(names->list[i], ".safetensors.index.json"))
            return names->list[i];
        if (!index && plumb_text_ends(names->list[i], ".index.json"))
            index = names->list[i];
    }
    return index;
}

static enum plumb_status take_index(struct walk *walk, const char *directory,
                                    const char *relative, const char *name)
{
    char *path = plumb_arena_printf(&walk->arena, "%s/%s", directory, name);
    /* Its tensors are those of the directory: they are named after that. */
    char *shorter = plumb_arena_text(&walk->arena, relative, strlen(relative));
    if (!path || !shorter)
        return plumb_fail_memory(walk->err);
    return add_unit(walk, path, shorter);
}

static enum plumb_status walk_directory(struct walk *walk, const char *path,
                                        const char *relative, int depth)
{
    struct names names = {0};
    enum plumb_status status = list_names(walk, path, &names);
    const char *index = status ? NULL : choose_index(&names);
    if (index)
        status = take_index(walk, path, relative, index);
    for (size_t i = 0; i < names.count && !index && status == PLUMB_OK; i++)
        status = take_name(walk, path, relative, names.list[i], depth);
    plumb_free(names.list);
    return status;
}

/* ---- opening it ----------------------------------------------------------------------- */

/* "sub/a" of "sub/a.pth". */
static char *stem_of(struct walk *walk, const char *relative)
{
    const char *extension = plumb_path_extension(relative);
    const size_t length = strlen(relative);
    return plumb_arena_text(&walk->arena, relative,
                            *extension ? length - strlen(extension) - 1 : length);
}

/* Extensions are left out, except where a.pth and a.ckpt would both be called a. */
static enum plumb_status name_units(struct walk *walk)
{
    struct plumb_table stems = {0};
    bool room = true;
    for (size_t i = 0; i < walk->count && room; i++) {
        size_t first = 0;
        struct unit *unit = &walk->units[i];
        unit->name = stem_of(walk, unit->relative);
        room = unit->name != NULL;
        if (room && plumb_table_get(&stems, unit->name, &first)) {
            walk->units[first].name = walk->units[first].relative;
            unit->name = unit->relative;
        } else if (room) {
            room = plumb_table_put(&stems, unit->name, i);
        }
    }
    plumb_table_release(&stems);
    return room ? PLUMB_OK : plumb_fail_memory(walk->err);
}

static enum plumb_status absorb(struct walk *walk, const struct unit *unit,
                                struct plumb_file *inside)
{
    struct plumb_file *file = walk->file;
    const bool array = strcmp(inside->format, "npy") == 0 && inside->tensor_count == 1;
    const char *prefix = "";
    if (walk->count > 1 && array)
        inside->tensors[0]->name = unit->name;
    else if (walk->count > 1 && *unit->name)
        prefix = plumb_arena_printf(&walk->arena, "%s/", unit->name);
    if (!prefix)
        return plumb_fail_memory(walk->err);
    if (file->map_count > OPEN_DESCRIPTORS)
        for (size_t i = 0; i < inside->map_count; i++)
            plumb_map_drop_descriptor(inside->maps[i]);
    return plumb_file_absorb(file, inside, prefix, NULL, walk->err);
}

/* A file that cannot be read is told and left out. */
static enum plumb_status open_unit(struct walk *walk, const struct unit *unit,
                                   struct plumb_error *first, size_t *failed)
{
    struct plumb_file *inside = NULL;
    struct plumb_error problem = {0};
    enum plumb_status status =
        plumb_file_open_inside(walk->file, unit->path, &inside, &problem);
    if (status == PLUMB_NO_MEMORY)
        return plumb_fail_memory(walk->err);
    if (status) {
        if ((*failed)++ == 0)
            *first = problem;
        return plumb_file_warn(walk->file, walk->err, "left out: %.900s", problem.message);
    }
    status = absorb(walk, unit, inside);
    plumb_file_close(inside);
    return status;
}

static enum plumb_status tell_left_out(struct walk *walk)
{
    enum plumb_status status = PLUMB_OK;
    if (walk->unknown)
        status =
            plumb_file_warn(walk->file, walk->err,
                            "files in no format that Plumb knows: %zu, the first is %.200s",
                            walk->unknown, walk->example);
    if (walk->too_deep && !status)
        status = plumb_file_warn(walk->file, walk->err,
                                 "%zu directories more than %d deep are left out",
                                 walk->too_deep, MAX_DEPTH);
    return status;
}

static enum plumb_status open_units(struct walk *walk)
{
    struct plumb_error first = {0};
    size_t failed = 0;
    enum plumb_status status = PLUMB_OK;
    if (walk->count)
        qsort(walk->units, walk->count, sizeof *walk->units, by_path);
    status = name_units(walk);
    for (size_t i = 0; i < walk->count && status == PLUMB_OK; i++)
        status = open_unit(walk, &walk->units[i], &first, &failed);
    if (status)
        return status;
    if (failed && failed == walk->count)
        return plumb_fail(walk->err, first.status, first.offset, "%s", first.message);
    if (walk->count == 0)
        return plumb_fail(
            walk->err, PLUMB_NOT_FOUND, -1,
            "%s: no tensor files in this directory (%zu others); give a file or a "
            "directory that holds some",
            walk->file->path, walk->unknown);
    return tell_left_out(walk);
}

static enum plumb_status read(struct plumb_file *file, const struct plumb_map *map,
                              struct plumb_error *err)
{
    struct walk walk = {.file = file, .err = err};
    (void)map;
    enum plumb_status status = walk_directory(&walk, file->path, "", 0);
    if (status == PLUMB_OK)
        status = open_units(&walk);
    plumb_free(walk.units);
    plumb_arena_release(&walk.arena);
    return status;
}

const struct plumb_format plumb_format_directory = {
    .entry =
        {
            .name = "directory",
            .summary = "a directory of tensor files, with its sub-directories",
            .detail = "All files whose content Plumb knows, up to 8 levels deep. Tensor w of "
                      "sub/a.pth\n"
                      "is called sub/a/w, the array of sub/x.npy is called sub/x; with one "
                      "tensor file\n"
                      "only, names stay as they are. Where a directory has a shard index\n"
                      "(*.index.json), only that is read there. Files that cannot be read are "
                      "warnings.",
        },
    .extensions = "",
    .probe_directory = probe_directory,
    .read = read,
};
