/* torch_chunks.c - one tensor of several boxes; see torch_chunks.h. */
#include "format/torch_chunks.h"

#include "base/error.h"

#include <stdlib.h>

enum { MOST_CHUNKS = 1 << 14 }; /* they are compared with each other */

static enum plumb_status check_chunk(const struct plumb_file *file,
                                     const struct plumb_torch_whole *whole,
                                     const struct plumb_torch_chunk *chunk,
                                     struct plumb_error *err)
{
    bool fits = chunk->tensor.rank == whole->rank && chunk->tensor.dtype == whole->dtype;
    for (int i = 0; fits && i < whole->rank; i++) {
        int64_t end = 0;
        fits = chunk->offsets[i] >= 0 &&
               !__builtin_add_overflow(chunk->offsets[i], chunk->tensor.shape[i], &end) &&
               end <= whole->shape[i];
    }
    if (fits)
        return PLUMB_OK;
    return plumb_fail(
        err, PLUMB_DAMAGED, -1,
        "%s: a part of tensor '%s' does not fit it: shapes, offsets or types of the "
        "data and of .metadata disagree",
        file->path, whole->name);
}

static enum plumb_status check_filled(const struct plumb_file *file,
                                      const struct plumb_torch_whole *whole,
                                      struct plumb_error *err)
{
    int64_t wanted = 0, found = 0;
    if (!plumb_shape_count(whole->rank, whole->shape, &wanted))
        return plumb_fail(err, PLUMB_LIMIT, -1,
                          "%s: the shape of tensor '%s' multiplies to more than 2^63",
                          file->path, whole->name);
    for (size_t i = 0; i < whole->count; i++)
        if (__builtin_add_overflow(found, whole->chunks[i].tensor.count, &found))
            found = INT64_MAX;
    if (found == wanted)
        return PLUMB_OK;
    return plumb_fail(
        err, PLUMB_DAMAGED, -1,
        "%s: tensor '%s' has %lld values but its parts hold %lld; are .distcp files "
        "missing?",
        file->path, whole->name, (long long)wanted, (long long)found);
}

static bool overlap(const struct plumb_torch_whole *whole, const struct plumb_torch_chunk *a,
                    const struct plumb_torch_chunk *b)
{
    for (int i = 0; i < whole->rank; i++)
        if (a->offsets[i] + a->tensor.shape[i] <= b->offsets[i] ||
            b->offsets[i] + b->tensor.shape[i] <= a->offsets[i])
            return false;
    return true;
}

/* Boxes that together have the right number of values fill the whole if none overlap. */
static enum plumb_status check_apart(const struct plumb_file *file,
                                     const struct plumb_torch_whole *whole,
                                     struct plumb_error *err)
{
    if (whole->count > MOST_CHUNKS)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: tensor '%s' has %zu parts, more than %d",
                          file->path, whole->name, whole->count, MOST_CHUNKS);
    for (size_t i = 0; i < whole->count; i++)
        for (size_t k = i + 1; k < whole->count; k++)
            if (overlap(whole, &whole->chunks[i], &whole->chunks[k]))
                return plumb_fail(err, PLUMB_DAMAGED, -1, "%s: parts of tensor '%s' overlap",
                                  file->path, whole->name);
    return PLUMB_OK;
}

static bool is_c_order(const struct plumb_tensor *tensor)
{
    uint64_t step = 1; /* unsigned: an empty tensor may have other dimensions that overflow */
    for (int i = tensor->rank; i-- > 0;) {
        if (tensor->shape[i] != 1 && (uint64_t)tensor->strides[i] != step)
            return false;
        step *= (uint64_t)tensor->shape[i];
    }
    return true;
}

static int by_first_row(const void *a, const void *b)
{
    const struct plumb_torch_chunk *left = a, *right = b;
    return (left->offsets[0] > right->offsets[0]) - (left->offsets[0] < right->offsets[0]);
}

/* Whole rows, each box beginning where the one before ends? Sorts the boxes. */
static bool are_rows(const struct plumb_torch_whole *whole)
{
    if (whole->rank == 0)
        return whole->count == 1;
    qsort(whole->chunks, whole->count, sizeof *whole->chunks, by_first_row);
    int64_t row = 0;
    for (size_t i = 0; i < whole->count; i++) {
        const struct plumb_torch_chunk *chunk = &whole->chunks[i];
        if (chunk->offsets[0] != row || !is_c_order(&chunk->tensor) ||
            chunk->tensor.storage->big_endian)
            return false;
        for (int k = 1; k < whole->rank; k++)
            if (chunk->tensor.shape[k] != whole->shape[k])
                return false;
        row += chunk->tensor.shape[0];
    }
    return true;
}

