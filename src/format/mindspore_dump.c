/*
 * mindspore_dump.c - what MINDSPORE_DUMP_CONFIG makes MindSpore write: values of every kernel.
 *
 *     rank_0/{net}/{graph}/{iteration}/
 *         {OpType}.{scope with _ for /}.{task}.{stream}.{time}.{input|output}.{k}.{format}.{dtype}.npy
 *         Parameter.{name}.0.0.{time}.output.0.{format}.{dtype}.npy    after the update
 *         statistic.csv, mapping.csv
 *     rank_0/execution_order/ms_execution_order_graph_{graph}.csv      one full scope a line
 *
 * Files of one kernel have times of their own; the order of execution is that of the csv, and its
 * lines tell an underscore of a scope from one of a name. Older files have no dtype in the name.
 */
#include "format/mindspore_dump.h"

#include "base/error.h"
#include "base/listing.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NAMES = 1 << 20, MOST_FILES = 50000, MOST_FIELDS = 12, NAME_SIZE = 1024 };

/* ---- is it one, and its parts --------------------------------------------------------------------- */

static bool join(char path[4096], const char *directory, const char *name)
{
    return snprintf(path, 4096, "%s/%s", directory, name) < 4096;
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Like ".input.0.DefaultFormat.Float32.npy" at its end. */
static bool is_value(const char *name)
{
    return plumb_text_ends(name, ".npy") &&
           (strstr(name, ".output.") || strstr(name, ".input."));
}

/* Does it hold values, or a statistic.csv? */
static bool is_iteration(const char *path)
{
    char table[4096];
    if (join(table, path, "statistic.csv") && access(table, F_OK) == 0)
        return true;
    return plumb_listing_has(path, MOST_NAMES, is_value);
}

/* The directories below that `wanted` accepts, each given to `take`. */
struct walk {
    struct plumb_record_parts *parts; /* NULL: only whether there is something */
    struct plumb_record_part part;
    bool found;
    struct plumb_error *err;
};

/* {rank}/{net}/{graph}/{iteration}: level 0 is below the rank. */
static enum plumb_status walk_rank(struct walk *walk, const char *path, int level)
{
    struct plumb_listing listing;
    enum plumb_status status = PLUMB_OK;
    if (level == 3) {
        if (!is_iteration(path))
            return PLUMB_OK;
        walk->found = true;
        walk->part.path = path;
        return walk->parts ? plumb_record_parts_add(walk->parts, &walk->part, walk->err)
                           : PLUMB_OK;
    }
    if (plumb_listing_read(path, MOST_NAMES, &listing, NULL))
        return PLUMB_OK;
    for (size_t i = 0; i < listing.count && !status && (walk->parts || !walk->found); i++) {
        char below[4096];
        const int64_t number = plumb_numbered_name(listing.names[i], "");
        if ((level > 0 && number < 0) || !join(below, path, listing.names[i]) ||
            !is_directory(below))
            continue;
        if (level == 2)
            walk->part.step = number;
        status = walk_rank(walk, below, level + 1);
    }
    plumb_listing_release(&listing);
    return status;
}

static enum plumb_status walk_dump(struct walk *walk, const char *path)
{
    struct plumb_listing listing;
    enum plumb_status status = PLUMB_OK;
    const int64_t own = plumb_numbered_name(plumb_path_base(path), "rank_");
    walk->part = (struct plumb_record_part){.has_step = true, .has_values = true};
    if (own >= 0 && own < INT32_MAX) {
        walk->part.rank = (int)own;
        return walk_rank(walk, path, 0);
    }
    if (plumb_listing_read(path, MOST_NAMES, &listing, NULL))
        return PLUMB_OK;
    for (size_t i = 0; i < listing.count && !status; i++) {
        char below[4096];
        const int64_t rank = plumb_numbered_name(listing.names[i], "rank_");
        if (rank < 0 || rank >= INT32_MAX || !join(below, path, listing.names[i]))
            continue;
        walk->part.rank = (int)rank;
        status = walk_rank(walk, below, 0);
    }
    plumb_listing_release(&listing);
    return status;
}

static enum plumb_probe probe_directory(const char *path)
{
    struct walk walk = {.parts = NULL};
    (void)walk_dump(&walk, path);
    return walk.found ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_NO;
}

static enum plumb_status find(struct plumb_record_parts *parts, const char *path,
                              struct plumb_error *err)
{
    struct walk walk = {.parts = parts, .err = err};
    return walk_dump(&walk, path);
}

/* ---- a file's name ------------------------------------------------------------------------------------ */

/* The fields between dots, from the right; the scope itself has none. */
static bool parse_name(const char *file, char fields[][NAME_SIZE], size_t *count)
{
    *count = 0;
    for (const char *at = file; *count < MOST_FIELDS;) {
        const size_t length = strcspn(at, ".");
        if (length >= NAME_SIZE)
            return false;
        memcpy(fields[*count], at, length);
        fields[(*count)++][length] = '\0';
        if (!at[length])
            return true;
        at += length + 1;
    }
    return false;
}

/* {type}.{scope}.{task}.{stream}.{time}.{io}.{slot}.{format}[.{dtype}].npy */
static bool add_file(struct plumb_value_files *files, struct plumb_mindspore_scopes *scopes,
                     const char *file, const char *called)
{
    char fields[MOST_FIELDS][NAME_SIZE], slot[NAME_SIZE + 16];
    size_t count = 0;
    if (!parse_name(called, fields, &count) || count < 9)
        return true;
    const size_t io =
        strcmp(fields[count - 4], "input") == 0 || strcmp(fields[count - 4], "output") == 0
            ? count - 4
            : count - 5;
    const int64_t time = plumb_numbered_name(fields[io - 1], "");
    const bool input = strcmp(fields[io], "input") == 0;
    if (io < 5 || time < 0 || (!input && strcmp(fields[io], "output") != 0))
        return true;
    struct plumb_mindspore_place place;
    if (!plumb_mindspore_place_of(scopes, fields[0], fields[1], time, &place))
        return false;
    (void)snprintf(slot, sizeof slot, "%s%s", fields[io], fields[io + 1]);
    if (strcmp(fields[0], "Parameter") == 0)
        (void)snprintf(slot, sizeof slot, "param:%s", fields[1]);
    const struct plumb_value_file item = {.file = file,
                                          .module = place.module,
                                          .op = place.op,
                                          .slot = slot,
                                          .call = place.call,
                                          .phase = place.phase,
                                          .order = place.order};
    return plumb_value_files_add(files, &item);
}

/* ---- reading -------------------------------------------------------------------------------------------- */

static enum plumb_status read_files(const struct plumb_record_part *part,
                                    struct plumb_mindspore_scopes *scopes,
                                    const struct plumb_record_feed *feed,
                                    struct plumb_error *err)
{
    struct plumb_listing listing;
    struct plumb_value_files files = {0};
    enum plumb_status status = plumb_listing_read(part->path, MOST_FILES, &listing, err);
    if (status)
        return status;
    for (size_t i = 0; i < listing.count && !status; i++) {
        const char *file = listing.names[i];
        if (plumb_text_ends(file, ".npy") &&
            !add_file(&files, scopes, file, plumb_mindspore_real_name(scopes, file)))
            status = plumb_fail_memory(err);
    }
    plumb_value_files_sort(&files);
    if (!status)
        status = plumb_value_files_emit(&files, part, feed, err);
    plumb_value_files_release(&files);
    plumb_listing_release(&listing);
    return status;
}

static enum plumb_status read_part(const struct plumb_record_part *part,
                                   const struct plumb_record_feed *feed,
                                   struct plumb_error *err)
{
    struct plumb_mindspore_scopes scopes;
    if (!feed->record)
        return PLUMB_OK;
    enum plumb_status status = plumb_mindspore_scopes_read(&scopes, part->path, err);
    if (!status)
        status = plumb_mindspore_statistics_read(part, &scopes, feed, err);
    if (!status)
        status = read_files(part, &scopes, feed, err);
    plumb_mindspore_scopes_release(&scopes);
    return status;
}

static enum plumb_status open_values(const struct plumb_record_part *part,
                                     struct plumb_file **file, struct plumb_error *err)
{
    return plumb_record_open_directory(part->path, file, err);
}

const struct plumb_record_format plumb_record_format_mindspore_dump = {
    .entry =
        {.name = "mindspore-dump",
         .summary = "MindSpore's kernel dump: rank_0/net/graph/iteration/*.npy, statistic.csv",
         .detail =
             "Made by MINDSPORE_DUMP_CONFIG. A directory that holds rank_*, or one rank_N. An\n"
             "iteration is a step. Kernels come in the order of execution_order/*.csv, or of\n"
             "their times without it. Scopes that begin with Gradients are backward, those\n"
             "with optimizer are the update; Parameter files show the values after it.\n"
             "Statistics of .npy files are computed from the values; of statistic.csv those\n"
             "it has are known."},
    .framework = "mindspore",
    .probe_directory = probe_directory,
    .find = find,
    .read = read_part,
    .open_values = open_values,
};
