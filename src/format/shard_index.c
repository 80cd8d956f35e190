/*
 * shard_index.c - a checkpoint in several files, as Hugging Face writes it: *.index.json.
 *
 *     {"metadata": {"total_size": bytes}, "weight_map": {tensor name: file name, ...}}
 *
 * The files (safetensors or PyTorch) lie beside the index. Of each only the tensors that the index
 * places there are taken. A file that is missing is told with the number of its tensors.
 */
#include "format/format.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    PROBED = 1 << 20,      /* "weight_map" is looked for in so many bytes */
    MAX_INDEX = 100000000, /* bytes */
    MAX_SHARDS = 20000,
    MAX_FAILURES = 100, /* shards that cannot be read before giving up */
    DEEPEST_INDEX = 1,  /* in a directory is fine, in another index is not */
};

struct shard {
    const char *name;
    size_t index;
    size_t tensors; /* that should be in it */
};

struct reader {
    struct plumb_file *file;
    const struct plumb_map *map;
    const struct plumb_json *weights;
    struct plumb_arena arena;
    struct plumb_table names; /* of shards, to their index */
    struct shard *shards;
    size_t *shard_of; /* member of weight_map -> shard */
    size_t count, failed;
    struct plumb_error *err;
    struct plumb_error problem; /* of the first shard that failed */
};

static enum plumb_probe probe(const struct plumb_map *map)
{
    static const char word[] = "\"weight_map\"";
    size_t at = 0;
    while (at < map->size && at < PROBED && strchr(" \t\r\n", map->base[at]) && map->base[at])
        at++;
    if (at == map->size || map->base[at] != '{')
        return PLUMB_PROBE_NO;
    const size_t size = map->size < PROBED ? map->size : PROBED;
    return memmem(map->base, size, word, strlen(word)) ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_NO;
}

/* ---- which tensor is where ------------------------------------------------------------ */

static enum plumb_status refuse(const struct reader *reader, const struct plumb_json *at,
                                const char *what)
{
    return plumb_fail(reader->err, PLUMB_DAMAGED, (int64_t)at->offset,
                      "%s: shard index, byte %zu: %s", reader->map->path, at->offset, what);
}

static enum plumb_status place(struct reader *reader, const struct plumb_json *member,
                               size_t position)
{
    const char *name = plumb_json_string(member);
    size_t index = 0;
    if (!name)
        return refuse(reader, member, "expected the name of a file as text");
    if (!plumb_path_stays_inside(name))
        return refuse(
            reader, member,
            "the name of a file leads out of the index's directory, which is refused");
    if (!plumb_table_get(&reader->names, name, &index)) {
        if (reader->count == MAX_SHARDS)
            return plumb_fail(reader->err, PLUMB_LIMIT, (int64_t)member->offset,
                              "%s: more than %d shards", reader->map->path, MAX_SHARDS);
        index = reader->count;
        if (!plumb_table_put(&reader->names, name, index))
            return plumb_fail_memory(reader->err);
        reader->shards[reader->count++] = (struct shard){.name = name, .index = index};
    }
    reader->shard_of[position] = index;
    reader->shards[index].tensors++;
    return PLUMB_OK;
}

static enum plumb_status place_all(struct reader *reader)
{
    const struct plumb_json *weights = reader->weights, *duplicate = NULL;
    enum plumb_status status = plumb_json_find_duplicate(weights, &duplicate, reader->err);
    if (duplicate)
        status = refuse(reader, duplicate, "a tensor is placed twice");
    if (status)
        return status;
    reader->shards = plumb_arena_alloc(&reader->arena, weights->count, sizeof *reader->shards);
    reader->shard_of =
        plumb_arena_alloc(&reader->arena, weights->count, sizeof *reader->shard_of);
    if (!reader->shards || !reader->shard_of)
        return plumb_fail_memory(reader->err);
    size_t position = 0;
    for (const struct plumb_json *member = weights->first; member && !status;
         member = member->next)
        status = place(reader, member, position++);
    return status;
}

/* ---- the shards ----------------------------------------------------------------------- */

/* Only files: a directory or a pipe of that name is no shard. */
static enum plumb_status include_file(struct reader *reader, const char *path,
                                      const struct plumb_table *wanted,
                                      struct plumb_error *problem)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return plumb_fail_errno(problem, "open", path);
    if (!S_ISREG(info.st_mode))
        return plumb_fail(problem, PLUMB_UNSUPPORTED, -1, "%s: not a file", path);
    return plumb_file_include(reader->file, path, "", wanted, problem);
}

static enum plumb_status note_failure(struct reader *reader, const struct shard *shard,
                                      const struct plumb_error *problem)
{
    if (problem->status == PLUMB_NO_MEMORY)
        return plumb_fail_memory(reader->err);
    if (reader->failed++ == 0)
        reader->problem = *problem;
    if (reader->failed == MAX_FAILURES)
        return plumb_fail(reader->err, problem->status, -1,
                          "%s: %d shards cannot be read; the last: %.700s", reader->map->path,
                          MAX_FAILURES, problem->message);
    return plumb_file_warn(reader->file, reader->err,
                           "shard '%.200s' with %zu tensors is missing: %.600s", shard->name,
                           shard->tensors, problem->message);
}

