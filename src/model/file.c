/* file.c - building and asking an open file; the checks every format needs are here. */
#include "model/file.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Makes room for one more entry in a growing array of the file. */
static bool make_room(void **entries, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    const size_t larger = *capacity ? *capacity * 2 : 16;
    void *grown = plumb_realloc_array(*entries, larger, size);
    if (!grown)
        return false;
    *entries = grown;
    *capacity = larger;
    return true;
}

enum plumb_status plumb_file_new(const char *path, struct plumb_file **out,
                                 struct plumb_error *err)
{
    struct plumb_file *file = plumb_alloc_array(1, sizeof *file);
    if (!file)
        return plumb_fail_memory(err);
    file->format = "";
    file->framework = "";
    file->path = plumb_copy_string(path);
    if (!file->path) {
        plumb_free(file);
        return plumb_fail_memory(err);
    }
    *out = file;
    return PLUMB_OK;
}

void plumb_file_close(struct plumb_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->storage_count; i++) {
        plumb_storage_drop(file->storages[i]);
        if (file->storages[i]->lazy)
            (void)pthread_mutex_destroy(&file->storages[i]->lazy->lock);
    }
    for (size_t i = file->map_count; i-- > 0;)
        plumb_map_close(file->maps[i]);
    plumb_table_release(&file->names);
    plumb_free(file->maps);
    plumb_free(file->storages);
    plumb_free(file->tensors);
    plumb_free(file->notes);
    plumb_free(file->checks);
    plumb_free(file->warnings);
    plumb_free(file->path);
    plumb_arena_release(&file->arena);
    plumb_free(file);
}

enum plumb_status plumb_file_own_map(struct plumb_file *file, struct plumb_map *map,
                                     struct plumb_error *err)
{
    void *maps = file->maps;
    if (!make_room(&maps, file->map_count, &file->map_capacity, sizeof *file->maps)) {
        plumb_map_close(map);
        return plumb_fail_memory(err);
    }
    file->maps = maps;
    file->maps[file->map_count++] = map;
    return PLUMB_OK;
}

static enum plumb_status new_storage(struct plumb_file *file, const char *label, bool lazy,
                                     struct plumb_storage **out, struct plumb_error *err)
{
    struct plumb_storage *storage = plumb_arena_alloc(&file->arena, 1, sizeof *storage);
    char *copy = plumb_arena_text(&file->arena, label, strlen(label));
    struct plumb_lazy *state = NULL;
    if (storage)
        storage->seen_crc = plumb_arena_alloc(&file->arena, 1, sizeof *storage->seen_crc);
    if (lazy)
        state = plumb_arena_alloc(&file->arena, 1, sizeof *state);
    void *storages = file->storages;
    if (!storage || !storage->seen_crc || !copy || (lazy && !state) ||
        !make_room(&storages, file->storage_count, &file->storage_capacity,
                   sizeof *file->storages))
        return plumb_fail_memory(err);
    file->storages = storages;
    if (state)
        (void)pthread_mutex_init(&state->lock, NULL);
    storage->label = copy;
    storage->lazy = state;
    file->storages[file->storage_count++] = storage;
    *out = storage;
    return PLUMB_OK;
}

enum plumb_status plumb_file_add_pieces(struct plumb_file *file,
                                        const struct plumb_piece *pieces, size_t count,
                                        const char *label, struct plumb_storage **out,
                                        struct plumb_error *err)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const struct plumb_piece *piece = &pieces[i];
        if (piece->offset > piece->map->size || piece->size > piece->map->size - piece->offset)
            return plumb_fail(
                err, PLUMB_DAMAGED, (int64_t)piece->offset,
                "%s: '%s' should be bytes %llu to %llu, but the file has only %zu; "
                "it was cut off, copy it again",
                piece->map->path, label, (unsigned long long)piece->offset,
                (unsigned long long)(piece->offset + piece->size), piece->map->size);
        if (__builtin_add_overflow(total, piece->size, &total))
            return plumb_fail(err, PLUMB_LIMIT, -1, "%s: '%s' is larger than 2^64 bytes",
                              file->path, label);
    }
    struct plumb_storage *storage = NULL;
    enum plumb_status status = new_storage(file, label, count != 1, &storage, err);
    if (status)
        return status;
    struct plumb_piece *copy = plumb_arena_alloc(&file->arena, count, sizeof *copy);
    if (!copy)
        return plumb_fail_memory(err);
    if (count)
        memcpy(copy, pieces, count * sizeof *copy);
    storage->pieces = copy;
    storage->piece_count = count;
    storage->size = total;
    *out = storage;
    return PLUMB_OK;
}

enum plumb_status plumb_file_add_storage(struct plumb_file *file, const struct plumb_map *map,
                                         uint64_t offset, uint64_t size, const char *label,
                                         struct plumb_storage **storage,
                                         struct plumb_error *err)
{
    const struct plumb_piece piece = {.map = map, .offset = offset, .size = size};
    return plumb_file_add_pieces(file, &piece, 1, label, storage, err);
}

