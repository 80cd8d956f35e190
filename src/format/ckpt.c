/*
 * ckpt.c - MindSpore's .ckpt, read and written.
 *
 * A run of protobuf messages, one after the other, which together are one message:
 *
 *     Checkpoint  { repeated Value value = 1; }
 *     Value       { string tag = 1; oneof { TensorProto tensor = 2; MapTensor map = 3; } }
 *     TensorProto { repeated int64 dims = 1; string type = 2; bytes content = 3; }
 *
 * then, if it was saved with crc_check, 17 bytes: "crc_num" and, big endian in 10 bytes, the crc32
 * of all before. There is no magic number. A tensor of more than 512 MiB is several Values with
 * the same tag, each with all dims, whose contents follow each other. No dims, and dims of [0],
 * mean a scalar. Text is of type "str", in UTF-32 as numpy keeps it.
 */
#include "format/format.h"

#include "base/crc32.h"
#include "base/error.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/wire.h"
#include "format/mindspore_names.h"
#include "format/opaque.h"

#include <inttypes.h>
#include <string.h>

enum {
    TRAILER = 17,               /* "crc_num" and 10 bytes */
    TRAILER_NAME = 7,           /* of those */
    CHUNK = 512 << 20,          /* bytes of content in one Value */
    CHECKED_AT_OPEN = 16 << 20, /* the crc of a larger file waits for a scan */
    MAX_PIECES = 1 << 20,
    MAX_TEXT = 1 << 20, /* of a `str` value that is shown */
};

static const struct {
    const char *name;
    enum plumb_dtype dtype;
    bool written; /* MindSpore can also load it */
} types[] = {
    {"Float32", PLUMB_F32, true},      {"Float16", PLUMB_F16, true},
    {"BFloat16", PLUMB_BF16, true},    {"Float64", PLUMB_F64, true},
    {"Int8", PLUMB_I8, true},          {"Int16", PLUMB_I16, true},
    {"Int32", PLUMB_I32, true},        {"Int64", PLUMB_I64, true},
    {"UInt8", PLUMB_U8, true},         {"UInt16", PLUMB_U16, true},
    {"UInt32", PLUMB_U32, true},       {"UInt64", PLUMB_U64, true},
    {"Bool", PLUMB_BOOL, true},        {"Complex64", PLUMB_C64, false},
    {"Complex128", PLUMB_C128, false},
};
enum { TYPES = sizeof types / sizeof *types };

/* A tensor as far as it was met: its Values so far. */
struct pending {
    char *tag; /* NULL: none */
    char *type;
    int rank;
    int64_t shape[PLUMB_MAX_RANK];
    struct plumb_piece *pieces;
    size_t count, capacity;
    uint64_t bytes;
    uint64_t at; /* of the first Value in the file */
};

struct reader {
    struct plumb_file *file;
    const struct plumb_map *map;
    struct plumb_arena arena; /* for tags and types */
    struct pending pending;
    struct plumb_error *err;
};

/* ---- probing -------------------------------------------------------------------------- */

static bool has_encryption_magic(const struct plumb_map *map)
{
    return map->size >= 4 && map->base[0] >= 0xd8 && map->base[0] <= 0xda &&
           memcmp(map->base + 1, "\x5e\x3a\x7f", 3) == 0;
}

/* A field of type bytes with this key: its length. */
static bool take_head(struct plumb_bytes *bytes, uint8_t key, uint64_t *length)
{
    const bool same = plumb_bytes_u8(bytes) == key;
    *length = plumb_bytes_varint(bytes);
    return same && plumb_bytes_ok(bytes);
}

/* Looks at the start of the first Value: key, tag of text, key of a tensor. */
static enum plumb_probe probe(const struct plumb_map *map)
{
    if (has_encryption_magic(map))
        return PLUMB_PROBE_CERTAIN;
    if (map->size == 0)
        return plumb_text_ends(map->path, ".ckpt") ? PLUMB_PROBE_LIKELY : PLUMB_PROBE_NO;
    struct plumb_bytes bytes = plumb_bytes_of(map->base, map->size);
    uint64_t value = 0, length = 0, tensor = 0;
    if (!take_head(&bytes, 0x0a, &value) || !take_head(&bytes, 0x0a, &length) || length == 0 ||
        length > PLUMB_MAX_NAME || length > value)
        return PLUMB_PROBE_NO;
    const char *tag = (const char *)plumb_bytes_take(&bytes, (size_t)length);
    for (size_t at = 0, step = 0; tag && at < length; at += step) {
        step = plumb_utf8_length(tag + at, (size_t)length - at);
        if (!step || (unsigned char)tag[at] < 0x20)
            return PLUMB_PROBE_NO;
    }
    const size_t start = bytes.at;
    if (!take_head(&bytes, 0x12, &tensor)) {
        plumb_bytes_seek(&bytes, start);
        if (!take_head(&bytes, 0x1a, &tensor))
            return PLUMB_PROBE_NO;
    }
    return tensor < value ? PLUMB_PROBE_LIKELY : PLUMB_PROBE_NO;
}

