/* crc32c.h - the Castagnoli crc that TensorBoard's records carry. */
#ifndef PLUMB_BASE_CRC32C_H
#define PLUMB_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t plumb_crc32c(const void *bytes, size_t size);

#endif
