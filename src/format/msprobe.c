/*
 * msprobe.c - a dump of Ascend's msprobe as records: step12/rank0/dump.json and what lies beside it.
 *
 * A single process is called proc<pid> by msprobe and is rank 0 here. Any level may be opened: the
 * whole dump, a step, a rank, or the dump.json itself.
 */
#include "base/error.h"
#include "base/listing.h"
#include "base/text.h"
#include "format/msprobe_dump.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NAMES = 1 << 20, DEEPEST = 4, PROBED = 4096 };

static const char *const dump_names[] = {"dump.json", "debug.json"};

static bool join(char path[4096], const char *directory, const char *name)
{
    return snprintf(path, 4096, "%s/%s", directory, name) < 4096;
}

static bool has_file(const char *directory, const char *name)
{
    char path[4096];
    return join(path, directory, name) && access(path, F_OK) == 0;
}

/* The dump.json or debug.json of a directory; NULL if there is none. */
static const char *dump_in(const char *directory)
{
    for (size_t i = 0; i < sizeof dump_names / sizeof *dump_names; i++)
        if (has_file(directory, dump_names[i]))
            return dump_names[i];
    return NULL;
}

/* ---- is it one? ------------------------------------------------------------------------------ */

static enum plumb_probe probe(const struct plumb_map *map)
{
    const size_t size = map->size < PROBED ? map->size : PROBED;
    const char *text = (const char *)map->base;
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    if (at == size || text[at] != '{')
        return PLUMB_PROBE_NO;
    const bool framed = memmem(text, size, "\"dump_data_dir\"", 15) != NULL;
    const bool data = memmem(text, size, "\"data\"", 6) != NULL;
    const bool task = memmem(text, size, "\"task\"", 6) != NULL;
    return framed && data ? PLUMB_PROBE_CERTAIN
           : task && data ? PLUMB_PROBE_LIKELY
                          : PLUMB_PROBE_NO;
}

static bool is_dump_file(const char *directory, const char *name)
{
    char path[4096];
    struct plumb_map *map = NULL;
    if (!join(path, directory, name) || plumb_map_open(path, &map, NULL))
        return false;
    /* An empty one is a dump whose writing had just begun. */
    const bool is = probe(map) != PLUMB_PROBE_NO || map->size == 0;
    plumb_map_close(map);
    return is;
}

/* "step3", "rank0", "proc2016"; "graph" and "pynative" lie above the steps in MindSpore. */
static bool is_level(const char *name)
{
    return plumb_numbered_name(name, "step") >= 0 || plumb_numbered_name(name, "rank") >= 0 ||
           plumb_numbered_name(name, "proc") >= 0 || strcmp(name, "rank") == 0 ||
           strcmp(name, "graph") == 0 || strcmp(name, "pynative") == 0;
}

static bool holds_dump(const char *path, int depth)
{
    struct plumb_listing listing;
    const char *name = dump_in(path);
    if (name)
        return is_dump_file(path, name);
    if (depth == DEEPEST)
        return false;
    if (depth > 0 && has_file(path, "dump_tensor_data"))
        return true; /* killed before the first dump.json */
    if (plumb_listing_read(path, MOST_NAMES, &listing, NULL))
        return false;
    bool found = false;
    for (size_t i = 0; i < listing.count && !found; i++) {
        char below[4096];
        found = is_level(listing.names[i]) && join(below, path, listing.names[i]) &&
                holds_dump(below, depth + 1);
    }
    plumb_listing_release(&listing);
    return found;
}

static enum plumb_probe probe_directory(const char *path)
{
    return holds_dump(path, 0) ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_NO;
}

/* ---- its steps and ranks -------------------------------------------------------------------------- */

struct search {
    struct plumb_record_parts *parts;
    struct plumb_error *err;
};

/* What the names of the directories above say. */
static void take_level(struct plumb_record_part *part, const char *name, size_t process)
{
    const int64_t step = plumb_numbered_name(name, "step");
    const int64_t rank = plumb_numbered_name(name, "rank");
    if (step >= 0)
        part->step = step;
    if (rank >= 0 && rank <= INT32_MAX)
        part->rank = (int)rank;
    if (plumb_numbered_name(name, "proc") >= 0)
        part->rank = (int)process;
}

static enum plumb_status add_part(struct search *search, const char *path,
                                  struct plumb_record_part part)
{
    part.path = path;
    part.has_step = true;
    part.has_values = has_file(path, "dump_tensor_data");
    if (!dump_in(path))
        return plumb_record_parts_warn(search->parts, search->err,
                                       "%s: saved tensors without a dump.json, which was never "
                                       "written; left out",
                                       path);
    return plumb_record_parts_add(search->parts, &part, search->err);
}

