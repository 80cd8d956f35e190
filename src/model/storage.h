/*
 * storage.h - where the bytes of tensors lie.
 *
 * A storage is either pieces of mapped files that follow each other (nearly always one), or
 * content that has to be produced first: inflated, decoded or assembled. Produced content is
 * made on first use, in a temporary file, and can be dropped again.
 */
#ifndef PLUMB_MODEL_STORAGE_H
#define PLUMB_MODEL_STORAGE_H

#include "base/map.h"

#include <pthread.h>
#include <stdatomic.h>

struct plumb_piece {
    const struct plumb_map *map;
    uint64_t offset; /* in the map */
    uint64_t size;
};

struct plumb_storage;

/* Writes all `storage->size` bytes of the content to `memory`. */
typedef enum plumb_status plumb_produce(const struct plumb_storage *storage, void *memory,
                                        struct plumb_error *err);

/* The part of a storage that changes behind its const: content that was produced. */
struct plumb_lazy {
    pthread_mutex_t lock;
    void *memory; /* NULL: not there now */
};

struct plumb_storage {
    uint64_t size;                    /* bytes of content */
    const struct plumb_piece *pieces; /* NULL: the content has to be produced */
    size_t piece_count;
    plumb_produce *produce;
    const void *recipe; /* for `produce` */
    bool big_endian;
    bool has_crc; /* crc: zlib's crc32 over the content, as the file says */
    uint32_t crc;
    const char *label;              /* what the file calls it, for messages */
    atomic_uint_fast64_t *seen_crc; /* of a pass that went over all of it; see below */
    struct plumb_lazy *lazy;        /* NULL for a single piece */
};

/* Passes over the values can take the checksum on the way, while the bytes are in the cache;
 * verify.h then needs no pass of its own. */
void plumb_storage_note_crc(const struct plumb_storage *storage, uint32_t crc);
/* False if no pass has noted it. */
bool plumb_storage_noted_crc(const struct plumb_storage *storage, uint32_t *crc);

/* Copies bytes [offset, offset + size) of the content, which the caller knows to exist. */
enum plumb_status plumb_storage_read(const struct plumb_storage *storage, uint64_t offset,
                                     size_t size, void *buffer, struct plumb_error *err);
/* All of the content at one address, valid until it is dropped or the file closed. Several
 * pieces are joined in a temporary file. */
enum plumb_status plumb_storage_address(const struct plumb_storage *storage,
                                        const unsigned char **address, struct plumb_error *err);
/* Gives back what producing took; the next use makes it again. Nobody may be reading. */
void plumb_storage_drop(const struct plumb_storage *storage);

#endif