/* ---- one tensor ----------------------------------------------------------------------- */

static enum plumb_status refuse(const struct reader *reader, uint64_t at, const char *tag,
                                const char *what)
{
    return plumb_fail(reader->err, PLUMB_DAMAGED, (int64_t)at,
                      "%s: byte %" PRIu64
                      ": parameter '%.200s': %s; the checkpoint is damaged, "
                      "copy or save it again",
                      reader->map->path, at, tag, what);
}

/* numpy's U type: 4 bytes a character, NUL at the end does not count. */
static void put_utf32(struct plumb_json_writer *json, const unsigned char *bytes, size_t size)
{
    struct plumb_buffer text;
    plumb_buffer_init(&text, MAX_TEXT);
    while (size >= 4 && plumb_load_u32(bytes + size - 4) == 0)
        size -= 4;
    for (size_t at = 0; at + 4 <= size; at += 4) {
        char utf8[4] = "?";
        const size_t length = plumb_utf8_encode(plumb_load_u32(bytes + at), utf8);
        plumb_buffer_append(&text, utf8, length ? length : 1);
    }
    plumb_json_put_text(json, plumb_buffer_string(&text), text.size);
    json->buffer->failed = json->buffer->failed || plumb_buffer_failed(&text);
    plumb_buffer_release(&text);
}

static enum plumb_status add_text(struct reader *reader, const struct pending *pending)
{
    if (pending->count != 1 || pending->bytes > MAX_TEXT)
        return refuse(reader, pending->at, pending->tag,
                      "a text of more than 256 Ki characters");
    struct plumb_buffer note;
    plumb_buffer_init(&note, 8 * MAX_TEXT);
    struct plumb_json_writer json = plumb_json_writer_of(&note);
    put_utf32(&json, reader->map->base + pending->pieces[0].offset, (size_t)pending->bytes);
    enum plumb_status status =
        plumb_buffer_failed(&note)
            ? plumb_fail_memory(reader->err)
            : plumb_file_add_note(reader->file, pending->tag, note.data, reader->err);
    plumb_buffer_release(&note);
    return status;
}

static enum plumb_status add_opaque(struct reader *reader, const struct pending *pending)
{
    const struct plumb_opaque opaque = {
        .name = pending->tag,
        .dtype = pending->type,
        .rank = pending->rank,
        .shape = pending->shape,
        .bytes = pending->bytes,
        .why = "Plumb does not read this type",
    };
    return plumb_file_add_opaque(reader->file, &opaque, reader->err);
}

static enum plumb_status add_values(struct reader *reader, struct pending *pending,
                                    enum plumb_dtype dtype)
{
    const uint64_t element = plumb_dtype_size(dtype);
    int64_t count = 0;
    uint64_t bytes = 0;
    if (pending->rank == 1 && pending->shape[0] == 0 && pending->bytes == element)
        pending->rank = 0; /* [0] with a value is a scalar */
    if (!plumb_shape_count(pending->rank, pending->shape, &count) ||
        __builtin_mul_overflow((uint64_t)count, element, &bytes))
        return refuse(reader, pending->at, pending->tag, "its dims are negative or overflow");
    if (bytes != pending->bytes)
        return plumb_fail(reader->err, PLUMB_DAMAGED, (int64_t)pending->at,
                          "%s: byte %" PRIu64 ": parameter '%.200s': dims ask for %" PRIu64
                          " bytes, the file has %" PRIu64
                          "; the checkpoint is damaged, copy or "
                          "save it again",
                          reader->map->path, pending->at, pending->tag, bytes, pending->bytes);
    struct plumb_storage *storage = NULL;
    enum plumb_status status = plumb_file_add_pieces(
        reader->file, pending->pieces, pending->count, pending->tag, &storage, reader->err);
    if (status)
        return status;
    const struct plumb_tensor_spec spec = {
        .name = pending->tag,
        .dtype = dtype,
        .rank = pending->rank,
        .shape = pending->shape,
        .storage = storage,
    };
    return plumb_file_add_tensor(reader->file, &spec, reader->err);
}

