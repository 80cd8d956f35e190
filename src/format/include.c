/*
 * include.c - one file's tensors become part of another: shards of an index, files of a
 * directory. Storages and maps move over; nothing is copied but names.
 */
#include "format/format.h"

#include "base/error.h"

#include <string.h>

/* A storage of `from` as a storage of `to`. They share the maps, which `to` now owns. */
static enum plumb_status adopt_storage(struct plumb_file *to, const struct plumb_storage *old,
                                       struct plumb_storage **adopted, struct plumb_error *err)
{
    enum plumb_status status;
    if (old->pieces)
        status =
            plumb_file_add_pieces(to, old->pieces, old->piece_count, old->label, adopted, err);
    else
        status = plumb_file_add_produced(to, old->size, old->produce, old->recipe, old->label,
                                         adopted, err);
    if (status)
        return status;
    (*adopted)->big_endian = old->big_endian;
    (*adopted)->has_crc = old->has_crc;
    (*adopted)->crc = old->crc;
    return PLUMB_OK;
}

static enum plumb_status adopt_storages(struct plumb_file *to, const struct plumb_file *from,
                                        struct plumb_storage **adopted, struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < from->storage_count && status == PLUMB_OK; i++)
        status = adopt_storage(to, from->storages[i], &adopted[i], err);
    return status;
}

static const struct plumb_storage *adopted_of(const struct plumb_file *from,
                                              struct plumb_storage *const *adopted,
                                              const struct plumb_storage *old, size_t *guess)
{
    /* Tensors come in the order of their storages nearly always: look where the last one was. */
    for (size_t n = 0; n < from->storage_count; n++) {
        const size_t i = (*guess + n) % from->storage_count;
        if (from->storages[i] == old) {
            *guess = i;
            return adopted[i];
        }
    }
    return NULL;
}

static enum plumb_status adopt_tensors(struct plumb_file *to, const struct plumb_file *from,
                                       const char *prefix, const struct plumb_table *only,
                                       struct plumb_storage *const *adopted,
                                       struct plumb_error *err)
{
    size_t guess = 0, ignored, left_out = 0;
    for (size_t i = 0; i < from->tensor_count; i++) {
        const struct plumb_tensor *tensor = from->tensors[i];
        if (only && !plumb_table_get(only, tensor->name, &ignored)) {
            left_out++;
            continue;
        }
        char *name = plumb_arena_printf(&to->arena, "%s%s", prefix, tensor->name);
        if (!name)
            return plumb_fail_memory(err);
        const struct plumb_tensor_spec spec = {
            .name = name,
            .dtype = tensor->dtype,
            .rank = tensor->rank,
            .shape = tensor->shape,
            .strides = tensor->strides,
            .storage = adopted_of(from, adopted, tensor->storage, &guess),
            .offset = (uint64_t)tensor->offset,
            .not_parameter = !tensor->parameter,
        };
        enum plumb_status status = plumb_file_add_tensor(to, &spec, err);
        if (status)
            return status;
    }
    if (!left_out)
        return PLUMB_OK;
    return plumb_file_warn(to, err, "%s: %zu tensor%s in it that the index does not name",
                           from->path, left_out, left_out == 1 ? "" : "s");
}

static enum plumb_status adopt_words(struct plumb_file *to, const struct plumb_file *from,
                                     const char *prefix, struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < from->note_count && status == PLUMB_OK; i++) {
        char *key = plumb_arena_printf(&to->arena, "%s%s", prefix, from->notes[i].key);
        status = key ? plumb_file_add_note(to, key, from->notes[i].json, err)
                     : plumb_fail_memory(err);
    }
    for (size_t i = 0; i < from->check_count && status == PLUMB_OK; i++)
        status = plumb_file_add_check(to, &from->checks[i], err);
    for (size_t i = 0; i < from->warning_count && status == PLUMB_OK; i++)
        status = plumb_file_warn(to, err, "%s: %s", from->path, from->warnings[i]);
    to->warnings_left_out += from->warnings_left_out;
    return status;
}

enum plumb_status plumb_file_absorb(struct plumb_file *to, struct plumb_file *from,
                                    const char *prefix, const struct plumb_table *only,
                                    struct plumb_error *err)
{
    struct plumb_storage **adopted =
        plumb_arena_alloc(&to->arena, from->storage_count, sizeof(struct plumb_storage *));
    enum plumb_status status =
        adopted ? adopt_storages(to, from, adopted, err) : plumb_fail_memory(err);
    if (status == PLUMB_OK)
        status = adopt_tensors(to, from, prefix, only, adopted, err);
    if (status == PLUMB_OK)
        status = adopt_words(to, from, prefix, err);
    if (!*to->framework)
        to->framework = from->framework;
    /* Even after a failure: what was adopted so far refers to these maps. */
    while (from->map_count) {
        struct plumb_map *map = from->maps[--from->map_count];
        const enum plumb_status moved = plumb_file_own_map(to, map, status ? NULL : err);
        status = status ? status : moved;
    }
    /* Recipes of produced content live in the arena of the file that made them. */
    plumb_arena_join(&to->arena, &from->arena);
    return status;
}
