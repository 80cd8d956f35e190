/*
 * zip.c - the reader of a zip archive's directory; see zip.h.
 *
 *   local header    "PK\3\4", ..., 26: name length, 28: extra length, 30: name, extra, data
 *   ...             one of these a member; sizes in it may be zero, so it only gives the start
 *   central header  "PK\1\2", 8: flags, 10: method, 16: crc, 20: packed size, 24: size,
 *                   28: name length, 30: extra length, 32: comment length, 42: local header,
 *                   46: name, extra, comment
 *   ...
 *   end64           "PK\6\6", 24: entries in all, 40: directory's size, 48: its offset
 *   locator         "PK\6\7", 8: where end64 is, 20 bytes long, just before the end record
 *   end             "PK\5\6", 10: entries, 12: directory's size, 16: its offset, 20: comment
 *
 * A 32-bit field of all ones means: see the 64-bit one, in the extra field 0x0001 of a
 * central header (only the fields that need it, in the order size, packed, offset) or in end64.
 */
#include "base/zip.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/inflate.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum {
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    LOCATOR_SIZE = 20,
    END64_SIZE = 56,
    COMMENT_MAX = 65535,
    FLAG_ENCRYPTED = 1,
    EXTRA_ZIP64 = 1,
    EXTRACT_BLOCK = 1 << 18,
};

static const uint32_t local_magic = 0x04034b50, central_magic = 0x02014b50,
                      end_magic = 0x06054b50, end64_magic = 0x06064b50,
                      locator_magic = 0x07064b50;

/* Where the directory is, from the end records. */
struct directory {
    uint64_t offset, size, count;
};

bool plumb_zip_begins(const struct plumb_map *map)
{
    if (map->size < END_SIZE)
        return false;
    const uint32_t magic = plumb_load_u32(map->base);
    return magic == local_magic || magic == end_magic;
}

static bool find_end(const struct plumb_map *map, size_t *at)
{
    if (map->size < END_SIZE)
        return false;
    const size_t last = map->size - END_SIZE;
    const size_t first = last > COMMENT_MAX ? last - COMMENT_MAX : 0;
    for (size_t i = last + 1; i-- > first;) {
        if (map->base[i] != 'P' || plumb_load_u32(map->base + i) != end_magic)
            continue;
        if (plumb_load_u16(map->base + i + 20) <= last - i) {
            *at = i;
            return true;
        }
    }
    return false;
}

/* True if there is a 64-bit end record, whose numbers then hold. */
static bool read_end64(const struct plumb_map *map, size_t end, struct directory *directory)
{
    if (end < LOCATOR_SIZE || plumb_load_u32(map->base + end - LOCATOR_SIZE) != locator_magic)
        return false;
    const uint64_t at = plumb_load_u64(map->base + end - LOCATOR_SIZE + 8);
    if (map->size < END64_SIZE || at > map->size - END64_SIZE ||
        plumb_load_u32(map->base + at) != end64_magic)
        return false;
    const unsigned char *record = map->base + at;
    *directory = (struct directory){.count = plumb_load_u64(record + 32),
                                    .size = plumb_load_u64(record + 40),
                                    .offset = plumb_load_u64(record + 48)};
    return true;
}

static enum plumb_status find_directory(const struct plumb_map *map,
                                        struct directory *directory, struct plumb_error *err)
{
    size_t end = 0;
    const bool begins = map->size >= 4 && memcmp(map->base, "PK\3\4", 4) == 0;
    if (!find_end(map, &end))
        return plumb_fail(err, PLUMB_DAMAGED, begins ? (int64_t)map->size : 0,
                          begins ? "%s: begins like a zip archive but has no directory at its "
                                   "end; the file is truncated: copy or save it again"
                                 : "%s: neither begins nor ends like the zip archive it should "
                                   "be; copy or save it again",
                          map->path);
    const unsigned char *record = map->base + end;
    *directory = (struct directory){.count = plumb_load_u16(record + 10),
                                    .size = plumb_load_u32(record + 12),
                                    .offset = plumb_load_u32(record + 16)};
    const uint16_t disk = plumb_load_u16(record + 4);
    if (!read_end64(map, end, directory) && disk != 0 && disk != 0xffff)
        return plumb_fail(err, PLUMB_UNSUPPORTED, (int64_t)end,
                          "%s: is one part of a zip archive in several parts; join them first",
                          map->path);
    if (directory->offset > end || directory->size > end - directory->offset)
        return plumb_fail(err, PLUMB_DAMAGED, (int64_t)end,
                          "%s: the zip directory of %llu bytes at byte %llu does not fit the "
                          "file of %zu bytes",
                          map->path, (unsigned long long)directory->size,
                          (unsigned long long)directory->offset, map->size);
    if (directory->count > PLUMB_ZIP_MAX_ENTRIES)
        return plumb_fail(err, PLUMB_LIMIT, (int64_t)end,
                          "%s: the zip directory claims %llu entries; at most %d are read",
                          map->path, (unsigned long long)directory->count,
                          PLUMB_ZIP_MAX_ENTRIES);
    if (directory->count > directory->size / CENTRAL_SIZE)
        return plumb_fail(err, PLUMB_DAMAGED, (int64_t)end,
                          "%s: a zip directory of %llu bytes cannot hold the %llu entries it "
                          "claims",
                          map->path, (unsigned long long)directory->size,
                          (unsigned long long)directory->count);
    return PLUMB_OK;
}

