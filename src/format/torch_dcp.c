/*
 * torch_dcp.c - a directory that torch.distributed.checkpoint wrote.
 *
 *   .metadata        a pickle, written last:
 *     state_dict_metadata   name -> TensorStorageMetadata(properties, size, chunks), or
 *                           BytesStorageMetadata for what is not a tensor
 *     storage_data          MetadataIndex(fqn, offset, index) -> _StorageInfo(relative_path,
 *                           offset, length, transform_descriptors)
 *   __0_0.distcp ... one a writer: the slices that storage_data points to. Each slice is a
 *                    complete file of torch.save with one value or one part of a tensor.
 *   common.pt        Megatron: what is the same on all ranks, as torch.save writes it
 */
#include "base/error.h"
#include "base/pickle.h"
#include "base/text.h"
#include "format/format.h"
#include "format/torch_chunks.h"
#include "format/torch_tree.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const size_t tree_limit = (size_t)4 << 30;
static const char no_slice[] = "nothing in the files";

/* One place in the .distcp files. */
struct slice {
    const struct plumb_pickle_node *offsets; /* of the part in its tensor, or NULL */
    const char *file_name;
    int64_t begin, length;
    bool transformed;
    struct slice *next; /* of the same name */
};

struct checkpoint {
    struct plumb_file *file;
    struct plumb_arena *arena;             /* the pickle's */
    const struct plumb_pickle_node *names; /* state_dict_metadata */
    struct slice **slices;                 /* one list for each name */
    struct plumb_table index;              /* names to places in `slices` */
    struct plumb_table maps;               /* file names to places in file->maps */
};

static bool is_in_directory(const char *path, const char *name)
{
    char full[PATH_MAX];
    const int length = snprintf(full, sizeof full, "%s/%s", path, name);
    return length > 0 && (size_t)length < sizeof full && access(full, F_OK) == 0;
}

static bool has_distcp(const char *path)
{
    DIR *directory = opendir(path);
    if (!directory)
        return false;
    bool found = false;
    const struct dirent *entry;
    while (!found && (entry = readdir(directory)))
        found = plumb_text_ends(entry->d_name, ".distcp");
    (void)closedir(directory);
    return found;
}

static enum plumb_probe probe_directory(const char *path)
{
    return has_distcp(path) ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_NO;
}

static enum plumb_status open_in_directory(struct checkpoint *checkpoint, const char *name,
                                           const struct plumb_map **map,
                                           struct plumb_error *err)
{
    struct plumb_file *file = checkpoint->file;
    size_t known = 0;
    if (plumb_table_get(&checkpoint->maps, name, &known)) {
        *map = file->maps[known];
        return PLUMB_OK;
    }
    if (*name == '/' || strstr(name, ".."))
        return plumb_fail(err, PLUMB_DAMAGED, -1,
                          "%s: .metadata refers to '%.200s', which is outside of the directory",
                          file->path, name);
    char *path = plumb_arena_printf(&file->arena, "%s/%s", file->path, name);
    char *key = plumb_arena_text(&file->arena, name, strlen(name));
    struct plumb_map *opened = NULL;
    if (!path || !key)
        return plumb_fail_memory(err);
    enum plumb_status status = plumb_map_open(path, &opened, err);
    if (status == PLUMB_OK)
        status = plumb_file_own_map(file, opened, err);
    if (status)
        return status;
    *map = opened;
    return plumb_table_put(&checkpoint->maps, key, file->map_count - 1)
               ? PLUMB_OK
               : plumb_fail_memory(err);
}

/* ---- .metadata -------------------------------------------------------------------------- */

static const struct plumb_pickle_node *attribute(const struct plumb_pickle_node *object,
                                                 const char *name)
{
    return plumb_pickle_is(object, PLUMB_PICKLE_CALL)
               ? plumb_pickle_find(object->call->state, name)
               : NULL;
}

static enum plumb_status index_names(struct checkpoint *checkpoint, struct plumb_error *err)
{
    const struct plumb_pickle_node *names = checkpoint->names;
    const size_t count = names->count / 2;
    checkpoint->slices =
        plumb_arena_alloc(checkpoint->arena, count + 1, sizeof(struct slice *));
    if (!checkpoint->slices)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *name = plumb_pickle_text(names->items[2 * i]);
        if (name && !plumb_table_put(&checkpoint->index, name, i))
            return plumb_fail_memory(err);
    }
    return PLUMB_OK;
}