/* The tensor met so far is complete: add it. */
static enum plumb_status finish_pending(struct reader *reader)
{
    struct pending *pending = &reader->pending;
    if (!pending->tag)
        return PLUMB_OK;
    enum plumb_status status = PLUMB_OK;
    size_t which = 0;
    while (which < TYPES && strcmp(types[which].name, pending->type) != 0)
        which++;
    if (which < TYPES)
        status = add_values(reader, pending, types[which].dtype);
    else if (strcmp(pending->type, "str") == 0)
        status = add_text(reader, pending);
    else
        status = add_opaque(reader, pending);
    pending->tag = NULL;
    pending->count = 0;
    pending->bytes = 0;
    return status;
}

/* ---- the messages --------------------------------------------------------------------- */

/* Text of a field as a C string. */
static enum plumb_status text_of(struct reader *reader, const struct plumb_wire_field *field,
                                 char **text)
{
    if (field->size > PLUMB_MAX_NAME || memchr(field->bytes, 0, field->size))
        return refuse(reader, field->start, "",
                      "expected a text of at most 64 KiB without NUL");
    *text = plumb_arena_text(&reader->arena, (const char *)field->bytes, field->size);
    return *text ? PLUMB_OK : plumb_fail_memory(reader->err);
}

static enum plumb_status read_tensor(struct reader *reader,
                                     const struct plumb_wire_field *outer,
                                     struct pending *found, struct plumb_piece *content)
{
    struct plumb_wire wire = plumb_wire_inside(outer);
    struct plumb_wire_field field;
    enum plumb_status status = PLUMB_OK;
    while (!status && plumb_wire_next(&wire, &field)) {
        if (field.number == 1 &&
            !plumb_wire_take_integers(&field, found->shape, &found->rank, PLUMB_MAX_RANK))
            return refuse(reader, field.start, found->tag, "dims are more than 64 or negative");
        if (plumb_wire_is(&field, 2, PLUMB_WIRE_BYTES))
            status = text_of(reader, &field, &found->type);
        if (plumb_wire_is(&field, 3, PLUMB_WIRE_BYTES))
            *content = (struct plumb_piece){
                .map = reader->map, .offset = field.at, .size = field.size};
    }
    if (status == PLUMB_OK)
        status = plumb_wire_check(&wire, reader->map->path, reader->err);
    if (status == PLUMB_OK && !found->type)
        return refuse(reader, outer->start, found->tag, "expected its type as a text");
    return status;
}

static bool continues(const struct pending *pending, const struct pending *found)
{
    if (!pending->tag || strcmp(pending->tag, found->tag) != 0 ||
        strcmp(pending->type, found->type) != 0 || pending->rank != found->rank)
        return false;
    return memcmp(pending->shape, found->shape, (size_t)found->rank * sizeof *found->shape) ==
           0;
}

/* A whole tensor that comes again is not a further chunk of the first. */
static bool is_complete(const struct pending *pending)
{
    int64_t count = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, pending->type) == 0 &&
            plumb_shape_count(pending->rank, pending->shape, &count) &&
            !__builtin_mul_overflow((uint64_t)count, plumb_dtype_size(types[i].dtype), &bytes))
            return pending->bytes >= bytes;
    return true;
}

static enum plumb_status add_piece(struct reader *reader, const struct plumb_piece *piece)
{
    struct pending *pending = &reader->pending;
    if (pending->count == pending->capacity) {
        const size_t larger = pending->capacity ? pending->capacity * 2 : 8;
        if (larger > MAX_PIECES)
            return plumb_fail(
                reader->err, PLUMB_LIMIT, (int64_t)pending->at,
                "%s: parameter '%.200s' comes in more than %d chunks; the file is "
                "damaged or made to mislead",
                reader->map->path, pending->tag, MAX_PIECES);
        struct plumb_piece *pieces =
            plumb_realloc_array(pending->pieces, larger, sizeof *pieces);
        if (!pieces)
            return plumb_fail_memory(reader->err);
        pending->pieces = pieces;
        pending->capacity = larger;
    }
    pending->pieces[pending->count++] = *piece;
    pending->bytes += piece->size;
    return PLUMB_OK;
}

/* One Value's tensor: a new one, or the next chunk of the one before. */
static enum plumb_status take_tensor(struct reader *reader, struct pending *found,
                                     const struct plumb_piece *content)
{
    struct pending *pending = &reader->pending;
    if (!continues(pending, found) || is_complete(pending)) {
        enum plumb_status status = finish_pending(reader);
        if (status)
            return status;
        found->pieces = pending->pieces;
        found->capacity = pending->capacity;
        *pending = *found;
    }
    return add_piece(reader, content);
}

