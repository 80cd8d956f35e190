/* onnx_tensor.c - ONNX's TensorProto; see onnx_tensor.h. */
#include "format/onnx_tensor.h"

#include "base/error.h"
#include "base/text.h"
#include "format/opaque.h"

#include <inttypes.h>
#include <string.h>

enum { EXTERNAL = 1, FIRST_TYPED = 4, LAST_TYPED = 11 };

static const struct type {
    const char *name; /* as ONNX calls it */
    bool known;
    enum plumb_dtype dtype;
    uint32_t field; /* its typed data */
    size_t part;    /* bytes of one number there, once it is in memory */
} types[] = {
    [0] = {"UNDEFINED", false, 0, 0, 0},
    [1] = {"FLOAT", true, PLUMB_F32, 4, 4},
    [2] = {"UINT8", true, PLUMB_U8, 5, 1},
    [3] = {"INT8", true, PLUMB_I8, 5, 1},
    [4] = {"UINT16", true, PLUMB_U16, 5, 2},
    [5] = {"INT16", true, PLUMB_I16, 5, 2},
    [6] = {"INT32", true, PLUMB_I32, 5, 4},
    [7] = {"INT64", true, PLUMB_I64, 7, 8},
    [8] = {"STRING", false, 0, 0, 0},
    [9] = {"BOOL", true, PLUMB_BOOL, 5, 1},
    [10] = {"FLOAT16", true, PLUMB_F16, 5, 2},
    [11] = {"DOUBLE", true, PLUMB_F64, 10, 8},
    [12] = {"UINT32", true, PLUMB_U32, 11, 4},
    [13] = {"UINT64", true, PLUMB_U64, 11, 8},
    [14] = {"COMPLEX64", true, PLUMB_C64, 4, 4},
    [15] = {"COMPLEX128", true, PLUMB_C128, 10, 8},
    [16] = {"BFLOAT16", true, PLUMB_BF16, 5, 2},
    [17] = {"FLOAT8E4M3FN", true, PLUMB_F8E4M3, 5, 1},
    [18] = {"FLOAT8E4M3FNUZ", false, 0, 0, 0},
    [19] = {"FLOAT8E5M2", true, PLUMB_F8E5M2, 5, 1},
    [20] = {"FLOAT8E5M2FNUZ", false, 0, 0, 0},
    [21] = {"UINT4", false, 0, 0, 0},
    [22] = {"INT4", false, 0, 0, 0},
    [23] = {"FLOAT4E2M1", false, 0, 0, 0},
    [24] = {"FLOAT8E8M0", false, 0, 0, 0},
};
enum { TYPES = sizeof types / sizeof *types };

/* One TensorProto as far as it was read. */
struct found {
    const char *name;
    const struct type *type;
    int rank;
    int64_t shape[PLUMB_MAX_RANK];
    bool external, typed;
    struct plumb_wire_field raw; /* bytes is NULL without one */
    const char *location;
    uint64_t offset, length;
    bool has_length;
    uint64_t start;
};

/* How typed data is to be made into memory: the message and what to take from it. */
struct recipe {
    const struct plumb_map *map;
    uint64_t offset;
    size_t size;
    uint32_t field;
    size_t part;
    bool boolean;
};

/* ---- typed data ----------------------------------------------------------------------- */

struct values {
    unsigned char *out; /* NULL: only count */
    uint64_t room;      /* in numbers */
    uint64_t count;
};

static void put_number(const struct recipe *recipe, uint64_t number, struct values *values)
{
    if (values->out && values->count < values->room) {
        unsigned char bytes[8];
        plumb_store_u64(bytes, recipe->boolean ? number != 0 : number);
        memcpy(values->out + values->count * recipe->part, bytes, recipe->part);
    }
    values->count++;
}

