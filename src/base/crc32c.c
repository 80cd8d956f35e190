/* crc32c.c - bit by bit, four at a time: event files are small. */
#include "base/crc32c.h"

uint32_t plumb_crc32c(const void *bytes, size_t size)
{
    /* Of the polynomial 0x82f63b78, for the low four bits. */
    static const uint32_t table[16] = {
        0x00000000U, 0x105ec76fU, 0x20bd8edeU, 0x30e349b1U, 0x417b1dbcU, 0x5125dad3U,
        0x61c69362U, 0x7198540dU, 0x82f63b78U, 0x92a8fc17U, 0xa24bb5a6U, 0xb21572c9U,
        0xc38d26c4U, 0xd3d3e1abU, 0xe330a81aU, 0xf36e6f75U,
    };
    const unsigned char *from = bytes;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= from[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}