enum plumb_status plumb_file_add_produced(struct plumb_file *file, uint64_t size,
                                          plumb_produce *produce, const void *recipe,
                                          const char *label, struct plumb_storage **out,
                                          struct plumb_error *err)
{
    struct plumb_storage *storage = NULL;
    enum plumb_status status = new_storage(file, label, true, &storage, err);
    if (status)
        return status;
    storage->size = size;
    storage->produce = produce;
    storage->recipe = recipe;
    *out = storage;
    return PLUMB_OK;
}

bool plumb_shape_count(int rank, const int64_t *shape, int64_t *count)
{
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return false;
        empty = empty || shape[i] == 0;
    }
    for (int i = 0; i < rank && !empty; i++)
        if (__builtin_mul_overflow(product, shape[i], &product))
            return false;
    *count = empty ? 0 : product;
    return true;
}

/* The first and one past the last byte that a tensor touches, relative to its offset. */
static bool byte_span(const struct plumb_tensor *tensor, int64_t *low, int64_t *high)
{
    int64_t first = 0, last = 0;
    for (int i = 0; i < tensor->rank; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(tensor->shape[i] - 1, tensor->strides[i], &reach))
            return false;
        if (__builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last))
            return false;
    }
    const int64_t size = (int64_t)plumb_dtype_size(tensor->dtype);
    return !__builtin_mul_overflow(first, size, low) &&
           !__builtin_add_overflow(last, 1, &last) && !__builtin_mul_overflow(last, size, high);
}

static enum plumb_status check_inside(const struct plumb_file *file,
                                      const struct plumb_tensor *tensor, uint64_t offset,
                                      struct plumb_error *err)
{
    int64_t low = 0, high = 0;
    if (tensor->count == 0)
        return PLUMB_OK;
    if (offset > INT64_MAX || !byte_span(tensor, &low, &high) ||
        __builtin_add_overflow(low, (int64_t)offset, &low) ||
        __builtin_add_overflow(high, (int64_t)offset, &high))
        return plumb_fail(err, PLUMB_LIMIT, -1,
                          "%s: tensor '%s' spans more than 2^63 bytes; the file is damaged or "
                          "made to mislead",
                          file->path, tensor->name);
    if (low < 0 || (uint64_t)high > tensor->storage->size)
        return plumb_fail(
            err, PLUMB_DAMAGED, -1,
            "%s: tensor '%s' needs bytes %lld to %lld of its data '%s', which has "
            "%llu; the file was cut off or is damaged, copy it again",
            file->path, tensor->name, (long long)low, (long long)high, tensor->storage->label,
            (unsigned long long)tensor->storage->size);
    return PLUMB_OK;
}

static void fill_strides(struct plumb_tensor *tensor, const int64_t *given, int64_t *strides)
{
    uint64_t step = 1; /* unsigned: an empty tensor may have other dimensions that overflow */
    for (int i = tensor->rank; i-- > 0;) {
        strides[i] = given ? given[i] : (int64_t)step;
        step *= (uint64_t)tensor->shape[i];
    }
}

static enum plumb_status unique_name(struct plumb_file *file, struct plumb_tensor *tensor,
                                     struct plumb_error *err)
{
    size_t existing;
    if (!plumb_table_get(&file->names, tensor->name, &existing))
        return PLUMB_OK;
    enum plumb_status status =
        plumb_file_warn(file, err, "tensor '%s' occurs more than once", tensor->name);
    for (unsigned n = 2; status == PLUMB_OK; n++) {
        char *other = plumb_arena_printf(&file->arena, "%s#%u", tensor->name, n);
        if (!other)
            return plumb_fail_memory(err);
        if (!plumb_table_get(&file->names, other, &existing)) {
            tensor->name = other;
            break;
        }
    }
    return status;
}

static enum plumb_status describe(struct plumb_file *file, const struct plumb_tensor_spec *spec,
                                  struct plumb_tensor *tensor, struct plumb_error *err)
{
    const size_t dims = (size_t)spec->rank;
    int64_t *shape = plumb_arena_alloc(&file->arena, dims, sizeof *shape);
    int64_t *strides = plumb_arena_alloc(&file->arena, dims, sizeof *strides);
    char *name = plumb_arena_text(&file->arena, spec->name, strlen(spec->name));
    if (!shape || !strides || !name)
        return plumb_fail_memory(err);
    if (dims)
        memcpy(shape, spec->shape, dims * sizeof *shape);
    tensor->name = name;
    tensor->dtype = spec->dtype;
    tensor->rank = spec->rank;
    tensor->shape = shape;
    tensor->strides = strides;
    tensor->parameter = !spec->not_parameter;
    tensor->storage = spec->storage;
    tensor->offset = (int64_t)spec->offset;
    fill_strides(tensor, spec->strides, strides);
    return PLUMB_OK;
}