static enum plumb_status add_slice(struct checkpoint *checkpoint,
                                   const struct plumb_pickle_node *index,
                                   const struct plumb_pickle_node *where,
                                   struct plumb_error *err)
{
    const char *name = plumb_pickle_text(attribute(index, "fqn"));
    const struct plumb_pickle_node *transform = attribute(where, "transform_descriptors");
    struct slice *slice = plumb_arena_alloc(checkpoint->arena, 1, sizeof *slice);
    if (!slice)
        return plumb_fail_memory(err);
    slice->offsets = attribute(index, "offset");
    slice->file_name = plumb_pickle_text(attribute(where, "relative_path"));
    slice->transformed = transform && transform->kind != PLUMB_PICKLE_NONE;
    size_t place = 0;
    if (!name || !slice->file_name ||
        !plumb_pickle_int(attribute(where, "offset"), &slice->begin) ||
        !plumb_pickle_int(attribute(where, "length"), &slice->length) || slice->begin < 0 ||
        slice->length < 0 || !plumb_table_get(&checkpoint->index, name, &place))
        return plumb_fail(err, PLUMB_DAMAGED, -1,
                          "%s/.metadata: an entry of storage_data is not understood",
                          checkpoint->file->path);
    slice->next = checkpoint->slices[place];
    checkpoint->slices[place] = slice;
    return PLUMB_OK;
}

static enum plumb_status read_metadata(struct checkpoint *checkpoint, struct plumb_error *err)
{
    if (!is_in_directory(checkpoint->file->path, ".metadata"))
        return plumb_fail(
            err, PLUMB_DAMAGED, -1,
            "%s: .distcp files without .metadata, which is written last: saving did "
            "not finish",
            checkpoint->file->path);
    const struct plumb_map *map = NULL;
    enum plumb_status status = open_in_directory(checkpoint, ".metadata", &map, err);
    if (status)
        return status;
    const struct plumb_pickle_source source = {
        .label = map->path, .bytes = map->base, .size = map->size};
    struct plumb_pickle pickle = {0};
    status = plumb_pickle_read(&source, checkpoint->arena, &pickle, err);
    if (status)
        return status;
    const struct plumb_pickle_node *data = attribute(pickle.root, "storage_data");
    checkpoint->names = attribute(pickle.root, "state_dict_metadata");
    if (!plumb_pickle_is_mapping(checkpoint->names) || !plumb_pickle_is_mapping(data))
        return plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                          "%s: expected state_dict_metadata and storage_data of "
                          "torch.distributed.checkpoint, found something else",
                          map->path);
    status = index_names(checkpoint, err);
    for (uint32_t i = 0; i + 1 < data->count && status == PLUMB_OK; i += 2)
        status = add_slice(checkpoint, data->items[i], data->items[i + 1], err);
    return status;
}

/* ---- slices ----------------------------------------------------------------------------- */

static enum plumb_status open_slice(struct checkpoint *checkpoint, const struct slice *slice,
                                    const struct plumb_map **map, struct plumb_file **inner,
                                    struct plumb_error *err)
{
    enum plumb_status status = open_in_directory(checkpoint, slice->file_name, map, err);
    if (status)
        return status;
    return plumb_file_open_slice(*map, (uint64_t)slice->begin, (uint64_t)slice->length,
                                 checkpoint->file->depth + 1, inner, err);
}

static int64_t *copy_dims(struct plumb_file *file, const int64_t *dims, int rank)
{
    int64_t *copy = plumb_arena_alloc(&file->arena, (size_t)rank + 1, sizeof *copy);
    if (copy && rank)
        memcpy(copy, dims, (size_t)rank * sizeof *copy);
    return copy;
}

/* A tensor of a slice becomes one of the checkpoint, whose maps hold the same bytes. */
static enum plumb_status adopt_tensor(struct checkpoint *checkpoint,
                                      const struct plumb_tensor *tensor,
                                      const struct plumb_map *map, const struct slice *slice,
                                      struct plumb_tensor *adopted, struct plumb_error *err)
{
    struct plumb_file *file = checkpoint->file;
    const struct plumb_storage *old = tensor->storage;
    if (old->piece_count != 1)
        return plumb_fail(err, PLUMB_UNSUPPORTED, slice->begin,
                          "%s: the data at byte %lld is compressed; save it without", map->path,
                          (long long)slice->begin);
    struct plumb_storage *storage = NULL;
    enum plumb_status status =
        plumb_file_add_storage(file, map, (uint64_t)slice->begin + old->pieces[0].offset,
                               old->size, old->label, &storage, err);
    if (status)
        return status;
    storage->big_endian = old->big_endian;
    storage->has_crc = old->has_crc;
    storage->crc = old->crc;
    *adopted = *tensor;
    adopted->storage = storage;
    adopted->shape = copy_dims(file, tensor->shape, tensor->rank);
    adopted->strides = copy_dims(file, tensor->strides, tensor->rank);
    return adopted->shape && adopted->strides ? PLUMB_OK : plumb_fail_memory(err);
}

