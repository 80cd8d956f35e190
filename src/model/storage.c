/* storage.c - reading the content behind tensors; see storage.h. */
#include "model/storage.h"

#include "base/error.h"

#include <string.h>

static enum plumb_status read_pieces(const struct plumb_storage *storage, uint64_t offset,
                                     size_t size, unsigned char *to, struct plumb_error *err)
{
    for (size_t i = 0; size && i < storage->piece_count; i++) {
        const struct plumb_piece *piece = &storage->pieces[i];
        if (offset >= piece->size) {
            offset -= piece->size;
            continue;
        }
        const uint64_t left = piece->size - offset;
        const size_t part = size < left ? size : (size_t)left;
        enum plumb_status status =
            plumb_map_read(piece->map, piece->offset + offset, part, to, err);
        if (status)
            return status;
        to += part;
        size -= part;
        offset = 0;
    }
    if (size)
        return plumb_fail(err, PLUMB_DAMAGED, -1,
                          "%s: the file holds fewer bytes than its tensors need",
                          storage->label);
    return PLUMB_OK;
}

static enum plumb_status make_content(const struct plumb_storage *storage,
                                      struct plumb_error *err)
{
    void *memory = NULL;
    enum plumb_status status = plumb_spill_new((size_t)storage->size, &memory, err);
    if (status)
        return status;
    status = storage->produce ? storage->produce(storage, memory, err)
                              : read_pieces(storage, 0, (size_t)storage->size, memory, err);
    if (status) {
        plumb_spill_free(memory, (size_t)storage->size);
        return status;
    }
    storage->lazy->memory = memory;
    return PLUMB_OK;
}

static const uint64_t NOTED = UINT64_C(1) << 32; /* beside a crc that may be 0 */

void plumb_storage_note_crc(const struct plumb_storage *storage, uint32_t crc)
{
    if (storage->seen_crc)
        atomic_store(storage->seen_crc, NOTED | crc);
}

bool plumb_storage_noted_crc(const struct plumb_storage *storage, uint32_t *crc)
{
    const uint64_t seen = storage->seen_crc ? atomic_load(storage->seen_crc) : 0;
    *crc = (uint32_t)seen;
    return seen & NOTED;
}

enum plumb_status plumb_storage_address(const struct plumb_storage *storage,
                                        const unsigned char **address, struct plumb_error *err)
{
    if (storage->pieces && storage->piece_count == 1) {
        *address = storage->pieces[0].map->base + storage->pieces[0].offset;
        return PLUMB_OK;
    }
    struct plumb_lazy *lazy = storage->lazy;
    (void)pthread_mutex_lock(&lazy->lock);
    enum plumb_status status = lazy->memory ? PLUMB_OK : make_content(storage, err);
    *address = lazy->memory;
    (void)pthread_mutex_unlock(&lazy->lock);
    return status;
}

enum plumb_status plumb_storage_read(const struct plumb_storage *storage, uint64_t offset,
                                     size_t size, void *buffer, struct plumb_error *err)
{
    if (storage->pieces)
        return read_pieces(storage, offset, size, buffer, err);
    const unsigned char *address = NULL;
    enum plumb_status status = plumb_storage_address(storage, &address, err);
    if (status == PLUMB_OK && size)
        memcpy(buffer, address + offset, size);
    return status;
}

void plumb_storage_drop(const struct plumb_storage *storage)
{
    struct plumb_lazy *lazy = storage->lazy;
    if (!lazy)
        return;
    (void)pthread_mutex_lock(&lazy->lock);
    plumb_spill_free(lazy->memory, (size_t)storage->size);
    lazy->memory = NULL;
    (void)pthread_mutex_unlock(&lazy->lock);
}
