/* crc32_fold.h - the checksum of long ranges by carry-less multiplication, where the CPU has the wide one. */
#ifndef PLUMB_BASE_CRC32_FOLD_H
#define PLUMB_BASE_CRC32_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLUMB_CRC32_FOLD = 128 }; /* bytes of one step */

bool plumb_crc32_can_fold(void);
/* Divides `size` bytes, a multiple of PLUMB_CRC32_FOLD and not 0, down to 16 bytes that have the
 * same remainder. `state` is the register before them: the inverted crc. */
void plumb_crc32_fold(uint32_t state, const void *bytes, size_t size, unsigned char rest[16]);

#endif
