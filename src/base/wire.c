/* wire.c - protobuf's wire format; see wire.h. */
#include "base/wire.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

struct plumb_wire plumb_wire_of(const void *message, size_t size, uint64_t offset)
{
    return (struct plumb_wire){.bytes = plumb_bytes_of(message, size), .offset = offset};
}

struct plumb_wire plumb_wire_inside(const struct plumb_wire_field *field)
{
    return plumb_wire_of(field->bytes, field->size, field->at);
}

static bool stop(struct plumb_wire *wire, const char *problem)
{
    wire->problem = problem;
    return false;
}

static bool read_payload(struct plumb_wire *wire, struct plumb_wire_field *field)
{
    struct plumb_bytes *bytes = &wire->bytes;
    field->at = wire->offset + bytes->at;
    switch (field->type) {
    case PLUMB_WIRE_VARINT:
        field->value = plumb_bytes_varint(bytes);
        break;
    case PLUMB_WIRE_FIXED64:
        field->value = plumb_bytes_u64(bytes);
        break;
    case PLUMB_WIRE_FIXED32:
        field->value = plumb_bytes_u32(bytes);
        break;
    case PLUMB_WIRE_BYTES: {
        const uint64_t size = plumb_bytes_varint(bytes);
        if (!plumb_bytes_ok(bytes) || size > plumb_bytes_left(bytes))
            return stop(wire, "a field is longer than the message it is in");
        field->at = wire->offset + bytes->at;
        field->size = (size_t)size;
        field->bytes = plumb_bytes_take(bytes, field->size);
        break;
    }
    default:
        return stop(wire, "a field has a type that protobuf does not have");
    }
    return plumb_bytes_ok(bytes) || stop(wire, "a number is cut off or too long");
}

bool plumb_wire_next(struct plumb_wire *wire, struct plumb_wire_field *field)
{
    struct plumb_bytes *bytes = &wire->bytes;
    if (wire->problem || plumb_bytes_left(bytes) == 0)
        return false;
    const size_t start = bytes->at;
    const uint64_t key = plumb_bytes_varint(bytes);
    *field = (struct plumb_wire_field){
        .number = (uint32_t)(key >> 3),
        .type = (enum plumb_wire_type)(key & 7),
        .start = wire->offset + start,
    };
    bool good = false;
    if (!plumb_bytes_ok(bytes) || key > UINT32_MAX || field->number == 0)
        good = stop(wire, "a field's number is not one");
    else
        good = read_payload(wire, field);
    if (!good)
        bytes->at = start; /* where plumb_wire_check() points to */
    return good;
}

enum plumb_status plumb_wire_check(const struct plumb_wire *wire, const char *path,
                                   struct plumb_error *err)
{
    if (!wire->problem)
        return PLUMB_OK;
    const uint64_t offset = wire->offset + wire->bytes.at;
    return plumb_fail(err, PLUMB_DAMAGED, (int64_t)offset,
                      "%s: byte %" PRIu64 ": expected a protobuf field, but %s; was the file "
                      "copied to its end?",
                      path, offset, wire->problem);
}

bool plumb_wire_is(const struct plumb_wire_field *field, uint32_t number,
                   enum plumb_wire_type type)
{
    return field->number == number && field->type == type;
}

static bool append_integer(uint64_t value, int64_t *values, int *count, int most)
{
    if (*count == most || value > INT64_MAX)
        return false;
    values[(*count)++] = (int64_t)value;
    return true;
}

bool plumb_wire_take_integers(const struct plumb_wire_field *field, int64_t *values, int *count,
                              int most)
{
    if (field->type == PLUMB_WIRE_VARINT)
        return append_integer(field->value, values, count, most);
    if (field->type != PLUMB_WIRE_BYTES)
        return false;
    struct plumb_bytes packed = plumb_bytes_of(field->bytes, field->size);
    while (plumb_bytes_left(&packed) && plumb_bytes_ok(&packed))
        if (!append_integer(plumb_bytes_varint(&packed), values, count, most))
            return false;
    return plumb_bytes_ok(&packed);
}

size_t plumb_wire_varint_size(uint64_t value)
{
    size_t size = 1;
    while (value >>= 7)
        size++;
    return size;
}

void plumb_wire_put_varint(struct plumb_buffer *buffer, uint64_t value)
{
    unsigned char bytes[10];
    size_t size = 0;
    while (value > 0x7f) {
        bytes[size++] = (unsigned char)(0x80U | (value & 0x7f));
        value >>= 7;
    }
    bytes[size++] = (unsigned char)value;
    plumb_buffer_append(buffer, bytes, size);
}

static void put_key(struct plumb_buffer *buffer, uint32_t number, enum plumb_wire_type type)
{
    plumb_wire_put_varint(buffer, (uint64_t)number << 3 | (uint64_t)type);
}

void plumb_wire_put_number(struct plumb_buffer *buffer, uint32_t number, uint64_t value)
{
    put_key(buffer, number, PLUMB_WIRE_VARINT);
    plumb_wire_put_varint(buffer, value);
}

void plumb_wire_put_head(struct plumb_buffer *buffer, uint32_t number, uint64_t size)
{
    put_key(buffer, number, PLUMB_WIRE_BYTES);
    plumb_wire_put_varint(buffer, size);
}

void plumb_wire_put_text(struct plumb_buffer *buffer, uint32_t number, const char *text)
{
    const size_t size = strlen(text);
    plumb_wire_put_head(buffer, number, size);
    plumb_buffer_append(buffer, text, size);
}
