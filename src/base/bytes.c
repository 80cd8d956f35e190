/* bytes.c - the bounded reader; see bytes.h. */
#include "base/bytes.h"

struct plumb_bytes plumb_bytes_of(const void *data, size_t size)
{
    return (struct plumb_bytes){.data = data, .size = size};
}

bool plumb_bytes_ok(const struct plumb_bytes *bytes)
{
    return !bytes->overrun;
}

size_t plumb_bytes_left(const struct plumb_bytes *bytes)
{
    return bytes->overrun ? 0 : bytes->size - bytes->at;
}

void plumb_bytes_seek(struct plumb_bytes *bytes, size_t at)
{
    if (at > bytes->size)
        bytes->overrun = true;
    else if (!bytes->overrun)
        bytes->at = at;
}

const unsigned char *plumb_bytes_take(struct plumb_bytes *bytes, size_t size)
{
    static const unsigned char nothing[1];
    if (bytes->overrun || size > bytes->size - bytes->at) {
        bytes->overrun = true;
        return NULL;
    }
    const unsigned char *here = bytes->data ? bytes->data + bytes->at : nothing;
    bytes->at += size;
    return here;
}

uint8_t plumb_bytes_u8(struct plumb_bytes *bytes)
{
    const unsigned char *p = plumb_bytes_take(bytes, 1);
    return p ? *p : 0;
}

uint16_t plumb_bytes_u16(struct plumb_bytes *bytes)
{
    const unsigned char *p = plumb_bytes_take(bytes, 2);
    return p ? plumb_load_u16(p) : 0;
}

uint32_t plumb_bytes_u32(struct plumb_bytes *bytes)
{
    const unsigned char *p = plumb_bytes_take(bytes, 4);
    return p ? plumb_load_u32(p) : 0;
}

uint64_t plumb_bytes_u64(struct plumb_bytes *bytes)
{
    const unsigned char *p = plumb_bytes_take(bytes, 8);
    return p ? plumb_load_u64(p) : 0;
}

uint64_t plumb_bytes_varint(struct plumb_bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = plumb_bytes_u8(bytes);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return bytes->overrun ? 0 : value;
    }
    bytes->overrun = true; /* an eleventh byte: no varint */
    return 0;
}

uint16_t plumb_load_u16(const void *from)
{
    const unsigned char *p = from;
    return (uint16_t)(p[0] | p[1] << 8);
}

uint32_t plumb_load_u32(const void *from)
{
    const unsigned char *p = from;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t plumb_load_u64(const void *from)
{
    const unsigned char *p = from;
    return (uint64_t)plumb_load_u32(p) | (uint64_t)plumb_load_u32(p + 4) << 32;
}

uint64_t plumb_load_u64_big(const void *from)
{
    return __builtin_bswap64(plumb_load_u64(from));
}

void plumb_store_u16(void *to, uint16_t value)
{
    unsigned char *p = to;
    p[0] = (unsigned char)value;
    p[1] = (unsigned char)(value >> 8);
}

void plumb_store_u32(void *to, uint32_t value)
{
    unsigned char *p = to;
    plumb_store_u16(p, (uint16_t)value);
    plumb_store_u16(p + 2, (uint16_t)(value >> 16));
}

void plumb_store_u64(void *to, uint64_t value)
{
    unsigned char *p = to;
    plumb_store_u32(p, (uint32_t)value);
    plumb_store_u32(p + 4, (uint32_t)(value >> 32));
}