enum plumb_status plumb_file_add_tensor(struct plumb_file *file,
                                        const struct plumb_tensor_spec *spec,
                                        struct plumb_error *err)
{
    int64_t count = 0, bytes;
    if (spec->rank < 0 || spec->rank > PLUMB_MAX_RANK)
        return plumb_fail(err, PLUMB_LIMIT, -1,
                          "%s: tensor '%.200s' has %d dimensions, over %d", file->path,
                          spec->name, spec->rank, PLUMB_MAX_RANK);
    if (file->tensor_count >= PLUMB_MAX_TENSORS || strlen(spec->name) > PLUMB_MAX_NAME)
        return plumb_fail(err, PLUMB_LIMIT, -1,
                          "%s: more than %d tensors, or a name of over %d bytes ('%.60s...')",
                          file->path, PLUMB_MAX_TENSORS, PLUMB_MAX_NAME, spec->name);
    if (!plumb_shape_count(spec->rank, spec->shape, &count) ||
        __builtin_mul_overflow(count, (int64_t)plumb_dtype_size(spec->dtype), &bytes))
        return plumb_fail(
            err, PLUMB_LIMIT, -1,
            "%s: the shape of tensor '%.200s' multiplies to more than 2^63 bytes or "
            "is negative; the file is damaged or made to mislead",
            file->path, spec->name);
    struct plumb_tensor *tensor = plumb_arena_alloc(&file->arena, 1, sizeof *tensor);
    void *tensors = file->tensors;
    if (!tensor ||
        !make_room(&tensors, file->tensor_count, &file->tensor_capacity, sizeof *file->tensors))
        return plumb_fail_memory(err);
    file->tensors = tensors;
    tensor->count = count;
    enum plumb_status status = describe(file, spec, tensor, err);
    if (status == PLUMB_OK)
        status = check_inside(file, tensor, spec->offset, err);
    if (status == PLUMB_OK)
        status = unique_name(file, tensor, err);
    if (status)
        return status;
    if (!plumb_table_put(&file->names, tensor->name, file->tensor_count))
        return plumb_fail_memory(err);
    file->tensors[file->tensor_count++] = tensor;
    return PLUMB_OK;
}

enum plumb_status plumb_file_add_note(struct plumb_file *file, const char *key,
                                      const char *json, struct plumb_error *err)
{
    if (file->note_count >= PLUMB_MAX_NOTES)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: more than %d entries that are not tensors",
                          file->path, PLUMB_MAX_NOTES);
    char *key_copy = plumb_arena_text(&file->arena, key, strlen(key));
    char *json_copy = plumb_arena_text(&file->arena, json, strlen(json));
    void *notes = file->notes;
    if (!key_copy || !json_copy ||
        !make_room(&notes, file->note_count, &file->note_capacity, sizeof *file->notes))
        return plumb_fail_memory(err);
    file->notes = notes;
    file->notes[file->note_count++] = (struct plumb_note){.key = key_copy, .json = json_copy};
    return PLUMB_OK;
}

enum plumb_status plumb_file_add_check(struct plumb_file *file,
                                       const struct plumb_file_check *check,
                                       struct plumb_error *err)
{
    void *checks = file->checks;
    if (!make_room(&checks, file->check_count, &file->check_capacity, sizeof *file->checks))
        return plumb_fail_memory(err);
    file->checks = checks;
    file->checks[file->check_count++] = *check;
    return PLUMB_OK;
}

enum plumb_status plumb_file_warn(struct plumb_file *file, struct plumb_error *err,
                                  const char *format, ...)
{
    if (file->warning_count >= PLUMB_MAX_WARNINGS) {
        file->warnings_left_out++;
        return PLUMB_OK;
    }
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    plumb_utf8_make_printable(text, false);
    char *copy = plumb_arena_text(&file->arena, text, strlen(text));
    void *warnings = file->warnings;
    if (!copy || !make_room(&warnings, file->warning_count, &file->warning_capacity,
                            sizeof *file->warnings))
        return plumb_fail_memory(err);
    file->warnings = warnings;
    file->warnings[file->warning_count++] = copy;
    return PLUMB_OK;
}

const char *plumb_file_path(const struct plumb_file *file)
{
    return file->path;
}

const char *plumb_file_format(const struct plumb_file *file)
{
    return file->format;
}

const char *plumb_file_framework(const struct plumb_file *file)
{
    return file->framework;
}

size_t plumb_file_tensor_count(const struct plumb_file *file)
{
    return file->tensor_count;
}

const struct plumb_tensor *plumb_file_tensor(const struct plumb_file *file, size_t i)
{
    return i < file->tensor_count ? file->tensors[i] : NULL;
}

const struct plumb_tensor *plumb_file_find(const struct plumb_file *file, const char *name)
{
    size_t i;
    return plumb_table_get(&file->names, name, &i) ? file->tensors[i] : NULL;
}

size_t plumb_file_note_count(const struct plumb_file *file)
{
    return file->note_count;
}

const struct plumb_note *plumb_file_note(const struct plumb_file *file, size_t i)
{
    return i < file->note_count ? &file->notes[i] : NULL;
}

size_t plumb_file_warning_count(const struct plumb_file *file)
{
    return file->warning_count;
}

const char *plumb_file_warning(const struct plumb_file *file, size_t i)
{
    return i < file->warning_count ? file->warnings[i] : NULL;
}
