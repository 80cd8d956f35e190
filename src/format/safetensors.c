/*
 * safetensors.c - Hugging Face's .safetensors, read and written.
 *
 *     0    u64 n, little endian    at most 100 MB
 *     8    n bytes of JSON         starts with '{', padded with spaces
 *            {"__metadata__": {text: text},
 *             "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [first, past last]}, ...}
 *     8+n  data                    offsets count from here; C order, little endian
 *
 * Tensors may not overlap. The reference implementation allows no holes either; they do no harm
 * to a reader, so they are a warning here.
 */
#include "format/format.h"

#include "base/bytes.h"
#include "base/crc32.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "format/mindspore_names.h"
#include "format/opaque.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PREFIX = 8,                 /* bytes before the header */
    MAX_HEADER = 100000000,     /* as the reference implementation has it */
    CHECKED_AT_OPEN = 16 << 20, /* larger files are not read just to check them */
};

static const struct {
    const char *name;
    enum plumb_dtype dtype;
} dtypes[] = {
    {"F64", PLUMB_F64},        {"F32", PLUMB_F32}, {"F16", PLUMB_F16},
    {"BF16", PLUMB_BF16},      {"I64", PLUMB_I64}, {"I32", PLUMB_I32},
    {"I16", PLUMB_I16},        {"I8", PLUMB_I8},   {"U64", PLUMB_U64},
    {"U32", PLUMB_U32},        {"U16", PLUMB_U16}, {"U8", PLUMB_U8},
    {"BOOL", PLUMB_BOOL},      {"C64", PLUMB_C64}, {"F8_E4M3", PLUMB_F8E4M3},
    {"F8_E5M2", PLUMB_F8E5M2},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* One tensor of the header. */
struct entry {
    const char *name;
    const char *dtype; /* as it is written */
    int rank;
    int64_t shape[PLUMB_MAX_RANK];
    uint64_t first, end; /* in the data */
    uint64_t at;         /* of its description in the file */
};

/* What is known while reading. */
struct reader {
    struct plumb_file *file;
    const struct plumb_map *map;
    uint64_t data; /* where it starts */
    struct range {
        uint64_t first, end;
        const char *name;
    } * ranges;
    size_t count;
    const char *crc; /* MindSpore's, in decimal digits; NULL without one */
    struct plumb_error *err;
};

static enum plumb_probe probe(const struct plumb_map *map)
{
    struct plumb_bytes bytes = plumb_bytes_of(map->base, map->size);
    const uint64_t length = plumb_bytes_u64(&bytes);
    const uint8_t brace = plumb_bytes_u8(&bytes);
    if (!plumb_bytes_ok(&bytes) || length < 2 || length > MAX_HEADER || brace != '{')
        return PLUMB_PROBE_NO;
    if (length > map->size - PREFIX)
        return PLUMB_PROBE_LIKELY; /* cut off: reading it says so */
    const unsigned char *end = map->base + PREFIX + length;
    while (end[-1] == ' ')
        end--;
    return end[-1] == '}' ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_LIKELY;
}

/* ---- reading -------------------------------------------------------------------------- */

static enum plumb_status refuse(const struct reader *reader, const char *name, uint64_t at,
                                const char *what)
{
    return plumb_fail(reader->err, PLUMB_DAMAGED, (int64_t)at,
                      "%s: safetensors header, byte %" PRIu64
                      ": tensor '%.200s': %s; the file is "
                      "damaged, copy or save it again",
                      reader->map->path, at, name, what);
}

static enum plumb_status read_shape(const struct reader *reader, const struct plumb_json *shape,
                                    struct entry *entry)
{
    if (!shape || shape->kind != PLUMB_JSON_ARRAY)
        return refuse(reader, entry->name, entry->at, "expected \"shape\": [...]");
    if (shape->count > PLUMB_MAX_RANK)
        return refuse(reader, entry->name, entry->at, "more than 64 dimensions");
    for (const struct plumb_json *dim = shape->first; dim; dim = dim->next)
        if (!plumb_json_integer(dim, &entry->shape[entry->rank]) ||
            entry->shape[entry->rank++] < 0)
            return refuse(reader, entry->name, dim->offset, "a dimension is not a size");
    return PLUMB_OK;
}

static enum plumb_status read_entry(const struct reader *reader, const struct plumb_json *json,
                                    struct entry *entry)
{
    entry->name = json->key;
    entry->at = json->offset;
    entry->dtype = plumb_json_string(plumb_json_get(json, "dtype"));
    if (!entry->dtype)
        return refuse(reader, entry->name, entry->at, "expected \"dtype\": \"...\"");
    enum plumb_status status = read_shape(reader, plumb_json_get(json, "shape"), entry);
    if (status)
        return status;
    const struct plumb_json *offsets = plumb_json_get(json, "data_offsets");
    int64_t first = 0, end = 0;
    if (!offsets || offsets->kind != PLUMB_JSON_ARRAY || offsets->count != 2 ||
        !plumb_json_integer(offsets->first, &first) ||
        !plumb_json_integer(offsets->first->next, &end) || first < 0 || end < first)
        return refuse(reader, entry->name, entry->at,
                      "expected \"data_offsets\": [first, end]");
    if ((uint64_t)end > reader->map->size - reader->data)
        return plumb_fail(
            reader->err, PLUMB_DAMAGED, (int64_t)entry->at,
            "%s: tensor '%.200s' should end at byte %" PRIu64 ", but the file ends "
            "at byte %zu; it was cut off, copy it again",
            reader->map->path, entry->name, reader->data + (uint64_t)end, reader->map->size);
    entry->first = (uint64_t)first;
    entry->end = (uint64_t)end;
    return PLUMB_OK;
}

/* A type without a home in Plumb (4 and 6 bits, FNUZ, E8M0) is listed but not opened. */
static enum plumb_status add_opaque(const struct reader *reader, const struct entry *entry)
{
    const struct plumb_opaque opaque = {
        .name = entry->name,
        .dtype = entry->dtype,
        .rank = entry->rank,
        .shape = entry->shape,
        .bytes = entry->end - entry->first,
        .why = "Plumb does not read this type",
    };
    return plumb_file_add_opaque(reader->file, &opaque, reader->err);
}

static enum plumb_status add_entry(const struct reader *reader, const struct entry *entry)
{
    size_t which = 0;
    while (which < DTYPES && strcmp(dtypes[which].name, entry->dtype) != 0)
        which++;
    if (which == DTYPES)
        return add_opaque(reader, entry);
    const enum plumb_dtype dtype = dtypes[which].dtype;
    int64_t count = 0, size = 0;
    if (!plumb_shape_count(entry->rank, entry->shape, &count) ||
        __builtin_mul_overflow(count, (int64_t)plumb_dtype_size(dtype), &size) ||
        (uint64_t)size != entry->end - entry->first)
        return refuse(
            reader, entry->name, entry->at,
            "shape and dtype ask for another number of bytes than data_offsets gives");
    struct plumb_storage *storage = NULL;
    enum plumb_status status =
        plumb_file_add_storage(reader->file, reader->map, reader->data + entry->first,
                               entry->end - entry->first, entry->name, &storage, reader->err);
    if (status)
        return status;
    const struct plumb_tensor_spec spec = {
        .name = entry->name,
        .dtype = dtype,
        .rank = entry->rank,
        .shape = entry->shape,
        .storage = storage,
    };
    return plumb_file_add_tensor(reader->file, &spec, reader->err);
}

static enum plumb_status read_metadata(struct reader *reader, const struct plumb_json *metadata)
{
    struct plumb_file *file = reader->file;
    const char *format = plumb_json_string(plumb_json_get(metadata, "format"));
    if (format && strcmp(format, "pt") == 0)
        file->framework = "pytorch";
    else if (format && strcmp(format, "ms") == 0)
        file->framework = "mindspore";
    reader->crc = plumb_json_string(plumb_json_get(metadata, "crc_num"));
    struct plumb_buffer key, value;
    plumb_buffer_init(&key, MAX_HEADER);
    plumb_buffer_init(&value, MAX_HEADER);
    enum plumb_status status = PLUMB_OK;
    for (const struct plumb_json *member = metadata->first; member && !status;
         member = member->next) {
        struct plumb_json_writer json = plumb_json_writer_of(&value);
        plumb_buffer_clear(&key);
        plumb_buffer_clear(&value);
        plumb_buffer_printf(&key, "__metadata__.%s", member->key);
        plumb_json_put_string(&json, plumb_json_string(member));
        status = plumb_buffer_failed(&key) || plumb_buffer_failed(&value)
                     ? plumb_fail_memory(reader->err)
                     : plumb_file_add_note(file, key.data, value.data, reader->err);
    }
    plumb_buffer_release(&key);
    plumb_buffer_release(&value);
    return status;
}

static int by_place(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* No byte belongs to two tensors; bytes that belong to none are told. */
static enum plumb_status check_ranges(const struct reader *reader)
{
    uint64_t end = 0, unused = 0;
    if (reader->count)
        qsort(reader->ranges, reader->count, sizeof *reader->ranges, by_place);
    for (size_t i = 0; i < reader->count; i++) {
        const struct range *range = &reader->ranges[i];
        if (range->first < end && range->end > range->first)
            return refuse(reader, range->name, reader->data + range->first,
                          "its data overlaps that of another tensor");
        if (range->first > end)
            unused += range->first - end;
        if (range->end > end)
            end = range->end;
    }
    unused += reader->map->size - reader->data - end;
    if (!unused)
        return PLUMB_OK;
    return plumb_file_warn(reader->file, reader->err,
                           "%" PRIu64 " bytes of the data belong to no tensor", unused);
}

static int by_name(const void *left, const void *right)
{
    const struct plumb_tensor *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

/* MindSpore's crc_num: crc32 over name and data of each tensor, in the order of the names. */
static enum plumb_status sum_tensors(const struct reader *reader,
                                     const struct plumb_tensor **sorted, uint32_t *crc)
{
    const size_t count = reader->file->tensor_count;
    memcpy(sorted, reader->file->tensors, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *data = NULL;
        enum plumb_status status =
            plumb_storage_address(sorted[i]->storage, &data, reader->err);
        if (status)
            return status;
        *crc = plumb_crc32(*crc, sorted[i]->name, strlen(sorted[i]->name));
        *crc = plumb_crc32(*crc, data, (size_t)sorted[i]->storage->size);
    }
    return PLUMB_OK;
}

static enum plumb_status verify_crc(const struct reader *reader)
{
    struct plumb_file *file = reader->file;
    if (file->tensor_count == 0 || file->tensor_count != reader->count)
        return PLUMB_OK; /* some could not be read: nothing can be said */
    const struct plumb_tensor **sorted =
        plumb_alloc_array(file->tensor_count, sizeof(struct plumb_tensor *));
    if (!sorted)
        return plumb_fail_memory(reader->err);
    uint32_t crc = 0;
    char text[16];
    enum plumb_status status = sum_tensors(reader, sorted, &crc);
    plumb_free(sorted);
    (void)snprintf(text, sizeof text, "%" PRIu32, crc);
    if (status || strcmp(text, reader->crc) == 0)
        return status;
    return plumb_file_warn(file, reader->err,
                           "the checksum crc_num says %.20s, the data gives %s: some values or "
                           "names have changed since the file was saved; copy it again",
                           reader->crc, text);
}

static enum plumb_status read_members(struct reader *reader, const struct plumb_json *root)
{
    enum plumb_status status = PLUMB_OK;
    for (const struct plumb_json *member = root->first; member && !status;
         member = member->next) {
        if (member->kind != PLUMB_JSON_OBJECT) {
            status = refuse(reader, member->key, member->offset, "expected an object");
        } else if (strcmp(member->key, "__metadata__") == 0) {
            status = read_metadata(reader, member);
        } else {
            struct entry entry = {0};
            status = read_entry(reader, member, &entry);
            if (!status)
                status = add_entry(reader, &entry);
            reader->ranges[reader->count++] =
                (struct range){.first = entry.first, .end = entry.end, .name = entry.name};
        }
    }
    if (status == PLUMB_OK)
        status = check_ranges(reader);
    if (status == PLUMB_OK && reader->crc && reader->map->size <= CHECKED_AT_OPEN)
        status = verify_crc(reader);
    return status;
}

static enum plumb_status parse_header(const struct plumb_map *map, uint64_t length,
                                      struct plumb_arena *arena, const struct plumb_json **root,
                                      struct plumb_error *err)
{
    const struct plumb_json_source source = {.path = map->path,
                                             .bytes = map->base + PREFIX,
                                             .size = (size_t)length,
                                             .offset = PREFIX};
    const struct plumb_json *duplicate = NULL;
    enum plumb_status status = plumb_json_parse(arena, &source, root, err);
    if (status)
        return status;
    if ((*root)->kind != PLUMB_JSON_OBJECT)
        return plumb_fail(err, PLUMB_DAMAGED, PREFIX,
                          "%s: byte 8: expected '{' of the safetensors header", map->path);
    status = plumb_json_find_duplicate(*root, &duplicate, err);
    if (duplicate)
        return plumb_fail(
            err, PLUMB_DAMAGED, (int64_t)duplicate->offset,
            "%s: safetensors header, byte %zu: '%.200s' is there twice; which one "
            "counts cannot be known",
            map->path, duplicate->offset, duplicate->key);
    return status;
}

static enum plumb_status read(struct plumb_file *file, const struct plumb_map *map,
                              struct plumb_error *err)
{
    struct plumb_bytes bytes = plumb_bytes_of(map->base, map->size);
    const uint64_t length = plumb_bytes_u64(&bytes);
    if (!plumb_bytes_ok(&bytes) || length > map->size - PREFIX)
        return plumb_fail(
            err, PLUMB_DAMAGED, 0,
            "%s: the safetensors header should have %" PRIu64
            " bytes, but the file ends at byte %zu; it was cut off, copy it again",
            map->path, length, map->size);
    if (length > MAX_HEADER)
        return plumb_fail(err, PLUMB_LIMIT, 0,
                          "%s: safetensors header of %" PRIu64 " bytes, more than 100 MB",
                          map->path, length);
    struct plumb_arena arena = {0};
    const struct plumb_json *root = NULL;
    struct reader reader = {.file = file, .map = map, .data = PREFIX + length, .err = err};
    enum plumb_status status = parse_header(map, length, &arena, &root, err);
    if (status == PLUMB_OK) {
        reader.ranges = plumb_arena_alloc(&arena, root->count, sizeof *reader.ranges);
        status = reader.ranges ? read_members(&reader, root) : plumb_fail_memory(err);
    }
    plumb_arena_release(&arena);
    if (strcmp(file->framework, "mindspore") == 0)
        plumb_mindspore_mark_states(file, 0);
    return status;
}

/* ---- writing -------------------------------------------------------------------------- */

static const char *name_of(enum plumb_dtype dtype)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return NULL;
}

/* Wide types first: readers that map the file need every tensor aligned to its type, and one of
 * odd length would shift all that follow. Among equals the order stays. */
static const size_t widths[] = {8, 4, 2, 1};
enum { WIDTHS = sizeof widths / sizeof *widths };

static void describe_item(struct plumb_json_writer *json, const struct plumb_write_item *item,
                          uint64_t *at)
{
    const uint64_t size = (uint64_t)item->source->count * plumb_dtype_size(item->dtype);
    plumb_json_put_key(json, item->name);
    plumb_json_open_object(json);
    plumb_json_put_key(json, "dtype");
    plumb_json_put_string(json, name_of(item->dtype));
    plumb_json_put_key(json, "shape");
    plumb_json_open_array(json);
    for (int i = 0; i < item->rank; i++)
        plumb_json_put_int(json, item->shape[i]);
    plumb_json_close_array(json);
    plumb_json_put_key(json, "data_offsets");
    plumb_json_open_array(json);
    plumb_json_put_uint(json, *at);
    plumb_json_put_uint(json, *at + size);
    plumb_json_close_array(json);
    plumb_json_close_object(json);
    *at += size;
}

static void describe_all(struct plumb_buffer *header, const struct plumb_write_request *request)
{
    struct plumb_json_writer json = plumb_json_writer_of(header);
    uint64_t at = 0;
    plumb_json_open_object(&json);
    if (*request->framework) {
        const bool mindspore = strcmp(request->framework, "mindspore") == 0;
        plumb_json_put_key(&json, "__metadata__");
        plumb_json_put_raw(&json, mindspore ? "{\"format\":\"ms\"}" : "{\"format\":\"pt\"}");
    }
    for (size_t w = 0; w < WIDTHS; w++)
        for (size_t i = 0; i < request->count; i++)
            if (plumb_dtype_size(request->items[i].dtype) == widths[w])
                describe_item(&json, &request->items[i], &at);
    plumb_json_close_object(&json);
    plumb_buffer_fill(header, ' ', (8 - header->size % 8) % 8);
}

static enum plumb_status write_header(const struct plumb_write_request *request,
                                      struct plumb_output *output, struct plumb_error *err)
{
    struct plumb_buffer header;
    unsigned char length[PREFIX];
    plumb_buffer_init(&header, MAX_HEADER);
    describe_all(&header, request);
    enum plumb_status status = PLUMB_OK;
    if (plumb_buffer_over_limit(&header))
        status =
            plumb_fail(err, PLUMB_LIMIT, -1,
                       "%s: the names of %zu tensors do not fit the 100 MB that a safetensors "
                       "header may have; write .npz",
                       plumb_output_path(output), request->count);
    else if (plumb_buffer_failed(&header))
        status = plumb_fail_memory(err);
    plumb_store_u64(length, header.size);
    if (status == PLUMB_OK)
        status = plumb_output_write(output, length, sizeof length, err);
    if (status == PLUMB_OK)
        status = plumb_output_write(output, header.data, header.size, err);
    plumb_buffer_release(&header);
    return status;
}

static enum plumb_status write(const struct plumb_write_request *request,
                               struct plumb_output *output, struct plumb_error *err)
{
    for (size_t i = 0; i < request->count; i++)
        if (!name_of(request->items[i].dtype))
            return plumb_fail(
                err, PLUMB_UNSUPPORTED, -1,
                "%s: tensor '%.200s' is %s, which safetensors does not have; write "
                ".npz, or choose another type with --dtype",
                plumb_output_path(output), request->items[i].name,
                plumb_dtype_name(request->items[i].dtype));
    enum plumb_status status = write_header(request, output, err);
    for (size_t w = 0; w < WIDTHS; w++)
        for (size_t i = 0; i < request->count && status == PLUMB_OK; i++)
            if (plumb_dtype_size(request->items[i].dtype) == widths[w])
                status = plumb_write_item_stream(&request->items[i], output, NULL,
                                                 request->progress, err);
    return status;
}

const struct plumb_format plumb_format_safetensors = {
    .entry =
        {
            .name = "safetensors",
            .summary = "Hugging Face safetensors (.safetensors)",
            .detail =
                "A JSON header with names, types and places, then the raw values. Read in "
                "place.\n"
                "Metadata is shown under \"__metadata__\"; its \"format\" tells the framework "
                "(pt,\n"
                "ms). MindSpore's crc_num is checked for files up to 16 MiB. Types of 4 and 6\n"
                "bits, E8M0 and the FNUZ floats are listed but not read. On writing, tensors "
                "of\n"
                "wide types come first, so that all are aligned; c128 and hif8 have no name "
                "there.",
        },
    .extensions = "safetensors",
    .probe = probe,
    .read = read,
    .write = write,
};
