/*
 * torch_legacy.c - what torch.save() wrote before PyTorch 1.6 (and still can).
 *
 *   pickle   the number 0x1950a86a20f9469cfc6c
 *   pickle   the number 1001
 *   pickle   a dict about the machine that wrote it
 *   pickle   the object; tensors in it refer to storages by a key
 *   pickle   the list of all keys
 *   for each key, in that order: i64 number of elements, then the elements; little endian
 *
 * The size of an element is not beside the data: it follows from the references in the object.
 * Even older files (before 0.1.10) are tar archives, which are recognised but not read.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "format/format.h"
#include "format/torch_tree.h"

#include <string.h>

enum {
    PROTOCOL = 1001,
    MAGIC_WITHIN = 32, /* PROTO and FRAME may come before the number */
    TAR_MAGIC_AT = 257,
};

static const char magic_digits[] = "119547037146038801333356"; /* 0x1950a86a20f9469cfc6c */
static const unsigned char magic_bytes[] = {0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                            0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
static const size_t tree_limit = (size_t)4 << 30;

struct legacy {
    struct plumb_file *file;
    const struct plumb_map *map;
    struct plumb_arena *arena;
    size_t at; /* next byte to read */
    struct plumb_pickle object;
    struct plumb_table referenced; /* keys to indices in object.references */
    struct plumb_table stored;     /* keys to indices in file->storages */
};

static bool is_tar(const struct plumb_map *map)
{
    static const char *const members[] = {"sys_info", "pickle", "storages", "tensors"};
    if (map->size < 512 || memcmp(map->base + TAR_MAGIC_AT, "ustar", 5) != 0)
        return false;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strncmp((const char *)map->base, members[i], 100) == 0)
            return true;
    return false;
}

static enum plumb_probe probe(const struct plumb_map *map)
{
    if (map->size > strlen(magic_digits) + 1 && map->base[0] == 'L' &&
        memcmp(map->base + 1, magic_digits, strlen(magic_digits)) == 0)
        return PLUMB_PROBE_CERTAIN;
    if (map->size > MAGIC_WITHIN && map->base[0] == 0x80 &&
        memmem(map->base, MAGIC_WITHIN, magic_bytes, sizeof magic_bytes))
        return PLUMB_PROBE_CERTAIN;
    return is_tar(map) ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_NO;
}

static enum plumb_status next_pickle(struct legacy *legacy, struct plumb_pickle *pickle,
                                     struct plumb_error *err)
{
    const struct plumb_pickle_source source = {.label = legacy->file->path,
                                               .bytes = legacy->map->base + legacy->at,
                                               .size = legacy->map->size - legacy->at,
                                               .offset = legacy->at};
    enum plumb_status status = plumb_pickle_read(&source, legacy->arena, pickle, err);
    if (status == PLUMB_OK)
        legacy->at += pickle->used;
    return status;
}

static enum plumb_status read_head(struct legacy *legacy, struct plumb_error *err)
{
    struct plumb_pickle magic = {0}, version = {0}, system = {0};
    enum plumb_status status = next_pickle(legacy, &magic, err);
    if (status == PLUMB_OK)
        status = next_pickle(legacy, &version, err);
    if (status)
        return status;
    int64_t number = 0;
    if (!plumb_pickle_is(magic.root, PLUMB_PICKLE_BIG) ||
        strcmp(magic.root->text, magic_digits) != 0 ||
        !plumb_pickle_int(version.root, &number) || number != PROTOCOL)
        return plumb_fail(
            err, PLUMB_UNSUPPORTED, 0,
            "%s: expected PyTorch's number and its protocol %d at the start, found "
            "something else; load it in PyTorch and save it again",
            legacy->file->path, PROTOCOL);
    return next_pickle(legacy, &system, err);
}

/* Which type each storage has, by its key. */
static enum plumb_status index_references(struct legacy *legacy, struct plumb_error *err)
{
    const struct plumb_pickle_node *references = legacy->object.references;
    for (uint32_t i = 0; i < references->count; i++) {
        struct plumb_torch_reference reference;
        if (!plumb_torch_reference_parse(references->items[i], &reference))
            continue;
        if (!plumb_table_put(&legacy->referenced, reference.key, i))
            return plumb_fail_memory(err);
    }
    return PLUMB_OK;
}

