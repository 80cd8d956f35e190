/* crc32.h - zlib's crc32: what zip members, gzip files and MindSpore checkpoints carry. */
#ifndef PLUMB_BASE_CRC32_H
#define PLUMB_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to begin) over `size` more bytes. */
uint32_t plumb_crc32(uint32_t crc, const void *bytes, size_t size);
/* The crc of A followed by B, from the crc of each: so that threads can share the work. */
uint32_t plumb_crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t length_b);

#endif