static bool put_packed(const struct recipe *recipe, const struct plumb_wire_field *field,
                       struct values *values)
{
    struct plumb_bytes bytes = plumb_bytes_of(field->bytes, field->size);
    while (plumb_bytes_left(&bytes) && plumb_bytes_ok(&bytes)) {
        const uint64_t number = recipe->field == 4    ? plumb_bytes_u32(&bytes)
                                : recipe->field == 10 ? plumb_bytes_u64(&bytes)
                                                      : plumb_bytes_varint(&bytes);
        if (plumb_bytes_ok(&bytes))
            put_number(recipe, number, values);
    }
    return plumb_bytes_ok(&bytes);
}

/* Walks the message and takes every number of the field; false if one is cut off. */
static bool take_numbers(const struct recipe *recipe, struct values *values)
{
    struct plumb_wire wire =
        plumb_wire_of(recipe->map->base + recipe->offset, recipe->size, recipe->offset);
    struct plumb_wire_field field;
    bool good = true;
    while (good && plumb_wire_next(&wire, &field)) {
        if (field.number != recipe->field)
            continue;
        if (field.type == PLUMB_WIRE_BYTES)
            good = put_packed(recipe, &field, values);
        else
            put_number(recipe, field.value, values);
    }
    return good && !wire.problem;
}

static enum plumb_status produce_typed(const struct plumb_storage *storage, void *memory,
                                       struct plumb_error *err)
{
    const struct recipe *recipe = storage->recipe;
    struct values values = {.out = memory, .room = storage->size / recipe->part};
    if (!take_numbers(recipe, &values) || values.count != values.room)
        return plumb_fail(err, PLUMB_IO, (int64_t)recipe->offset,
                          "%s: '%.200s' has changed while the file was open; try again",
                          recipe->map->path, storage->label);
    return PLUMB_OK;
}

/* ---- external data -------------------------------------------------------------------- */

/* The map of an external file, opened once. On failure *why tells the reason. */
static enum plumb_status external_map(struct plumb_onnx_reader *reader, const char *location,
                                      const struct plumb_map **map, const char **why)
{
    struct plumb_file *file = reader->file;
    size_t index = 0;
    *map = NULL;
    if (plumb_table_get(&reader->external, location, &index)) {
        *map = file->maps[index];
        return PLUMB_OK;
    }
    *why = "its external file is outside the model's directory, which is refused";
    if (!plumb_path_stays_inside(location))
        return PLUMB_OK;
    *why = "its external file cannot be looked for, as the model is not a file itself";
    if (reader->map->fd < 0)
        return PLUMB_OK;
    const char *base = plumb_path_base(reader->map->path);
    char *path = plumb_arena_printf(&file->arena, "%.*s%s", (int)(base - reader->map->path),
                                    reader->map->path, location);
    struct plumb_map *opened = NULL;
    struct plumb_error problem = {0};
    if (!path)
        return plumb_fail_memory(reader->err);
    *why = "its external file cannot be opened; copy it beside the model";
    if (plumb_map_open(path, &opened, &problem) != PLUMB_OK)
        return problem.status == PLUMB_NO_MEMORY ? plumb_fail_memory(reader->err) : PLUMB_OK;
    enum plumb_status status = plumb_file_own_map(file, opened, reader->err);
    if (status)
        return status;
    if (!plumb_table_put(&reader->external, location, file->map_count - 1))
        return plumb_fail_memory(reader->err);
    *map = opened;
    return PLUMB_OK;
}

static bool parse_decimal(const char *text, uint64_t *value)
{
    uint64_t sum = 0;
    for (const char *c = text; *c; c++)
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(sum, 10U, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*c - '0'), &sum))
            return false;
    *value = sum;
    return *text != '\0';
}

/* ---- reading a message ---------------------------------------------------------------- */

static enum plumb_status refuse(const struct plumb_onnx_reader *reader,
                                const struct found *found, const char *what)
{
    return plumb_fail(reader->err, PLUMB_DAMAGED, (int64_t)found->start,
                      "%s: byte %" PRIu64
                      ": tensor '%.200s': %s; the model is damaged, copy or "
                      "export it again",
                      reader->map->path, found->start, found->name, what);
}

