/*
 * fingerprint.h - 64 bits that stand for the values of a tensor.
 *
 * The values in logical order, as little-endian bytes, are padded with zeros to an even number of 32-bit words
 * w[i] and cut into blocks of 1024 words. With arithmetic modulo 2^64, but for t modulo 2^32:
 *     t[i] = w[i] + K[i modulo 1024]
 *     B[k] = sum over the pairs of block k of t[2 j] * t[2 j + 1]
 *     H    = sum over k of B[k] * P^k
 *     then, with n the number of bytes (shifts bring in zeros):
 *     H ^= n * C1;  H ^= H >> 32;  H *= C2;  H ^= H >> 29
 * K[j] is the upper half of the (j + 1)-th output of splitmix64 started at 0x706c756d62 ("plumb"). P, C1 and C2
 * are in fingerprint.c. Sums commute, so threads and devices may split the words as they like; docs/fingerprint.md has the same in a few torch operations.
 */
#ifndef PLUMB_KERNEL_FINGERPRINT_H
#define PLUMB_KERNEL_FINGERPRINT_H

#include "plumb.h"

struct plumb_print_keys;

enum { PLUMB_FINGERPRINT_BLOCK = 4096 }; /* bytes */

/* Where H stands, and the power of P that belongs to the next block. */
struct plumb_fingerprint_state {
    uint64_t sum, factor;
};

/* Of bytes that begin at byte `position`, a multiple of PLUMB_FINGERPRINT_BLOCK, of the whole. */
struct plumb_fingerprint_state plumb_fingerprint_begin(uint64_t position);
/* The next bytes: a multiple of PLUMB_FINGERPRINT_BLOCK unless they are the last. */
void plumb_fingerprint_add(struct plumb_fingerprint_state *state, const void *bytes,
                           size_t size);
/* The next block of at most PLUMB_FINGERPRINT_BLOCK bytes, whose B was computed with these. */
const struct plumb_print_keys *
plumb_fingerprint_keys(const struct plumb_fingerprint_state *state);
void plumb_fingerprint_join(struct plumb_fingerprint_state *state, uint64_t block);
/* H of bytes that begin at byte `position`, a multiple of PLUMB_FINGERPRINT_BLOCK, of the whole. The H of
 * parts add up to the H of the whole, before plumb_fingerprint_finish. */
uint64_t plumb_fingerprint_part(uint64_t position, const void *bytes, size_t size);
uint64_t plumb_fingerprint_finish(uint64_t parts, uint64_t byte_count);

#endif
