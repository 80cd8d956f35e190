/*
 * crc32.c - the checksum by wide folding where the CPU can (25 GB/s), else by ISA-L (12 GB/s)
 * or zlib (3.6 GB/s), and the joining of two.
 *
 * A crc is a polynomial over GF(2) modulo P = 0xedb88320 with the bits reversed: bit 31 is
 * x^0. Bytes appended to a message multiply its polynomial by x^(8 * length), so that the
 * crc of A then B is crc(A) * x^(8 * length of B) + crc(B).
 */
#include "base/crc32.h"

#include "base/crc32_fold.h"

#if HAVE_ISAL
#include <isa-l/crc.h>
#else
#include <zlib.h>
#endif

static const uint32_t polynomial = UINT32_C(0xedb88320);
static const uint32_t one = UINT32_C(1) << 31; /* x^0 */
static const uint32_t x8 = UINT32_C(1) << 23;  /* x^8 */

static uint32_t crc32_by_library(uint32_t crc, const void *bytes, size_t size)
{
    if (size == 0)
        return crc;
#if HAVE_ISAL
    return crc32_gzip_refl(crc, bytes, size);
#else
    return (uint32_t)crc32_z(crc, bytes, size);
#endif
}

uint32_t plumb_crc32(uint32_t crc, const void *bytes, size_t size)
{
    enum { WORTH_FOLDING = 4 * PLUMB_CRC32_FOLD };
    const unsigned char *from = bytes;
    const size_t folded = size - size % PLUMB_CRC32_FOLD;
    if (size < WORTH_FOLDING || !plumb_crc32_can_fold())
        return crc32_by_library(crc, bytes, size);
    unsigned char rest[16];
    plumb_crc32_fold(~crc, from, folded, rest);
    crc = crc32_by_library(UINT32_MAX, rest, sizeof rest); /* the register begins as 0 */
    return crc32_by_library(crc, from + folded, size - folded);
}

static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = one; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = (b >> 1) ^ (b & 1 ? polynomial : 0);
    }
    return product;
}

uint32_t plumb_crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t length_b)
{
    uint32_t shift = one;
    for (uint32_t power = x8; length_b; length_b >>= 1) {
        if (length_b & 1)
            shift = multiply(shift, power);
        power = multiply(power, power);
    }
    return multiply(crc_a, shift) ^ crc_b;
}
