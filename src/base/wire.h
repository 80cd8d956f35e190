/*
 * wire.h - protobuf's wire format: a message is a run of fields, nothing more.
 *
 *     field   = varint(number << 3 | type), then by type:
 *       0 varint    value in groups of 7 bits, low first
 *       1 fixed64   8 bytes, little endian
 *       2 bytes     varint length, then that many bytes: text, a message, packed numbers
 *       5 fixed32   4 bytes, little endian
 *
 * The reader never copies and never looks inside what is not asked for, so that a file of 50 GB
 * is walked by touching only its headers. A damaged field ends the walk; plumb_wire_check() says
 * why. Groups (types 3 and 4) are of protobuf 1 and count as damage.
 */
#ifndef PLUMB_BASE_WIRE_H
#define PLUMB_BASE_WIRE_H

#include "base/buffer.h"
#include "base/bytes.h"

enum plumb_wire_type {
    PLUMB_WIRE_VARINT = 0,
    PLUMB_WIRE_FIXED64 = 1,
    PLUMB_WIRE_BYTES = 2,
    PLUMB_WIRE_FIXED32 = 5,
};

struct plumb_wire_field {
    uint32_t number;
    enum plumb_wire_type type;
    uint64_t value;             /* of varint, fixed64, fixed32 */
    const unsigned char *bytes; /* of bytes */
    size_t size;
    uint64_t start; /* of the field's key in the file */
    uint64_t at;    /* of `bytes` or of the value, in the file */
};

struct plumb_wire {
    struct plumb_bytes bytes;
    uint64_t offset;     /* of the message in the file */
    const char *problem; /* NULL: none so far */
};

struct plumb_wire plumb_wire_of(const void *message, size_t size, uint64_t offset);
/* The message inside a field of type bytes. */
struct plumb_wire plumb_wire_inside(const struct plumb_wire_field *field);
/* False at the end of the message and where it is damaged. */
bool plumb_wire_next(struct plumb_wire *wire, struct plumb_wire_field *field);
/* PLUMB_DAMAGED, with the place, if the walk ended early. */
enum plumb_status plumb_wire_check(const struct plumb_wire *wire, const char *path,
                                   struct plumb_error *err);
/* Looks only at number and type. */
bool plumb_wire_is(const struct plumb_wire_field *field, uint32_t number,
                   enum plumb_wire_type type);

/* Appends the non-negative integers of a repeated field, packed or one of many, to `values`;
 * false if one is negative or cut off, or if there are more than `most` in all. */
bool plumb_wire_take_integers(const struct plumb_wire_field *field, int64_t *values, int *count,
                              int most);

/* Writing. */
size_t plumb_wire_varint_size(uint64_t value);
void plumb_wire_put_varint(struct plumb_buffer *buffer, uint64_t value);
void plumb_wire_put_number(struct plumb_buffer *buffer, uint32_t number, uint64_t value);
/* Key and length of a bytes field; its `size` bytes are appended by the caller. */
void plumb_wire_put_head(struct plumb_buffer *buffer, uint32_t number, uint64_t size);
void plumb_wire_put_text(struct plumb_buffer *buffer, uint32_t number, const char *text);

#endif
