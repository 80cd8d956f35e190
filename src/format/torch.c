/*
 * torch.c - what torch.save() writes since PyTorch 1.6: a zip archive.
 *
 *   <root>/data.pkl     the pickled object; tensors in it refer to storages by a key
 *   <root>/data/<key>   the bytes of one storage, 64-byte aligned since 2.1
 *   <root>/byteorder    "little" or "big"; absent in old files: little
 *   <root>/version      "3"
 *   <root>/constants.pkl, <root>/code/...   only in a TorchScript archive
 *
 * <root> is any name: the file's stem, or "archive".
 */
#include "base/crc32.h"
#include "base/error.h"
#include "base/text.h"
#include "format/format.h"
#include "format/torch_tree.h"
#include "format/torch_write.h"
#include "format/zip_storage.h"

#include <string.h>

static const char pickle_name[] = "data.pkl";
/* A pickle's tree is about 40 times its bytes at worst; more than this is an attack. */
static const size_t tree_limit = (size_t)4 << 30;

struct archive {
    struct plumb_file *file;
    const struct plumb_map *map;
    struct plumb_zip zip;
    const char *root;         /* with its slash, or "" */
    struct plumb_table known; /* storage keys to indices in file->storages */
    bool big_endian;
};

/* The member `<root>/<name>`; NULL if there is none. */
static enum plumb_status find_member(struct archive *archive, const char *name,
                                     const struct plumb_zip_entry **entry,
                                     struct plumb_error *err)
{
    const char *path = plumb_arena_printf(&archive->file->arena, "%s%s", archive->root, name);
    if (!path)
        return plumb_fail_memory(err);
    *entry = plumb_zip_find(&archive->zip, path);
    return PLUMB_OK;
}

static const struct plumb_zip_entry *find_pickle(const struct plumb_zip *zip)
{
    for (size_t i = 0; i < zip->count; i++) {
        const char *slash = strchr(zip->entries[i].name, '/');
        const char *name = slash ? slash + 1 : zip->entries[i].name;
        if (strcmp(name, pickle_name) == 0)
            return &zip->entries[i];
    }
    return NULL;
}

static enum plumb_probe probe(const struct plumb_map *map)
{
    if (!plumb_zip_begins(map))
        return PLUMB_PROBE_NO;
    struct plumb_arena arena = {0};
    struct plumb_zip zip;
    enum plumb_probe sure = PLUMB_PROBE_NO;
    if (plumb_zip_open(map, &arena, &zip, NULL) == PLUMB_OK) {
        if (find_pickle(&zip))
            sure = PLUMB_PROBE_CERTAIN;
        plumb_zip_release(&zip);
    } else {
        sure = PLUMB_PROBE_MAYBE; /* so that reading it says what is wrong with the archive */
    }
    plumb_arena_release(&arena);
    return sure;
}

static enum plumb_status find_storage(void *context,
                                      const struct plumb_torch_reference *reference,
                                      const struct plumb_storage **out, struct plumb_error *err)
{
    struct archive *archive = context;
    struct plumb_file *file = archive->file;
    size_t index = 0;
    if (plumb_table_get(&archive->known, reference->key, &index)) {
        *out = file->storages[index];
        return PLUMB_OK;
    }
    char *name = plumb_arena_printf(&file->arena, "data/%s", reference->key);
    const struct plumb_zip_entry *entry = NULL;
    enum plumb_status status =
        name ? find_member(archive, name, &entry, err) : plumb_fail_memory(err);
    if (status)
        return status;
    if (!entry)
        return plumb_fail(err, PLUMB_DAMAGED, -1,
                          "%s: the data of storage '%.100s' is not in the archive", file->path,
                          reference->key);
    struct plumb_storage *storage = NULL;
    status = plumb_zip_add_storage(file, archive->map, entry, &storage, err);
    if (status)
        return status;
    storage->big_endian = archive->big_endian;
    if (!plumb_table_put(&archive->known, name + strlen("data/"), file->storage_count - 1))
        return plumb_fail_memory(err);
    *out = storage;
    return PLUMB_OK;
}