/* Replaces fields that are all ones by their 64-bit form in the extra field. */
static void widen(struct plumb_zip_entry *entry, struct plumb_bytes extra)
{
    while (plumb_bytes_left(&extra) >= 4) {
        const uint16_t id = plumb_bytes_u16(&extra);
        const uint16_t length = plumb_bytes_u16(&extra);
        const unsigned char *data = plumb_bytes_take(&extra, length);
        if (!data)
            return;
        if (id != EXTRA_ZIP64)
            continue;
        struct plumb_bytes wide = plumb_bytes_of(data, length);
        uint64_t *const fields[] = {&entry->size, &entry->packed_size, &entry->header};
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            if (*fields[i] == UINT32_MAX && plumb_bytes_left(&wide) >= 8)
                *fields[i] = plumb_bytes_u64(&wide);
        return;
    }
}

static enum plumb_status check_entry(const struct plumb_map *map,
                                     const struct plumb_zip_entry *entry, uint16_t flags,
                                     size_t at, struct plumb_error *err)
{
    if (flags & FLAG_ENCRYPTED)
        return plumb_fail(err, PLUMB_UNSUPPORTED, (int64_t)at,
                          "%s: member %s is encrypted; decrypt the archive first", map->path,
                          entry->name);
    if (entry->header > map->size || map->size - entry->header < LOCAL_SIZE ||
        entry->packed_size > map->size - entry->header - LOCAL_SIZE)
        return plumb_fail(
            err, PLUMB_DAMAGED, (int64_t)at,
            "%s: member %s of %llu bytes at byte %llu does not fit the file of %zu "
            "bytes",
            map->path, entry->name, (unsigned long long)entry->packed_size,
            (unsigned long long)entry->header, map->size);
    if (entry->method == PLUMB_ZIP_STORED && entry->size != entry->packed_size)
        return plumb_fail(
            err, PLUMB_DAMAGED, (int64_t)at,
            "%s: member %s is stored as it is, yet its sizes differ: %llu and %llu", map->path,
            entry->name, (unsigned long long)entry->size,
            (unsigned long long)entry->packed_size);
    /* Nothing deflates to less than 1 byte in 1032: a larger claim is an attack or damage. */
    if (entry->method == PLUMB_ZIP_DEFLATED && entry->size / 1033 > entry->packed_size)
        return plumb_fail(
            err, PLUMB_DAMAGED, (int64_t)at,
            "%s: member %s claims %llu bytes deflated to %llu, which is impossible", map->path,
            entry->name, (unsigned long long)entry->size,
            (unsigned long long)entry->packed_size);
    return PLUMB_OK;
}

static enum plumb_status read_entry(const struct plumb_map *map, struct plumb_bytes *in,
                                    size_t base, struct plumb_arena *arena,
                                    struct plumb_zip_entry *entry, struct plumb_error *err)
{
    const size_t at = base + in->at;
    const unsigned char *head = plumb_bytes_take(in, CENTRAL_SIZE);
    if (!head || plumb_load_u32(head) != central_magic)
        return plumb_fail(err, PLUMB_DAMAGED, (int64_t)at,
                          "%s: expected an entry of the zip directory at byte %zu, found "
                          "something else",
                          map->path, at);
    const uint16_t name_length = plumb_load_u16(head + 28);
    const uint16_t extra_length = plumb_load_u16(head + 30);
    const unsigned char *name = plumb_bytes_take(in, name_length);
    const unsigned char *extra = plumb_bytes_take(in, extra_length);
    (void)plumb_bytes_take(in, plumb_load_u16(head + 32));
    if (!plumb_bytes_ok(in))
        return plumb_fail(err, PLUMB_DAMAGED, (int64_t)at,
                          "%s: the entry of the zip directory at byte %zu is cut off",
                          map->path, at);
    *entry = (struct plumb_zip_entry){.method = plumb_load_u16(head + 10),
                                      .crc = plumb_load_u32(head + 16),
                                      .packed_size = plumb_load_u32(head + 20),
                                      .size = plumb_load_u32(head + 24),
                                      .header = plumb_load_u32(head + 42)};
    entry->name = plumb_arena_text(arena, (const char *)name, name_length);
    if (!entry->name)
        return plumb_fail_memory(err);
    widen(entry, plumb_bytes_of(extra, extra_length));
    return check_entry(map, entry, plumb_load_u16(head + 8), at, err);
}

