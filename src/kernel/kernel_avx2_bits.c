/*
 * kernel_avx2_bits.c - what shows in the bits alone: which elements differ, which are 0,
 * which is largest; and sums of squares beside.
 */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include "kernel_lanes.h"
#include "widen.h"

#include <string.h>

/* Adds the elements of 64 bytes whose bits differ: `mask` has a bit for every byte that is
 * part of one. */
PLUMB_AVX2_INLINE size_t add_indices(uint64_t mask, unsigned shift, size_t first, size_t count,
                                     uint16_t *index)
{
    const uint64_t element = (UINT64_C(1) << (1U << shift)) - 1;
    /* Most masks have at most one element: that one is added without a branch to guess. */
    const unsigned byte = (unsigned)__builtin_ctzll(mask | UINT64_C(1) << 63);
    index[count] = (uint16_t)(first + (byte >> shift));
    count += mask != 0;
    mask &= ~(element << byte);
    while (mask) {
        const unsigned next = (unsigned)__builtin_ctzll(mask);
        index[count++] = (uint16_t)(first + (next >> shift));
        mask &= ~(element << next);
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

/* ---- norms ------------------------------------------------------------------------------ */

/* Zeros and the largest magnitude show in the bits without their sign. */
struct bit_registers {
    __m256i max, zeros;
};

PLUMB_AVX2_INLINE struct bit_registers look_at_bits(enum plumb_dtype direct,
                                                    struct bit_registers r, __m256i bits)
{
    const __m256i nothing = _mm256_setzero_si256();
    if (direct == PLUMB_F32) {
        const __m256i code = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
        return (struct bit_registers){
            _mm256_max_epu32(code, r.max),
            _mm256_sub_epi32(r.zeros, _mm256_cmpeq_epi32(code, nothing))};
    }
    const __m256i code = _mm256_and_si256(bits, _mm256_set1_epi16(INT16_MAX));
    return (struct bit_registers){_mm256_max_epu16(code, r.max),
                                  _mm256_sub_epi16(r.zeros, _mm256_cmpeq_epi16(code, nothing))};
}

PLUMB_AVX2_INLINE size_t norm_block(enum plumb_dtype direct, const unsigned char *x, size_t n,
                                    double *lanes, struct plumb_block_norm *norm)
{
    const size_t size = direct_size(direct), step = 32 / size;
    struct bit_registers r = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256d low = _mm256_setzero_pd(), high = low;
    size_t i = 0;
    for (; i + step <= n; i += step) {
        r = look_at_bits(direct, r, load_bits(x + i * size));
        for (size_t k = i; k < i + step; k += 8) {
            const struct eight v = load_eight(direct, x + k * size);
            low = _mm256_fmadd_pd(v.low, v.low, low);
            high = _mm256_fmadd_pd(v.high, v.high, high);
        }
    }
    unsigned char codes[32], counts[32];
    double values[16];
    __m256i *at_codes = (void *)codes, *at_counts = (void *)counts;
    _mm256_storeu_si256(at_codes, r.max);
    _mm256_storeu_si256(at_counts, r.zeros);
    plumb_widen(direct, codes, step, values);
    for (size_t k = 0; k < step; k++) {
        uint32_t count = 0;
        memcpy(&count, counts + k * size, size);
        norm->zero += count;
        norm->max_absolute = lane_max(values[k], norm->max_absolute);
    }
    _mm256_storeu_pd(lanes, low);
    _mm256_storeu_pd(lanes + 4, high);
    return i;
}

PLUMB_AVX2 void plumb_avx2_norm(enum plumb_dtype direct, const void *x, size_t n,
                                struct plumb_block_norm *norm)
{
    double lanes[SUM_LANES] = {0}, rest[16];
    const unsigned char *bytes = x;
    size_t done;
    *norm = (struct plumb_block_norm){0};
    if (direct == PLUMB_F64) {
        plumb_kernel_scalar()->norm(direct, x, n, norm);
        return;
    }
    if (direct == PLUMB_F32)
        done = norm_block(PLUMB_F32, bytes, n, lanes, norm);
    else if (direct == PLUMB_F16)
        done = norm_block(PLUMB_F16, bytes, n, lanes, norm);
    else
        done = norm_block(PLUMB_BF16, bytes, n, lanes, norm);
    plumb_widen(direct, bytes + done * direct_size(direct), n - done, rest);
    for (size_t i = 0; i < n - done; i++) {
        lanes[i % SUM_LANES] = fma(rest[i], rest[i], lanes[i % SUM_LANES]);
        norm->zero += rest[i] == 0;
        norm->max_absolute = lane_max(fabs(rest[i]), norm->max_absolute);
    }
    norm->square = fold_sum8(lanes);
}

#endif
