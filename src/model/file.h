/*
 * file.h - what a reader fills: the tensors of a file, their storages, notes and warnings.
 *
 * Readers call the plumb_file_add_* functions; all memory is the file's arena. Checks that
 * every format needs (sizes, overflow, elements inside their storage) are made here, once.
 */
#ifndef PLUMB_MODEL_FILE_H
#define PLUMB_MODEL_FILE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/table.h"
#include "model/storage.h"

enum {
    PLUMB_MAX_TENSORS = 4 << 20, /* more is not a checkpoint but an attack */
    PLUMB_MAX_NOTES = 1 << 20,
    PLUMB_MAX_WARNINGS = 1000, /* further ones are only counted */
    PLUMB_MAX_NAME = 1 << 16,
};

/* A checksum over a stretch of a file that is not just one storage (MindSpore's trailer). */
struct plumb_file_check {
    const struct plumb_map *map;
    uint64_t offset, size; /* inside the map */
    uint32_t crc;          /* zlib's crc32, as the file says */
    const char *label;     /* what it covers; lives in the arena */
};

struct plumb_file {
    struct plumb_arena arena; /* holds every tensor, storage, note, warning and name */
    char *path;
    const char *format;    /* static text */
    const char *framework; /* static text, "" if unknown */
    struct plumb_map **maps;
    size_t map_count, map_capacity;
    struct plumb_storage **storages;
    size_t storage_count, storage_capacity;
    struct plumb_tensor **tensors; /* in the order of the file */
    size_t tensor_count, tensor_capacity;
    struct plumb_table names;
    struct plumb_note *notes;
    size_t note_count, note_capacity;
    struct plumb_file_check *checks;
    size_t check_count, check_capacity;
    const char **warnings;
    size_t warning_count, warning_capacity, warnings_left_out;
    int depth; /* of files that include files */
};

enum plumb_status plumb_file_new(const char *path, struct plumb_file **file,
                                 struct plumb_error *err);

/* The file becomes the owner of `map`, also on failure. */
enum plumb_status plumb_file_own_map(struct plumb_file *file, struct plumb_map *map,
                                     struct plumb_error *err);

/* One piece: bytes [offset, offset + size) of `map`; PLUMB_DAMAGED if they are not all in it.
 * The label is copied; the result may still be changed (big_endian, crc). */
enum plumb_status plumb_file_add_storage(struct plumb_file *file, const struct plumb_map *map,
                                         uint64_t offset, uint64_t size, const char *label,
                                         struct plumb_storage **storage,
                                         struct plumb_error *err);
/* Several pieces, copied; each must lie inside its map. */
enum plumb_status plumb_file_add_pieces(struct plumb_file *file,
                                        const struct plumb_piece *pieces, size_t count,
                                        const char *label, struct plumb_storage **storage,
                                        struct plumb_error *err);
/* Content of `size` bytes made by `produce` from `recipe` (which lives in the arena). */
enum plumb_status plumb_file_add_produced(struct plumb_file *file, uint64_t size,
                                          plumb_produce *produce, const void *recipe,
                                          const char *label, struct plumb_storage **storage,
                                          struct plumb_error *err);

/* What a reader says about one tensor. Only `storage` needs to outlive the call. */
struct plumb_tensor_spec {
    const char *name;
    enum plumb_dtype dtype;
    int rank;
    const int64_t *shape;
    const int64_t *strides; /* in elements; NULL: C order */
    const struct plumb_storage *storage;
    uint64_t offset;    /* byte of the first element in the storage */
    bool not_parameter; /* optimizer state, random state, ...: see plumb_tensor.parameter */
};

/* Fails with PLUMB_DAMAGED if an element would lie outside the storage, with PLUMB_LIMIT if
 * sizes overflow. A second tensor of the same name is kept as "name#2", with a warning. */
enum plumb_status plumb_file_add_tensor(struct plumb_file *file,
                                        const struct plumb_tensor_spec *spec,
                                        struct plumb_error *err);

/* `json` is a JSON value, e.g. 1e-3 or "adamw" with its quotes. Both are copied. */
enum plumb_status plumb_file_add_note(struct plumb_file *file, const char *key,
                                      const char *json, struct plumb_error *err);
/* Verified when the file is scanned; a mismatch becomes a warning then. */
enum plumb_status plumb_file_add_check(struct plumb_file *file,
                                       const struct plumb_file_check *check,
                                       struct plumb_error *err);
enum plumb_status plumb_file_warn(struct plumb_file *file, struct plumb_error *err,
                                  const char *format, ...) PLUMB_PRINTF(3, 4);

/* The product of the shape; false if it overflows or a dimension is negative. */
bool plumb_shape_count(int rank, const int64_t *shape, int64_t *count);

#endif