static enum plumb_status add_rows(struct plumb_file *file,
                                  const struct plumb_torch_whole *whole,
                                  struct plumb_storage **storage, struct plumb_error *err)
{
    struct plumb_piece *pieces = plumb_arena_alloc(&file->arena, whole->count, sizeof *pieces);
    if (!pieces)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < whole->count; i++) {
        const struct plumb_tensor *tensor = &whole->chunks[i].tensor;
        const struct plumb_piece *piece = &tensor->storage->pieces[0];
        pieces[i] = (struct plumb_piece){.map = piece->map,
                                         .offset = piece->offset + (uint64_t)tensor->offset,
                                         .size = (uint64_t)tensor->count *
                                                 plumb_dtype_size(tensor->dtype)};
    }
    return plumb_file_add_pieces(file, pieces, whole->count, whole->name, storage, err);
}

/* How many values of a box lie side by side in the whole: its full trailing dimensions and the
 * one before them. */
static int64_t run_length(const struct plumb_torch_whole *whole,
                          const struct plumb_torch_chunk *chunk)
{
    int64_t length = 1;
    for (int i = whole->rank; i-- > 0;) {
        length *= chunk->tensor.shape[i];
        if (chunk->tensor.shape[i] != whole->shape[i])
            break;
    }
    return length;
}

/* Where value `index` of a box (in its own order) lies in the whole, in values. */
static int64_t place_of(const struct plumb_torch_whole *whole,
                        const struct plumb_torch_chunk *chunk, int64_t index)
{
    int64_t place = 0, step = 1;
    for (int i = whole->rank; i-- > 0;) {
        place += (index % chunk->tensor.shape[i] + chunk->offsets[i]) * step;
        index /= chunk->tensor.shape[i];
        step *= whole->shape[i];
    }
    return place;
}

static enum plumb_status assemble(const struct plumb_storage *storage, void *memory,
                                  struct plumb_error *err)
{
    const struct plumb_torch_whole *whole = storage->recipe;
    const size_t size = plumb_dtype_size(whole->dtype);
    for (size_t i = 0; i < whole->count; i++) {
        const struct plumb_torch_chunk *chunk = &whole->chunks[i];
        if (chunk->tensor.count == 0)
            continue;
        const int64_t run = run_length(whole, chunk);
        for (int64_t at = 0; at < chunk->tensor.count; at += run) {
            char *to = (char *)memory + (size_t)place_of(whole, chunk, at) * size;
            enum plumb_status status = plumb_tensor_read(&chunk->tensor, at, run, to, err);
            if (status)
                return status;
        }
    }
    return PLUMB_OK;
}

static enum plumb_status add_assembled(struct plumb_file *file,
                                       const struct plumb_torch_whole *whole,
                                       struct plumb_storage **storage, struct plumb_error *err)
{
    struct plumb_torch_whole *recipe = plumb_arena_alloc(&file->arena, 1, sizeof *recipe);
    int64_t count = 0;
    uint64_t size = 0;
    if (!recipe)
        return plumb_fail_memory(err);
    *recipe = *whole;
    if (!plumb_shape_count(whole->rank, whole->shape, &count) ||
        __builtin_mul_overflow((uint64_t)count, plumb_dtype_size(whole->dtype), &size))
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: tensor '%s' is larger than 2^63 bytes",
                          file->path, whole->name);
    return plumb_file_add_produced(file, size, assemble, recipe, whole->name, storage, err);
}

enum plumb_status plumb_torch_add_chunks(struct plumb_file *file,
                                         const struct plumb_torch_whole *whole,
                                         struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < whole->count && status == PLUMB_OK; i++)
        status = check_chunk(file, whole, &whole->chunks[i], err);
    if (status == PLUMB_OK)
        status = check_filled(file, whole, err);
    if (status == PLUMB_OK)
        status = check_apart(file, whole, err);
    if (status)
        return status;
    struct plumb_tensor_spec spec = {.name = whole->name,
                                     .dtype = whole->dtype,
                                     .rank = whole->rank,
                                     .shape = whole->shape,
                                     .not_parameter = whole->not_parameter};
    struct plumb_storage *storage = NULL;
    if (whole->count == 1) { /* where it is, with the strides it has */
        spec.storage = whole->chunks[0].tensor.storage;
        spec.strides = whole->chunks[0].tensor.strides;
        spec.offset = (uint64_t)whole->chunks[0].tensor.offset;
        return plumb_file_add_tensor(file, &spec, err);
    }
    status = are_rows(whole) ? add_rows(file, whole, &storage, err)
                             : add_assembled(file, whole, &storage, err);
    if (status)
        return status;
    spec.storage = storage;
    return plumb_file_add_tensor(file, &spec, err);
}
