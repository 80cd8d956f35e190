/* zip_storage.c - a member of a zip archive as the storage of tensors; see zip_storage.h. */
#include "format/zip_storage.h"

#include "base/error.h"

struct recipe {
    const struct plumb_map *map;
    const struct plumb_zip_entry *entry;
};

static enum plumb_status unpack(const struct plumb_storage *storage, void *memory,
                                struct plumb_error *err)
{
    const struct recipe *recipe = storage->recipe;
    return plumb_zip_extract(recipe->map, recipe->entry, memory, err);
}

static enum plumb_status add_packed(struct plumb_file *file, const struct plumb_map *map,
                                    const struct plumb_zip_entry *entry,
                                    struct plumb_storage **storage, struct plumb_error *err)
{
    struct recipe *recipe = plumb_arena_alloc(&file->arena, 1, sizeof *recipe);
    if (!recipe)
        return plumb_fail_memory(err);
    *recipe = (struct recipe){.map = map, .entry = entry};
    return plumb_file_add_produced(file, entry->size, unpack, recipe, entry->name, storage,
                                   err);
}

enum plumb_status plumb_zip_add_storage(struct plumb_file *file, const struct plumb_map *map,
                                        const struct plumb_zip_entry *entry,
                                        struct plumb_storage **storage, struct plumb_error *err)
{
    uint64_t offset = 0;
    enum plumb_status status = plumb_zip_locate(map, entry, &offset, err);
    if (status)
        return status;
    if (entry->method == PLUMB_ZIP_STORED)
        status =
            plumb_file_add_storage(file, map, offset, entry->size, entry->name, storage, err);
    else
        status = add_packed(file, map, entry, storage, err);
    if (status)
        return status;
    /* Writers that are told not to compute it put 0 (torch.serialization.set_crc32_options). */
    (*storage)->has_crc = entry->crc != 0;
    (*storage)->crc = entry->crc;
    return PLUMB_OK;
}

enum plumb_status plumb_zip_read_small(const struct plumb_map *map,
                                       const struct plumb_zip_entry *entry,
                                       struct plumb_arena *arena, const unsigned char **bytes,
                                       struct plumb_error *err)
{
    uint64_t offset = 0;
    enum plumb_status status = plumb_zip_locate(map, entry, &offset, err);
    if (status)
        return status;
    if (entry->method == PLUMB_ZIP_STORED) {
        *bytes = map->base + offset;
        return PLUMB_OK;
    }
    if (arena->limit && entry->size > arena->limit - arena->allocated)
        return plumb_fail(err, PLUMB_LIMIT, (int64_t)entry->header,
                          "%s: no room to unpack member %s of %llu bytes", map->path,
                          entry->name, (unsigned long long)entry->size);
    unsigned char *unpacked = plumb_arena_alloc(arena, (size_t)entry->size, 1);
    if (!unpacked)
        return plumb_fail_memory(err);
    *bytes = unpacked;
    return plumb_zip_extract(map, entry, unpacked, err);
}