static enum plumb_status read_chunk(struct checkpoint *checkpoint, const struct slice *slice,
                                    const char *name, struct plumb_torch_chunk *chunk,
                                    struct plumb_error *err)
{
    const struct plumb_map *map = NULL;
    struct plumb_file *inner = NULL;
    enum plumb_status status = open_slice(checkpoint, slice, &map, &inner, err);
    if (status)
        return status;
    int64_t offsets[PLUMB_MAX_RANK] = {0};
    const struct plumb_tensor *tensor = plumb_file_tensor(inner, 0);
    if (!tensor || plumb_file_tensor_count(inner) != 1 ||
        (plumb_pickle_is(slice->offsets, PLUMB_PICKLE_CALL) &&
         plumb_torch_integers_parse(slice->offsets, offsets) != tensor->rank))
        status =
            plumb_fail(err, PLUMB_DAMAGED, slice->begin,
                       "%s: expected one part of tensor '%s' at byte %lld, found something "
                       "else",
                       map->path, name, (long long)slice->begin);
    if (status == PLUMB_OK)
        status = adopt_tensor(checkpoint, tensor, map, slice, &chunk->tensor, err);
    if (status == PLUMB_OK) {
        chunk->offsets = copy_dims(checkpoint->file, offsets, chunk->tensor.rank);
        status = chunk->offsets ? PLUMB_OK : plumb_fail_memory(err);
    }
    plumb_file_close(inner);
    return status;
}

/* ---- entries ---------------------------------------------------------------------------- */

static enum plumb_status add_opaque(struct checkpoint *checkpoint, const char *name,
                                    const char *what, struct plumb_error *err)
{
    char *json = plumb_arena_printf(&checkpoint->file->arena, "\"opaque: %s\"", what);
    return json ? plumb_file_add_note(checkpoint->file, name, json, err)
                : plumb_fail_memory(err);
}

static bool is_not_parameter(const char *name, enum plumb_dtype dtype)
{
    return plumb_torch_is_training_state(name) ||
           (!plumb_dtype_is_float(dtype) && !plumb_dtype_is_complex(dtype));
}

static enum plumb_status read_tensor(struct checkpoint *checkpoint, const char *name,
                                     const struct plumb_pickle_node *entry,
                                     const struct slice *slices, struct plumb_error *err)
{
    struct plumb_file *file = checkpoint->file;
    int64_t shape[PLUMB_MAX_RANK];
    struct plumb_torch_whole whole = {
        .name = name, .rank = plumb_torch_integers_parse(attribute(entry, "size"), shape)};
    for (const struct slice *slice = slices; slice; slice = slice->next) {
        if (slice->transformed)
            return add_opaque(checkpoint, name, "stored in transformed form", err);
        whole.count++;
    }
    if (whole.rank < 0 || !whole.count)
        return add_opaque(checkpoint, name, whole.count ? "a tensor of odd size" : no_slice,
                          err);
    whole.shape = copy_dims(file, shape, whole.rank);
    whole.chunks = plumb_arena_alloc(&file->arena, whole.count, sizeof *whole.chunks);
    if (!whole.shape || !whole.chunks)
        return plumb_fail_memory(err);
    enum plumb_status status = PLUMB_OK;
    size_t i = whole.count; /* the list is last first */
    for (; slices && status == PLUMB_OK; slices = slices->next)
        status = read_chunk(checkpoint, slices, name, &whole.chunks[--i], err);
    if (status)
        return status;
    whole.dtype = whole.chunks[0].tensor.dtype;
    whole.not_parameter = is_not_parameter(name, whole.dtype);
    return plumb_torch_add_chunks(file, &whole, err);
}

/* A key inside a value becomes part of the value's name, unless it is the value itself. */
static const char *inner_name(struct plumb_file *file, const char *name, const char *key,
                              const char *itself)
{
    return strcmp(key, itself) == 0 ? name
                                    : plumb_arena_printf(&file->arena, "%s.%s", name, key);
}