static enum plumb_status take_map(struct reader *reader, const struct pending *found,
                                  uint64_t bytes)
{
    const struct plumb_opaque opaque = {
        .name = found->tag,
        .dtype = "MapTensor",
        .bytes = bytes,
        .why = "a hash table of MindSpore's MapParameter, not an array",
    };
    enum plumb_status status = finish_pending(reader);
    return status ? status : plumb_file_add_opaque(reader->file, &opaque, reader->err);
}

static enum plumb_status read_value(struct reader *reader, const struct plumb_wire_field *outer)
{
    struct plumb_wire wire = plumb_wire_inside(outer);
    struct plumb_wire_field field, tensor = {0}, map = {0};
    struct pending found = {.at = outer->start};
    struct plumb_piece content = {.map = reader->map, .offset = outer->at};
    enum plumb_status status = PLUMB_OK;
    while (!status && plumb_wire_next(&wire, &field)) {
        if (plumb_wire_is(&field, 1, PLUMB_WIRE_BYTES))
            status = text_of(reader, &field, &found.tag);
        if (plumb_wire_is(&field, 2, PLUMB_WIRE_BYTES))
            tensor = field;
        if (plumb_wire_is(&field, 3, PLUMB_WIRE_BYTES))
            map = field;
    }
    if (status == PLUMB_OK)
        status = plumb_wire_check(&wire, reader->map->path, reader->err);
    if (status)
        return status;
    if (!found.tag || (!tensor.bytes && !map.bytes))
        return refuse(reader, outer->start, found.tag ? found.tag : "",
                      "expected a name and a tensor");
    if (map.bytes)
        return take_map(reader, &found, map.size);
    status = read_tensor(reader, &tensor, &found, &content);
    return status ? status : take_tensor(reader, &found, &content);
}

static enum plumb_status read_values(struct reader *reader, size_t size)
{
    struct plumb_wire wire = plumb_wire_of(reader->map->base, size, 0);
    struct plumb_wire_field field;
    while (plumb_wire_next(&wire, &field)) {
        if (!plumb_wire_is(&field, 1, PLUMB_WIRE_BYTES))
            return plumb_fail(
                reader->err, PLUMB_DAMAGED, (int64_t)field.start,
                "%s: byte %" PRIu64 ": expected the next parameter of a MindSpore "
                "checkpoint, found protobuf field %" PRIu32 "; the file is damaged "
                "or something else",
                reader->map->path, field.start, field.number);
        enum plumb_status status = read_value(reader, &field);
        if (status)
            return status;
    }
    enum plumb_status status = plumb_wire_check(&wire, reader->map->path, reader->err);
    return status ? status : finish_pending(reader);
}

/* ---- the whole file ------------------------------------------------------------------- */

static bool has_trailer(const struct plumb_map *map)
{
    return map->size >= TRAILER &&
           memcmp(map->base + map->size - TRAILER, "crc_num", TRAILER_NAME) == 0;
}

/* The crc covers the whole file. A small one is checked at once, for another it waits until the
 * file is read anyway. */
static enum plumb_status check_trailer(struct reader *reader, size_t size)
{
    const struct plumb_map *map = reader->map;
    const uint64_t stored = plumb_load_u64_big(map->base + map->size - 8);
    const struct plumb_file_check check = {
        .map = map, .size = size, .crc = (uint32_t)stored, .label = "the checkpoint"};
    if (stored <= UINT32_MAX && size > CHECKED_AT_OPEN)
        return plumb_file_add_check(reader->file, &check, reader->err);
    if (stored <= UINT32_MAX && plumb_crc32(0, map->base, size) == stored)
        return PLUMB_OK;
    return plumb_file_warn(
        reader->file, reader->err,
        "the checksum at the end (crc_num) does not hold: some bytes have "
        "changed since the checkpoint was saved; copy it again from its source");
}

static enum plumb_status read(struct plumb_file *file, const struct plumb_map *map,
                              struct plumb_error *err)
{
    struct reader reader = {.file = file, .map = map, .err = err};
    if (has_encryption_magic(map))
        return plumb_fail(
            err, PLUMB_UNSUPPORTED, 0,
            "%s: an encrypted MindSpore checkpoint; load it in MindSpore with its "
            "dec_key and save it without enc_key",
            map->path);
    file->framework = "mindspore";
    const size_t size = map->size - (has_trailer(map) ? TRAILER : 0);
    enum plumb_status status = read_values(&reader, size);
    if (status == PLUMB_OK && size != map->size)
        status = check_trailer(&reader, size);
    if (status == PLUMB_OK && map->size == 0)
        status = plumb_file_warn(file, err,
                                 "the file is empty; MindSpore writes such a file when no "
                                 "parameter has any element");
    plumb_mindspore_mark_states(file, 0);
    plumb_free(reader.pending.pieces);
    plumb_arena_release(&reader.arena);
    return status;
}