static enum plumb_status text_of(const struct plumb_onnx_reader *reader,
                                 const struct plumb_wire_field *field,
                                 const struct found *found, const char **text)
{
    if (field->size > PLUMB_MAX_NAME || memchr(field->bytes, 0, field->size))
        return refuse(reader, found, "expected a text of at most 64 KiB without NUL");
    *text = plumb_arena_text(&reader->file->arena, (const char *)field->bytes, field->size);
    return *text ? PLUMB_OK : plumb_fail_memory(reader->err);
}

/* One pair of texts about external data. */
static enum plumb_status read_external(const struct plumb_onnx_reader *reader,
                                       const struct plumb_wire_field *outer,
                                       struct found *found)
{
    struct plumb_wire wire = plumb_wire_inside(outer);
    struct plumb_wire_field field;
    const char *key = "", *value = "";
    enum plumb_status status = PLUMB_OK;
    while (!status && plumb_wire_next(&wire, &field)) {
        if (plumb_wire_is(&field, 1, PLUMB_WIRE_BYTES))
            status = text_of(reader, &field, found, &key);
        if (plumb_wire_is(&field, 2, PLUMB_WIRE_BYTES))
            status = text_of(reader, &field, found, &value);
    }
    if (status == PLUMB_OK)
        status = plumb_wire_check(&wire, reader->map->path, reader->err);
    if (status)
        return status;
    const bool length = strcmp(key, "length") == 0;
    if (strcmp(key, "location") == 0)
        found->location = value;
    else if (strcmp(key, "offset") == 0 || length) {
        if (!parse_decimal(value, length ? &found->length : &found->offset))
            return refuse(reader, found, "offset or length of its external data is no number");
        found->has_length = found->has_length || length;
    }
    return PLUMB_OK;
}

static enum plumb_status read_field(const struct plumb_onnx_reader *reader,
                                    const struct plumb_wire_field *field, struct found *found)
{
    if (field->number == 1 &&
        !plumb_wire_take_integers(field, found->shape, &found->rank, PLUMB_MAX_RANK))
        return refuse(reader, found, "dims are more than 64 or negative");
    if (plumb_wire_is(field, 2, PLUMB_WIRE_VARINT))
        found->type = &types[field->value < TYPES ? field->value : 0];
    if (plumb_wire_is(field, 8, PLUMB_WIRE_BYTES))
        return text_of(reader, field, found, &found->name);
    if (plumb_wire_is(field, 9, PLUMB_WIRE_BYTES))
        found->raw = *field;
    else if (field->number >= FIRST_TYPED && field->number <= LAST_TYPED)
        found->typed = true;
    if (plumb_wire_is(field, 13, PLUMB_WIRE_BYTES))
        return read_external(reader, field, found);
    if (plumb_wire_is(field, 14, PLUMB_WIRE_VARINT))
        found->external = field->value == EXTERNAL;
    return PLUMB_OK;
}

/* ---- adding it ------------------------------------------------------------------------ */

static enum plumb_status add_opaque(struct plumb_onnx_reader *reader, const struct found *found,
                                    uint64_t bytes, const char *why)
{
    const struct plumb_opaque opaque = {
        .name = found->name,
        .dtype = found->type->name,
        .rank = found->rank,
        .shape = found->shape,
        .bytes = bytes,
        .why = why,
    };
    return plumb_file_add_opaque(reader->file, &opaque, reader->err);
}

static enum plumb_status add_values(struct plumb_onnx_reader *reader, const struct found *found,
                                    const struct plumb_storage *storage)
{
    const struct plumb_tensor_spec spec = {
        .name = found->name,
        .dtype = found->type->dtype,
        .rank = found->rank,
        .shape = found->shape,
        .storage = storage,
    };
    return plumb_file_add_tensor(reader->file, &spec, reader->err);
}

