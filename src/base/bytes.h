/*
 * bytes.h - the bounded reader: every byte of a file is read through it.
 *
 * A read past the end gives 0 (or NULL) and marks the reader; nothing is ever read outside.
 * So a header is read in one go and checked once with plumb_bytes_ok().
 */
#ifndef PLUMB_BASE_BYTES_H
#define PLUMB_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_bytes {
    const unsigned char *data;
    size_t size;
    size_t at;    /* next byte to read */
    bool overrun; /* a read went past the end; `at` stays where it failed */
};

struct plumb_bytes plumb_bytes_of(const void *data, size_t size);
bool plumb_bytes_ok(const struct plumb_bytes *bytes);
size_t plumb_bytes_left(const struct plumb_bytes *bytes);
/* Sets the position; past the end marks the reader. */
void plumb_bytes_seek(struct plumb_bytes *bytes, size_t at);
/* `size` bytes as they lie in the file, or NULL. */
const unsigned char *plumb_bytes_take(struct plumb_bytes *bytes, size_t size);
uint8_t plumb_bytes_u8(struct plumb_bytes *bytes);
uint16_t plumb_bytes_u16(struct plumb_bytes *bytes); /* little endian, as all below */
uint32_t plumb_bytes_u32(struct plumb_bytes *bytes);
uint64_t plumb_bytes_u64(struct plumb_bytes *bytes);
/* A protobuf varint of at most ten bytes. */
uint64_t plumb_bytes_varint(struct plumb_bytes *bytes);

uint16_t plumb_load_u16(const void *from);
uint32_t plumb_load_u32(const void *from);
uint64_t plumb_load_u64(const void *from);
uint64_t plumb_load_u64_big(const void *from);
void plumb_store_u16(void *to, uint16_t value);
void plumb_store_u32(void *to, uint32_t value);
void plumb_store_u64(void *to, uint64_t value);

#endif
