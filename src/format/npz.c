/*
 * npz.c - numpy's .npz: a zip archive whose members are .npy files, one an array.
 *
 * numpy.savez stores the members as they are, so that arrays are used where they lie;
 * numpy.savez_compressed deflates them. The name of an array is its member's without ".npy".
 */
#include "base/bytes.h"
#include "base/crc32.h"
#include "base/error.h"
#include "base/text.h"
#include "base/zip_writer.h"
#include "format/format.h"
#include "format/npy_header.h"
#include "format/zip_storage.h"

#include <stdio.h>
#include <string.h>

enum {
    FIRST_LOOK = 4096, /* holds the whole header of nearly every array */
    ALIGNMENT = 64,
};

static const char suffix[] = ".npy";

static enum plumb_probe probe(const struct plumb_map *map)
{
    if (!plumb_zip_begins(map))
        return PLUMB_PROBE_NO;
    struct plumb_arena arena = {0};
    struct plumb_zip zip;
    enum plumb_probe sure = PLUMB_PROBE_NO;
    if (plumb_zip_open(map, &arena, &zip, NULL) == PLUMB_OK) {
        if (zip.count == 0)
            sure = PLUMB_PROBE_LIKELY; /* numpy.savez without arrays */
        else if (plumb_text_ends(zip.entries[0].name, suffix))
            sure = PLUMB_PROBE_CERTAIN;
        plumb_zip_release(&zip);
    }
    plumb_arena_release(&arena);
    return sure;
}

/* How many bytes of the member its header takes, from the first 12 of them. */
static size_t header_size(const unsigned char *bytes, size_t size)
{
    if (size < 12)
        return size;
    return bytes[6] == 1 ? 10 + (size_t)plumb_load_u16(bytes + 8)
                         : 12 + (size_t)plumb_load_u32(bytes + 8);
}

static enum plumb_status parse_header(const struct plumb_map *map,
                                      const struct plumb_zip_entry *entry,
                                      struct plumb_npy_header *header, struct plumb_error *err)
{
    unsigned char start[FIRST_LOOK] = {0};
    char label[512];
    (void)snprintf(label, sizeof label, "%s: member %s", map->path, entry->name);
    size_t size = entry->size < FIRST_LOOK ? (size_t)entry->size : (size_t)FIRST_LOOK;
    enum plumb_status status = plumb_zip_peek(map, entry, start, size, err);
    if (status)
        return status;
    size_t needed = header_size(start, size);
    if (needed <= size || size == entry->size || needed > PLUMB_NPY_MAX_HEADER)
        return plumb_npy_header_parse(start, size, label, header, err);
    if (needed > entry->size)
        needed = (size_t)entry->size;
    struct plumb_arena arena = {0};
    unsigned char *bytes = plumb_arena_alloc(&arena, needed, 1);
    status = bytes ? plumb_zip_peek(map, entry, bytes, needed, err) : plumb_fail_memory(err);
    if (status == PLUMB_OK)
        status = plumb_npy_header_parse(bytes, needed, label, header, err);
    plumb_arena_release(&arena);
    return status;
}

static enum plumb_status read_member(struct plumb_file *file, const struct plumb_map *map,
                                     const struct plumb_zip_entry *entry,
                                     struct plumb_error *err)
{
    struct plumb_npy_header header;
    struct plumb_error reason;
    enum plumb_status status = parse_header(map, entry, &header, &reason);
    if (status == PLUMB_UNSUPPORTED) /* text, objects: the other arrays are still of use */
        return plumb_file_warn(file, err, "left out: %s", reason.message);
    if (status) {
        if (err)
            *err = reason;
        return status;
    }
    struct plumb_storage *storage = NULL;
    status = plumb_zip_add_storage(file, map, entry, &storage, err);
    if (status)
        return status;
    char *name =
        plumb_arena_text(&file->arena, entry->name, strlen(entry->name) - strlen(suffix));
    return name ? plumb_npy_add_tensor(file, storage, header.data_offset, &header, name, err)
                : plumb_fail_memory(err);
}

static enum plumb_status read(struct plumb_file *file, const struct plumb_map *map,
                              struct plumb_error *err)
{
    struct plumb_zip zip;
    enum plumb_status status = plumb_zip_open(map, &file->arena, &zip, err);
    if (status)
        return status;
    for (size_t i = 0; i < zip.count && status == PLUMB_OK; i++) {
        const struct plumb_zip_entry *entry = &zip.entries[i];
        if (plumb_text_ends(entry->name, suffix))
            status = read_member(file, map, entry, err);
        else
            status =
                plumb_file_warn(file, err, "left out: member %s is not an array", entry->name);
    }
    plumb_zip_release(&zip);
    return status;
}

static enum plumb_status write_item(struct plumb_zip_writer *writer,
                                    const struct plumb_write_item *item,
                                    const struct plumb_progress *progress,
                                    struct plumb_error *err)
{
    struct plumb_buffer name, header;
    plumb_buffer_init(&name, PLUMB_MAX_NAME + sizeof suffix);
    plumb_buffer_init(&header, PLUMB_NPY_MAX_HEADER);
    plumb_buffer_printf(&name, "%s%s", item->name, suffix);
    plumb_npy_header_write(item->dtype, item->rank, item->shape, &header);
    enum plumb_status status = PLUMB_OK;
    if (plumb_buffer_failed(&name) || plumb_buffer_failed(&header))
        status = plumb_fail_memory(err);
    const uint64_t size = (uint64_t)item->source->count * plumb_dtype_size(item->dtype);
    if (status == PLUMB_OK)
        status = plumb_zip_writer_begin(writer, name.data, header.size + size, err);
    if (status == PLUMB_OK)
        status = plumb_output_write(writer->output, header.data, header.size, err);
    uint32_t crc = plumb_crc32(0, header.data, header.size);
    if (status == PLUMB_OK)
        status = plumb_write_item_stream(item, writer->output, &crc, progress, err);
    if (status == PLUMB_OK)
        status = plumb_zip_writer_end(writer, crc, err);
    plumb_buffer_release(&name);
    plumb_buffer_release(&header);
    return status;
}

static enum plumb_status write(const struct plumb_write_request *request,
                               struct plumb_output *output, struct plumb_error *err)
{
    struct plumb_zip_writer writer;
    plumb_zip_writer_init(&writer, output, ALIGNMENT);
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < request->count && status == PLUMB_OK; i++)
        status = write_item(&writer, &request->items[i], request->progress, err);
    if (status == PLUMB_OK)
        status = plumb_zip_writer_finish(&writer, err);
    plumb_zip_writer_release(&writer);
    return status;
}

const struct plumb_format plumb_format_npz = {
    .entry = {.name = "npz",
              .summary = "several numpy arrays in a zip archive (.npz)",
              .detail =
                  "Written by numpy.savez and numpy.savez_compressed. Each member name.npy "
                  "is the array\nname, in format npy. Arrays of Python objects or text are "
                  "left out with a warning."},
    .extensions = "npz",
    .probe = probe,
    .read = read,
    .write = write,
};