/* ---- writing -------------------------------------------------------------------------- */

static const char *type_of(enum plumb_dtype dtype)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype && types[i].written)
            return types[i].name;
    return NULL;
}

/* All of a Value that comes before `bytes` bytes of content. */
static void put_value_head(struct plumb_buffer *head, const struct plumb_write_item *item,
                           uint64_t bytes)
{
    struct plumb_buffer tensor, tag;
    plumb_buffer_init(&tensor, head->limit);
    plumb_buffer_init(&tag, head->limit);
    for (int i = 0; i < item->rank; i++)
        plumb_wire_put_number(&tensor, 1, (uint64_t)item->shape[i]);
    plumb_wire_put_text(&tensor, 2, type_of(item->dtype));
    plumb_wire_put_head(&tensor, 3, bytes);
    plumb_wire_put_text(&tag, 1, item->name);
    plumb_wire_put_head(&tag, 2, tensor.size + bytes);
    plumb_wire_put_head(head, 1, tag.size + tensor.size + bytes);
    plumb_buffer_append(head, tag.data, tag.size);
    plumb_buffer_append(head, tensor.data, tensor.size);
    head->failed = head->failed || plumb_buffer_failed(&tensor) || plumb_buffer_failed(&tag);
    plumb_buffer_release(&tensor);
    plumb_buffer_release(&tag);
}

static enum plumb_status write_chunk(const struct plumb_write_item *item, int64_t first,
                                     int64_t count, struct plumb_output *output,
                                     const struct plumb_progress *progress,
                                     struct plumb_error *err)
{
    struct plumb_buffer head;
    plumb_buffer_init(&head, 2 * PLUMB_MAX_NAME);
    put_value_head(&head, item, (uint64_t)count * plumb_dtype_size(item->dtype));
    enum plumb_status status = plumb_buffer_failed(&head)
                                   ? plumb_fail_memory(err)
                                   : plumb_output_write(output, head.data, head.size, err);
    plumb_buffer_release(&head);
    if (status)
        return status;
    return plumb_write_item_range(item, first, count, output, NULL, progress, err);
}

static enum plumb_status write_item(const struct plumb_write_item *item,
                                    struct plumb_output *output,
                                    const struct plumb_progress *progress,
                                    struct plumb_error *err)
{
    const int64_t most = CHUNK / (int64_t)plumb_dtype_size(item->dtype);
    const int64_t total = item->source->count;
    enum plumb_status status = PLUMB_OK;
    if (total == 0)
        status = write_chunk(item, 0, 0, output, progress, err);
    for (int64_t at = 0; at < total && status == PLUMB_OK; at += most)
        status =
            write_chunk(item, at, total - at < most ? total - at : most, output, progress, err);
    plumb_storage_drop(item->source->storage);
    return status;
}

static enum plumb_status write(const struct plumb_write_request *request,
                               struct plumb_output *output, struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < request->count; i++)
        if (!type_of(request->items[i].dtype))
            return plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                              "%s: tensor '%.200s' is %s, which MindSpore cannot load from a "
                              "checkpoint; choose another type with --dtype, or write .npz",
                              plumb_output_path(output), request->items[i].name,
                              plumb_dtype_name(request->items[i].dtype));
    for (size_t i = 0; i < request->count && status == PLUMB_OK; i++)
        status = write_item(&request->items[i], output, request->progress, err);
    return status;
}

const struct plumb_format plumb_format_ckpt = {
    .entry =
        {
            .name = "ckpt",
            .summary = "MindSpore checkpoint (.ckpt)",
            .detail =
                "Written by mindspore.save_checkpoint: protobuf messages, one a parameter, "
                "large\n"
                "ones in chunks of 512 MiB, with or without a crc at the end. The crc is "
                "checked\n"
                "at once for files up to 16 MiB, for larger ones whenever all is read. "
                "Optimizer\n"
                "states and appended values are told from parameters by their names; appended\n"
                "texts are shown as such. Encrypted checkpoints are refused. MindSpore leaves "
                "out\n"
                "tensors without elements, and so does the writer.",
        },
    .extensions = "ckpt",
    .probe = probe,
    .read = read,
    .write = write,
};
