/* kernel_avx2_bits.c - what shows in the bits alone: which elements differ, which are 0. */
#include "kernel_avx2.h"

#if defined(__x86_64__)

/* Adds the elements of 64 bytes whose bits differ: `mask` has a bit for every byte that is
 * part of one. */
PLUMB_AVX2_INLINE size_t add_indices(uint64_t mask, unsigned shift, size_t first, size_t count,
                                     uint16_t *index)
{
    const uint64_t element = (UINT64_C(1) << (1U << shift)) - 1;
    while (mask) {
        const unsigned byte = (unsigned)__builtin_ctzll(mask);
        index[count++] = (uint16_t)(first + (byte >> shift));
        mask &= ~(element << byte);
    }
    return count;
}

PLUMB_AVX2_INLINE uint32_t unequal_bytes(unsigned shift, const unsigned char *a,
                                         const unsigned char *b)
{
    const __m256i x = load_bits(a), y = load_bits(b);
    const __m256i same = shift == 1 ? _mm256_cmpeq_epi16(x, y) : _mm256_cmpeq_epi32(x, y);
    return ~(uint32_t)_mm256_movemask_epi8(same);
}

PLUMB_AVX2_INLINE size_t find_unequal(unsigned shift, const unsigned char *a,
                                      const unsigned char *b, size_t n, size_t most,
                                      uint16_t *index)
{
    const size_t step = 64U >> shift;
    size_t count = 0, i = 0;
    for (; i + step <= n && count <= most; i += step) {
        const uint32_t low = unequal_bytes(shift, a + (i << shift), b + (i << shift));
        const uint32_t high =
            unequal_bytes(shift, a + (i << shift) + 32, b + (i << shift) + 32);
        count = add_indices((uint64_t)high << 32 | low, shift, i, count, index);
    }
    if (i >= n || count > most)
        return count;
    const size_t more =
        plumb_kernel_scalar()->unequal((size_t)1 << shift, a + (i << shift), b + (i << shift),
                                       n - i, most - count, index + count);
    for (size_t k = count; k < count + more && k < PLUMB_BLOCK; k++)
        index[k] = (uint16_t)(index[k] + i);
    return count + more;
}

PLUMB_AVX2 size_t plumb_avx2_unequal(size_t size, const void *a, const void *b, size_t n,
                                     size_t most, uint16_t *index)
{
    if (size == 2)
        return find_unequal(1, a, b, n, most, index);
    if (size == 4)
        return find_unequal(2, a, b, n, most, index);
    return plumb_kernel_scalar()->unequal(size, a, b, n, most, index);
}

/* Shifted left by one bit, +0 and -0 are 0. */
PLUMB_AVX2 uint64_t plumb_avx2_zeros(size_t size, const void *x, size_t n)
{
    const unsigned char *bytes = x;
    const __m256i nothing = _mm256_setzero_si256();
    uint64_t count = 0;
    size_t at = 0;
    for (; size < 8 && at + 32 <= n * size; at += 32) {
        const __m256i v = load_bits(bytes + at);
        const __m256i zero = size == 2 ? _mm256_cmpeq_epi16(_mm256_add_epi16(v, v), nothing)
                                       : _mm256_cmpeq_epi32(_mm256_add_epi32(v, v), nothing);
        count += (unsigned)__builtin_popcount((unsigned)_mm256_movemask_epi8(zero));
    }
    return count / size + plumb_kernel_scalar()->zeros(size, bytes + at, n - at / size);
}

#endif