enum plumb_status plumb_zip_open(const struct plumb_map *map, struct plumb_arena *arena,
                                 struct plumb_zip *zip, struct plumb_error *err)
{
    *zip = (struct plumb_zip){.map = map};
    struct directory directory = {0};
    enum plumb_status status = find_directory(map, &directory, err);
    if (status)
        return status;
    zip->count = (size_t)directory.count;
    zip->entries = plumb_arena_alloc(arena, zip->count + 1, sizeof *zip->entries);
    if (!zip->entries)
        return plumb_fail_memory(err);
    struct plumb_bytes in =
        plumb_bytes_of(map->base + directory.offset, (size_t)directory.size);
    for (size_t i = 0; status == PLUMB_OK && i < zip->count; i++) {
        status = read_entry(map, &in, (size_t)directory.offset, arena, &zip->entries[i], err);
        if (status == PLUMB_OK && !plumb_table_put(&zip->names, zip->entries[i].name, i))
            status = plumb_fail_memory(err);
    }
    if (status)
        plumb_zip_release(zip);
    return status;
}

void plumb_zip_release(struct plumb_zip *zip)
{
    plumb_table_release(&zip->names);
    zip->count = 0;
}

const struct plumb_zip_entry *plumb_zip_find(const struct plumb_zip *zip, const char *name)
{
    size_t i = 0;
    return plumb_table_get(&zip->names, name, &i) ? &zip->entries[i] : NULL;
}

enum plumb_status plumb_zip_locate(const struct plumb_map *map,
                                   const struct plumb_zip_entry *entry, uint64_t *offset,
                                   struct plumb_error *err)
{
    unsigned char head[LOCAL_SIZE];
    enum plumb_status status = plumb_map_read(map, entry->header, sizeof head, head, err);
    if (status)
        return status;
    if (plumb_load_u32(head) != local_magic)
        return plumb_fail(err, PLUMB_DAMAGED, (int64_t)entry->header,
                          "%s: expected the header of member %s at byte %llu, found something "
                          "else",
                          map->path, entry->name, (unsigned long long)entry->header);
    const uint64_t begin = entry->header + LOCAL_SIZE + plumb_load_u16(head + 26) +
                           (uint64_t)plumb_load_u16(head + 28);
    if (begin > map->size || entry->packed_size > map->size - begin)
        return plumb_fail(
            err, PLUMB_DAMAGED, (int64_t)entry->header,
            "%s: member %s of %llu bytes at byte %llu does not fit the file of %zu "
            "bytes",
            map->path, entry->name, (unsigned long long)entry->packed_size,
            (unsigned long long)begin, map->size);
    *offset = begin;
    return PLUMB_OK;
}

/* Inflates the first `size` bytes of a member; all of it has to be sound if that is all. */
static enum plumb_status inflate_entry(const struct plumb_map *map,
                                       const struct plumb_zip_entry *entry, uint64_t offset,
                                       void *memory, size_t size, struct plumb_error *err)
{
    const bool whole = size == entry->size;
    struct plumb_inflater *inflater = NULL;
    char label[512];
    (void)snprintf(label, sizeof label, "%s: member %s", map->path, entry->name);
    unsigned char *block = plumb_alloc(EXTRACT_BLOCK);
    if (!block)
        return plumb_fail_memory(err);
    enum plumb_status status = plumb_inflater_new(memory, size, label, &inflater, err);
    uint64_t left = entry->packed_size;
    bool enough = false;
    while (status == PLUMB_OK && left && !enough) {
        const size_t part = left < EXTRACT_BLOCK ? (size_t)left : (size_t)EXTRACT_BLOCK;
        status = plumb_map_read(map, offset, part, block, err);
        if (status == PLUMB_OK)
            status = plumb_inflater_feed(inflater, block, part, err);
        offset += part;
        left -= part;
        /* More content than asked for is what a part has. */
        enough = !whole && plumb_inflater_filled(inflater) == size;
    }
    if (enough)
        status = PLUMB_OK;
    else if (status == PLUMB_OK)
        status = plumb_inflater_finish(inflater, err);
    plumb_inflater_free(inflater);
    plumb_free(block);
    return status;
}

enum plumb_status plumb_zip_peek(const struct plumb_map *map,
                                 const struct plumb_zip_entry *entry, void *memory, size_t size,
                                 struct plumb_error *err)
{
    uint64_t offset = 0;
    enum plumb_status status = plumb_zip_locate(map, entry, &offset, err);
    if (status)
        return status;
    switch (entry->method) {
    case PLUMB_ZIP_STORED:
        return plumb_map_read(map, offset, size, memory, err);
    case PLUMB_ZIP_DEFLATED:
        return inflate_entry(map, entry, offset, memory, size, err);
    default:
        return plumb_fail(err, PLUMB_UNSUPPORTED, (int64_t)entry->header,
                          "%s: member %s is packed by method %d; only stored and deflated "
                          "members are read",
                          map->path, entry->name, entry->method);
    }
}

enum plumb_status plumb_zip_extract(const struct plumb_map *map,
                                    const struct plumb_zip_entry *entry, void *memory,
                                    struct plumb_error *err)
{
    return plumb_zip_peek(map, entry, memory, (size_t)entry->size, err);
}