static enum plumb_status copy_value(struct checkpoint *checkpoint, const char *name,
                                    const struct plumb_file *inner, const struct plumb_map *map,
                                    const struct slice *slice, struct plumb_error *err)
{
    struct plumb_file *file = checkpoint->file;
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < inner->note_count && status == PLUMB_OK; i++) {
        const char *key = inner_name(file, name, inner->notes[i].key, "value");
        status = key ? plumb_file_add_note(file, key, inner->notes[i].json, err)
                     : plumb_fail_memory(err);
    }
    for (size_t i = 0; i < inner->tensor_count && status == PLUMB_OK; i++) {
        struct plumb_tensor tensor;
        const char *key = inner_name(file, name, inner->tensors[i]->name, "tensor");
        status = key ? adopt_tensor(checkpoint, inner->tensors[i], map, slice, &tensor, err)
                     : plumb_fail_memory(err);
        if (status)
            return status;
        const struct plumb_tensor_spec spec = {.name = key,
                                               .dtype = tensor.dtype,
                                               .rank = tensor.rank,
                                               .shape = tensor.shape,
                                               .strides = tensor.strides,
                                               .storage = tensor.storage,
                                               .offset = (uint64_t)tensor.offset,
                                               .not_parameter =
                                                   is_not_parameter(key, tensor.dtype)};
        status = plumb_file_add_tensor(file, &spec, err);
    }
    return status;
}

static enum plumb_status read_value(struct checkpoint *checkpoint, const char *name,
                                    const struct slice *slice, struct plumb_error *err)
{
    if (!slice)
        return add_opaque(checkpoint, name, no_slice, err);
    if (slice->transformed)
        return add_opaque(checkpoint, name, "stored in transformed form", err);
    const struct plumb_map *map = NULL;
    struct plumb_file *inner = NULL;
    enum plumb_status status = open_slice(checkpoint, slice, &map, &inner, err);
    if (status == PLUMB_UNSUPPORTED)
        return add_opaque(checkpoint, name, "bytes of another program", err);
    if (status)
        return status;
    status = copy_value(checkpoint, name, inner, map, slice, err);
    plumb_file_close(inner);
    return status;
}

static enum plumb_status read_entries(struct checkpoint *checkpoint, struct plumb_error *err)
{
    const struct plumb_pickle_node *names = checkpoint->names;
    enum plumb_status status = PLUMB_OK;
    for (uint32_t i = 0; i + 1 < names->count && status == PLUMB_OK; i += 2) {
        const char *name = plumb_pickle_text(names->items[i]);
        const struct plumb_pickle_node *entry = names->items[i + 1];
        if (!name)
            continue;
        if (plumb_text_ends(plumb_pickle_callable(entry), ".TensorStorageMetadata"))
            status = read_tensor(checkpoint, name, entry, checkpoint->slices[i / 2], err);
        else
            status = read_value(checkpoint, name, checkpoint->slices[i / 2], err);
    }
    return status;
}

static enum plumb_status read_directory(struct plumb_file *file, const struct plumb_map *map,
                                        struct plumb_error *err)
{
    (void)map; /* a directory has none */
    file->framework = "pytorch";
    struct plumb_arena arena = {.limit = tree_limit};
    struct checkpoint checkpoint = {.file = file, .arena = &arena};
    enum plumb_status status = read_metadata(&checkpoint, err);
    if (status == PLUMB_OK)
        status = read_entries(&checkpoint, err);
    plumb_table_release(&checkpoint.index);
    plumb_table_release(&checkpoint.maps);
    plumb_arena_release(&arena);
    if (status == PLUMB_OK && is_in_directory(file->path, "common.pt")) {
        char *path = plumb_arena_printf(&file->arena, "%s/common.pt", file->path);
        status = path ? plumb_file_include(file, path, "", NULL, err) : plumb_fail_memory(err);
    }
    return status;
}

const struct plumb_format plumb_format_torch_dcp = {
    .entry = {.name = "torch-dcp",
              .summary = "directory of torch.distributed.checkpoint (.metadata, *.distcp)",
              .detail =
                  "Tensors that several ranks saved in parts are put together again. Values "
                  "that are not\ntensors are notes. Also Megatron's torch_dist checkpoints, "
                  "with their common.pt."},
    .extensions = "",
    .probe_directory = probe_directory,
    .read = read_directory,
};