/* Notes what kind of archive it is, besides the tensors. */
static enum plumb_status look_around(struct archive *archive, struct plumb_error *err)
{
    const struct plumb_zip_entry *order = NULL, *constants = NULL;
    const unsigned char *bytes = NULL;
    enum plumb_status status = find_member(archive, "byteorder", &order, err);
    if (status == PLUMB_OK)
        status = find_member(archive, "constants.pkl", &constants, err);
    if (status == PLUMB_OK && order && order->size == 3) {
        status = plumb_zip_read_small(archive->map, order, &archive->file->arena, &bytes, err);
        archive->big_endian = status == PLUMB_OK && memcmp(bytes, "big", 3) == 0;
    }
    if (status == PLUMB_OK && constants)
        status = plumb_file_add_note(archive->file, "torchscript", "true", err);
    return status;
}

static enum plumb_status check_pickle(struct archive *archive,
                                      const struct plumb_zip_entry *entry,
                                      const unsigned char *bytes, struct plumb_error *err)
{
    if (!entry->crc || plumb_crc32(0, bytes, (size_t)entry->size) == entry->crc)
        return PLUMB_OK;
    return plumb_file_warn(
        archive->file, err,
        "%s does not match its checksum: names, shapes or types may be wrong", entry->name);
}

static enum plumb_status read_pickle(struct archive *archive,
                                     const struct plumb_zip_entry *entry,
                                     struct plumb_arena *arena, struct plumb_error *err)
{
    const unsigned char *bytes = NULL;
    enum plumb_status status = plumb_zip_read_small(archive->map, entry, arena, &bytes, err);
    if (status == PLUMB_OK)
        status = check_pickle(archive, entry, bytes, err);
    if (status)
        return status;
    const bool mapped = entry->method == PLUMB_ZIP_STORED;
    const struct plumb_pickle_source source = {
        .label = archive->file->path,
        .bytes = bytes,
        .size = (size_t)entry->size,
        .offset = mapped ? (uint64_t)(bytes - archive->map->base) : 0};
    struct plumb_pickle pickle = {0};
    status = plumb_pickle_read(&source, arena, &pickle, err);
    if (status)
        return status;
    const struct plumb_torch_tree tree = {
        .file = archive->file, .root = pickle.root, .find = find_storage, .context = archive};
    return plumb_torch_add_tree(&tree, err);
}

static enum plumb_status read_archive(struct archive *archive, struct plumb_error *err)
{
    const struct plumb_zip_entry *entry = find_pickle(&archive->zip);
    if (!entry)
        return plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                          "%s: a zip archive without data.pkl, so not one torch.save wrote",
                          archive->file->path);
    archive->root = plumb_arena_text(&archive->file->arena, entry->name,
                                     strlen(entry->name) - strlen(pickle_name));
    if (!archive->root)
        return plumb_fail_memory(err);
    enum plumb_status status = look_around(archive, err);
    if (status)
        return status;
    struct plumb_arena arena = {.limit = tree_limit};
    status = read_pickle(archive, entry, &arena, err);
    plumb_arena_release(&arena);
    return status;
}

static enum plumb_status read_torch(struct plumb_file *file, const struct plumb_map *map,
                                    struct plumb_error *err)
{
    struct archive archive = {.file = file, .map = map};
    file->framework = "pytorch";
    enum plumb_status status = plumb_zip_open(map, &file->arena, &archive.zip, err);
    if (status)
        return status;
    status = read_archive(&archive, err);
    plumb_table_release(&archive.known);
    plumb_zip_release(&archive.zip);
    return status;
}

const struct plumb_format plumb_format_torch = {
    .entry =
        {.name = "torch",
         .summary = "PyTorch checkpoint, as torch.save writes it (.pt, .pth, .bin)",
         .detail =
             "A zip archive with a pickle that describes the objects and one member for the\n"
             "bytes of each storage. The pickle is read without running it: no name in it is\n"
             "imported and nothing is called, so that files of unknown origin are safe.\n"
             "Nested dicts, lists and objects are joined to dotted names. Tensors of\n"
             "optimizers and random generators are read and marked as no parameters; what\n"
             "is not a tensor is shown as a note; kinds of tensors that Plumb does not read\n"
             "(sparse, quantized) are notes that begin with \"opaque\". TorchScript archives\n"
             "are read for their tensors. Written files load with weights_only=True."},
    .extensions = "pt pth bin",
    .probe = probe,
    .read = read_torch,
    .write = plumb_torch_write,
};