/* Tells what the index places in the shard and the shard does not have. */
static enum plumb_status check_presence(struct reader *reader, const struct shard *shard)
{
    size_t position = 0, missing = 0;
    const char *example = "";
    for (const struct plumb_json *member = reader->weights->first; member;
         member = member->next)
        if (reader->shard_of[position++] == shard->index &&
            !plumb_file_find(reader->file, member->key) && missing++ == 0)
            example = member->key;
    if (!missing)
        return PLUMB_OK;
    return plumb_file_warn(
        reader->file, reader->err,
        "shard '%.200s' lacks %zu tensors that the index places in it, first "
        "'%.200s'",
        shard->name, missing, example);
}

static enum plumb_status read_shard(struct reader *reader, const struct shard *shard)
{
    struct plumb_table wanted = {0};
    struct plumb_error problem = {0};
    const char *base = plumb_path_base(reader->map->path);
    const char *path =
        plumb_arena_printf(&reader->arena, "%.*s%s", (int)(base - reader->map->path),
                           reader->map->path, shard->name);
    bool room = path != NULL;
    size_t position = 0;
    for (const struct plumb_json *member = reader->weights->first; member && room;
         member = member->next)
        if (reader->shard_of[position++] == shard->index)
            room = plumb_table_put(&wanted, member->key, 1);
    const size_t before = reader->file->tensor_count;
    enum plumb_status status =
        room ? include_file(reader, path, &wanted, &problem) : plumb_fail_memory(&problem);
    plumb_table_release(&wanted);
    if (status)
        return note_failure(reader, shard, &problem);
    if (reader->file->tensor_count - before == shard->tensors)
        return PLUMB_OK;
    return check_presence(reader, shard);
}

static enum plumb_status add_metadata(const struct reader *reader,
                                      const struct plumb_json *root)
{
    int64_t size = 0;
    char text[32];
    if (!plumb_json_integer(plumb_json_get(plumb_json_get(root, "metadata"), "total_size"),
                            &size))
        return PLUMB_OK;
    (void)snprintf(text, sizeof text, "%lld", (long long)size);
    return plumb_file_add_note(reader->file, "metadata.total_size", text, reader->err);
}

static enum plumb_status read_index(struct reader *reader)
{
    const struct plumb_map *map = reader->map;
    const struct plumb_json_source source = {
        .path = map->path, .bytes = map->base, .size = map->size, .allow_nan = true};
    const struct plumb_json *root = NULL;
    enum plumb_status status = plumb_json_parse(&reader->arena, &source, &root, reader->err);
    if (status)
        return status;
    reader->weights = plumb_json_get(root, "weight_map");
    if (!reader->weights || reader->weights->kind != PLUMB_JSON_OBJECT)
        return refuse(reader, reader->weights ? reader->weights : root,
                      "expected an object \"weight_map\" with the file of each tensor");
    status = place_all(reader);
    for (size_t i = 0; i < reader->count && status == PLUMB_OK; i++)
        status = read_shard(reader, &reader->shards[i]);
    if (status == PLUMB_OK && reader->failed && reader->failed == reader->count) {
        const struct plumb_error *problem = &reader->problem;
        status = plumb_fail(reader->err, problem->status, problem->offset,
                            "%s: none of its %zu shards can be read: %.700s", map->path,
                            reader->count, problem->message);
    }
    return status ? status : add_metadata(reader, root);
}

static enum plumb_status read(struct plumb_file *file, const struct plumb_map *map,
                              struct plumb_error *err)
{
    struct reader reader = {.file = file, .map = map, .err = err};
    if (map->size > MAX_INDEX)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: a shard index of more than 100 MB",
                          map->path);
    if (map->fd < 0)
        return plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                          "%s: a shard index refers to files beside it; open it as a file",
                          map->path);
    if (file->depth > DEEPEST_INDEX)
        return plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                          "%s: a shard index inside another; open it by itself", map->path);
    enum plumb_status status = read_index(&reader);
    plumb_table_release(&reader.names);
    plumb_arena_release(&reader.arena);
    return status;
}

const struct plumb_format plumb_format_shard_index = {
    .entry =
        {
            .name = "shard-index",
            .summary = "a checkpoint in several files (*.index.json)",
            .detail = "Written by Hugging Face libraries: a JSON file that tells in which "
                      "safetensors or\n"
                      "PyTorch file each tensor is. The files are looked for beside it. "
                      "Missing files and\n"
                      "missing tensors are warnings that say how many are affected.",
        },
    .extensions = "",
    .probe = probe,
    .read = read,
};