static enum plumb_status find_below(struct search *search, const char *path,
                                    struct plumb_record_part part, int depth)
{
    struct plumb_listing listing;
    if (dump_in(path) || has_file(path, "dump_tensor_data"))
        return add_part(search, path, part);
    if (depth == DEEPEST)
        return PLUMB_OK;
    enum plumb_status status = plumb_listing_read(path, MOST_NAMES, &listing, search->err);
    if (status)
        return status;
    size_t processes = 0;
    for (size_t i = 0; i < listing.count && !status; i++) {
        char below[4096];
        struct stat info;
        if (!is_level(listing.names[i]) || !join(below, path, listing.names[i]) ||
            stat(below, &info) != 0 || !S_ISDIR(info.st_mode))
            continue;
        struct plumb_record_part inner = part;
        take_level(&inner, listing.names[i], processes);
        processes += plumb_numbered_name(listing.names[i], "proc") >= 0;
        status = find_below(search, below, inner, depth + 1);
    }
    plumb_listing_release(&listing);
    if (!status && processes > 1)
        status = plumb_record_parts_warn(search->parts, search->err,
                                         "%s: %zu processes without a rank; they are ranks 0 "
                                         "to %zu in the order of their ids",
                                         path, processes, processes - 1);
    return status;
}

/* What the path itself says, when a rank or a step inside a dump is opened. */
static void take_path(struct plumb_record_part *part, const char *path)
{
    char copy[4096];
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy)
        return;
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(copy);
        while (length > 1 && copy[length - 1] == '/')
            copy[--length] = '\0';
        take_level(part, plumb_path_base(copy), 0);
        char *slash = strrchr(copy, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

static enum plumb_status find(struct plumb_record_parts *parts, const char *path,
                              struct plumb_error *err)
{
    struct search search = {.parts = parts, .err = err};
    struct plumb_record_part part = {.path = path};
    struct stat info;
    char directory[4096];
    if (snprintf(directory, sizeof directory, "%s", path) >= (int)sizeof directory)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", path);
    if (stat(path, &info) == 0 && !S_ISDIR(info.st_mode)) {
        char *slash = strrchr(directory, '/');
        if (slash)
            *slash = '\0';
        take_path(&part, slash ? directory : "");
        part.has_step = true;
        part.has_values = has_file(slash ? directory : ".", "dump_tensor_data");
        return plumb_record_parts_add(parts, &part, err);
    }
    take_path(&part, path);
    return find_below(&search, path, part, 0);
}

/* ---- reading ----------------------------------------------------------------------------------------- */

/* The directory of a part, which may be the dump.json itself. */
static bool directory_of(const char *path, char directory[4096])
{
    struct stat info;
    if (snprintf(directory, 4096, "%s", path) >= 4096)
        return false;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return true;
    char *slash = strrchr(directory, '/');
    if (slash)
        *slash = '\0';
    else
        (void)snprintf(directory, 4096, ".");
    return true;
}

static enum plumb_status read_part(const struct plumb_record_part *part,
                                   const struct plumb_record_feed *feed,
                                   struct plumb_error *err)
{
    char directory[4096], path[4096];
    struct plumb_record_part inside = *part;
    if (!directory_of(part->path, directory))
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", part->path);
    const bool given = strcmp(directory, part->path) != 0;
    const char *name = given ? plumb_path_base(part->path) : dump_in(directory);
    if (!name || !join(path, directory, name))
        return plumb_fail(err, PLUMB_NOT_FOUND, -1, "%s: has no dump.json any more",
                          part->path);
    inside.path = directory;
    return plumb_msprobe_dump_read(&inside, given ? part->path : path, feed, err);
}

static enum plumb_status open_values(const struct plumb_record_part *part,
                                     struct plumb_file **file, struct plumb_error *err)
{
    char directory[4096], path[4096];
    if (!directory_of(part->path, directory) || !join(path, directory, "dump_tensor_data"))
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", part->path);
    return plumb_record_open_directory(path, file, err);
}

const struct plumb_record_format plumb_record_format_msprobe = {
    .entry =
        {
            .name = "msprobe",
            .summary = "dumps of Ascend's msprobe: step*/rank*/dump.json with its tensors",
            .detail =
                "Statistics, md5 (which is a crc32), xor and tensor tasks, old and new forms,\n"
                "of PyTorch and MindSpore; a whole dump, a step, a rank or a dump.json. With\n"
                "construct.json an API belongs to the module that called it and its calls are\n"
                "counted there. input_args[0] is called input0, the keyword argument x "
                "input:x,\n"
                "parameter w param:w, its gradient grad:w. Of the statistics Max, Min, Mean "
                "and\n"
                "Norm are known. A file that was cut off is read up to its last whole\n"
                "operation. proc<pid> is rank 0.",
        },
    .framework = "",
    .probe = probe,
    .probe_directory = probe_directory,
    .find = find,
    .read = read_part,
    .open_values = open_values,
};