static enum plumb_status read_storage(struct legacy *legacy, const char *key,
                                      struct plumb_error *err)
{
    size_t index = 0;
    struct plumb_torch_reference reference;
    if (!key || !plumb_table_get(&legacy->referenced, key, &index) ||
        !plumb_torch_reference_parse(legacy->object.references->items[index], &reference))
        return plumb_fail(
            err, PLUMB_UNSUPPORTED, (int64_t)legacy->at,
            "%s: the storage at byte %zu is of a type that Plumb does not know, so "
            "that its size is unknown; load it in PyTorch and save it again",
            legacy->file->path, legacy->at);
    struct plumb_bytes in = plumb_bytes_of(legacy->map->base, legacy->map->size);
    plumb_bytes_seek(&in, legacy->at);
    const uint64_t elements = plumb_bytes_u64(&in);
    uint64_t size = 0;
    if (!plumb_bytes_ok(&in) || elements > INT64_MAX ||
        __builtin_mul_overflow(elements, plumb_dtype_size(reference.dtype), &size) ||
        size > plumb_bytes_left(&in))
        return plumb_fail(err, PLUMB_DAMAGED, (int64_t)legacy->at,
                          "%s: the storage at byte %zu does not fit the file of %zu bytes; the "
                          "file is truncated, copy it again",
                          legacy->file->path, legacy->at, legacy->map->size);
    struct plumb_storage *storage = NULL;
    enum plumb_status status =
        plumb_file_add_storage(legacy->file, legacy->map, in.at, size, key, &storage, err);
    if (status)
        return status;
    legacy->at = in.at + (size_t)size;
    return plumb_table_put(&legacy->stored, key, legacy->file->storage_count - 1)
               ? PLUMB_OK
               : plumb_fail_memory(err);
}

static enum plumb_status read_storages(struct legacy *legacy, struct plumb_error *err)
{
    struct plumb_pickle keys = {0};
    enum plumb_status status = next_pickle(legacy, &keys, err);
    if (status == PLUMB_OK && !plumb_pickle_is(keys.root, PLUMB_PICKLE_LIST))
        status = plumb_fail(err, PLUMB_DAMAGED, (int64_t)legacy->at,
                            "%s: expected the list of storages before byte %zu",
                            legacy->file->path, legacy->at);
    if (status)
        return status;
    for (uint32_t i = 0; i < keys.root->count && status == PLUMB_OK; i++)
        status = read_storage(legacy, plumb_pickle_text(keys.root->items[i]), err);
    if (status == PLUMB_OK && legacy->at != legacy->map->size)
        status = plumb_file_warn(legacy->file, err, "%zu bytes follow the last storage",
                                 legacy->map->size - legacy->at);
    return status;
}

static enum plumb_status find_storage(void *context,
                                      const struct plumb_torch_reference *reference,
                                      const struct plumb_storage **out, struct plumb_error *err)
{
    const struct legacy *legacy = context;
    size_t index = 0;
    if (!plumb_table_get(&legacy->stored, reference->key, &index))
        return plumb_fail(err, PLUMB_DAMAGED, -1,
                          "%s: the data of storage '%.100s' is not in the file",
                          legacy->file->path, reference->key);
    *out = legacy->file->storages[index];
    return PLUMB_OK;
}

static enum plumb_status read_parts(struct legacy *legacy, struct plumb_error *err)
{
    enum plumb_status status = read_head(legacy, err);
    if (status == PLUMB_OK)
        status = next_pickle(legacy, &legacy->object, err);
    if (status == PLUMB_OK)
        status = index_references(legacy, err);
    if (status == PLUMB_OK)
        status = read_storages(legacy, err);
    if (status)
        return status;
    const struct plumb_torch_tree tree = {.file = legacy->file,
                                          .root = legacy->object.root,
                                          .find = find_storage,
                                          .context = legacy};
    return plumb_torch_add_tree(&tree, err);
}

static enum plumb_status read_legacy(struct plumb_file *file, const struct plumb_map *map,
                                     struct plumb_error *err)
{
    file->framework = "pytorch";
    if (is_tar(map))
        return plumb_fail(err, PLUMB_UNSUPPORTED, 0,
                          "%s: a tar archive, as PyTorch before 0.1.10 wrote it; load it in "
                          "PyTorch and save it again",
                          file->path);
    struct plumb_arena arena = {.limit = tree_limit};
    struct legacy legacy = {.file = file, .map = map, .arena = &arena};
    enum plumb_status status = read_parts(&legacy, err);
    plumb_table_release(&legacy.referenced);
    plumb_table_release(&legacy.stored);
    plumb_arena_release(&arena);
    return status;
}

const struct plumb_format plumb_format_torch_legacy = {
    .entry = {.name = "torch-legacy",
              .summary = "PyTorch checkpoint of before 1.6, not a zip archive",
              .detail =
                  "Five pickles, then the bytes of the storages one after the other. Read in "
                  "the same way\nas format torch, without running the pickles."},
    .extensions = "",
    .probe = probe,
    .read = read_legacy,
};