static enum plumb_status add_external(struct plumb_onnx_reader *reader,
                                      const struct found *found, uint64_t bytes)
{
    const struct plumb_map *map = NULL;
    const char *why = "its external data has no location";
    enum plumb_status status =
        found->location ? external_map(reader, found->location, &map, &why) : PLUMB_OK;
    if (status)
        return status;
    if (map && found->has_length && found->length != bytes)
        return refuse(reader, found, "external length and shape disagree");
    if (map && (found->offset > map->size || bytes > map->size - found->offset)) {
        why = "its external file is too short; copy it again";
        map = NULL;
    }
    if (!map)
        return add_opaque(reader, found, bytes, why);
    struct plumb_storage *storage = NULL;
    status = plumb_file_add_storage(reader->file, map, found->offset, bytes, found->name,
                                    &storage, reader->err);
    return status ? status : add_values(reader, found, storage);
}

static enum plumb_status add_typed(struct plumb_onnx_reader *reader, const struct found *found,
                                   const struct plumb_wire_field *field, uint64_t bytes)
{
    struct recipe *recipe = plumb_arena_alloc(&reader->file->arena, 1, sizeof *recipe);
    struct plumb_storage *storage = NULL;
    struct values values = {0};
    if (!recipe)
        return plumb_fail_memory(reader->err);
    *recipe = (struct recipe){
        .map = reader->map,
        .offset = field->at,
        .size = field->size,
        .field = found->type->field,
        .part = found->type->part,
        .boolean = found->type->dtype == PLUMB_BOOL,
    };
    if (!take_numbers(recipe, &values) || values.count != bytes / recipe->part)
        return refuse(reader, found, "it has another number of values than its shape");
    enum plumb_status status = plumb_file_add_produced(
        reader->file, bytes, produce_typed, recipe, found->name, &storage, reader->err);
    return status ? status : add_values(reader, found, storage);
}

static enum plumb_status add_raw(struct plumb_onnx_reader *reader, const struct found *found,
                                 const struct plumb_wire_field *field, uint64_t bytes)
{
    /* A tensor without elements may come without data. */
    const struct plumb_wire_field *data = found->raw.bytes ? &found->raw : field;
    const uint64_t size = found->raw.bytes ? found->raw.size : 0;
    if (size != bytes)
        return refuse(reader, found, "it has another number of bytes than its shape");
    struct plumb_storage *storage = NULL;
    enum plumb_status status = plumb_file_add_storage(
        reader->file, reader->map, data->at, bytes, found->name, &storage, reader->err);
    return status ? status : add_values(reader, found, storage);
}

static enum plumb_status add_found(struct plumb_onnx_reader *reader, const struct found *found,
                                   const struct plumb_wire_field *field)
{
    int64_t count = 0, bytes = 0;
    if (!found->type->known)
        return add_opaque(reader, found, found->raw.size, "Plumb does not read this type");
    if (!plumb_shape_count(found->rank, found->shape, &count) ||
        __builtin_mul_overflow(count, (int64_t)plumb_dtype_size(found->type->dtype), &bytes))
        return refuse(reader, found, "its dims multiply to more than 2^63 bytes");
    if (found->external)
        return add_external(reader, found, (uint64_t)bytes);
    if (found->typed && !found->raw.bytes)
        return add_typed(reader, found, field, (uint64_t)bytes);
    return add_raw(reader, found, field, (uint64_t)bytes);
}

enum plumb_status plumb_onnx_add_tensor(struct plumb_onnx_reader *reader,
                                        const struct plumb_wire_field *outer)
{
    struct plumb_wire wire = plumb_wire_inside(outer);
    struct plumb_wire_field field;
    struct found found = {.name = "", .type = &types[0], .start = outer->start};
    enum plumb_status status = PLUMB_OK;
    while (!status && plumb_wire_next(&wire, &field))
        status = read_field(reader, &field, &found);
    if (status == PLUMB_OK)
        status = plumb_wire_check(&wire, reader->map->path, reader->err);
    if (status == PLUMB_OK && !*found.name) {
        found.name = plumb_arena_printf(&reader->file->arena, "unnamed.%zu", reader->unnamed++);
        status = found.name ? PLUMB_OK : plumb_fail_memory(reader->err);
    }
    return status ? status : add_found(reader, &found, outer);
}
