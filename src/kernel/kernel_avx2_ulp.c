/* kernel_avx2_ulp.c - distances in units of the last place, 8 or 16 pairs at a time. */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include "kernel_ulp.h"

enum { LIMITS_OF_16_BITS = PLUMB_ULP_LIMITS - 1 }; /* no distance is above 65536 */

/* Unsigned comparison by way of the signed one. */
PLUMB_AVX2_INLINE __m256i above16(__m256i distance, uint64_t limit)
{
    const __m256i flip = _mm256_set1_epi16(INT16_MIN);
    return _mm256_cmpgt_epi16(_mm256_xor_si256(distance, flip),
                              _mm256_set1_epi16((int16_t)((int)limit + INT16_MIN)));
}

PLUMB_AVX2_INLINE __m256i above32(__m256i distance, uint64_t limit)
{
    const __m256i flip = _mm256_set1_epi32(INT32_MIN);
    return _mm256_cmpgt_epi32(_mm256_xor_si256(distance, flip),
                              _mm256_set1_epi32((int32_t)((int64_t)limit + INT32_MIN)));
}

PLUMB_AVX2_INLINE __m256i order16(__m256i code)
{
    const __m256i sign = _mm256_srai_epi16(code, 15);
    const __m256i plain = _mm256_and_si256(code, _mm256_set1_epi16(INT16_MAX));
    return _mm256_sub_epi16(_mm256_xor_si256(plain, sign), sign);
}

PLUMB_AVX2_INLINE __m256i order32(__m256i code)
{
    const __m256i sign = _mm256_srai_epi32(code, 31);
    const __m256i plain = _mm256_and_si256(code, _mm256_set1_epi32(INT32_MAX));
    return _mm256_sub_epi32(_mm256_xor_si256(plain, sign), sign);
}

PLUMB_AVX2_INLINE void fold16(__m256i counts, uint64_t *sum)
{
    uint16_t lane[16];
    __m256i *at = (void *)lane;
    _mm256_storeu_si256(at, counts);
    for (int i = 0; i < 16; i++)
        *sum += lane[i];
}

PLUMB_AVX2_INLINE void fold32(__m256i counts, uint64_t *sum)
{
    uint32_t lane[8];
    __m256i *at = (void *)lane;
    _mm256_storeu_si256(at, counts);
    for (int i = 0; i < 8; i++)
        *sum += lane[i];
}

/* Counters of 16 bits are enough for the 64 steps of a block. */
static PLUMB_AVX2 size_t ulp16(const unsigned char *a, const unsigned char *b, size_t n,
                               struct plumb_block_ulp *ulp)
{
    __m256i same = _mm256_setzero_si256(), max = same, above[LIMITS_OF_16_BITS];
    for (int k = 0; k < LIMITS_OF_16_BITS; k++)
        above[k] = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256i x = load_bits(a + 2 * i), y = load_bits(b + 2 * i);
        const __m256i p = order16(x), q = order16(y);
        const __m256i distance =
            _mm256_sub_epi16(_mm256_max_epi16(p, q), _mm256_min_epi16(p, q));
        same = _mm256_sub_epi16(same, _mm256_cmpeq_epi16(x, y));
        max = _mm256_max_epu16(distance, max);
        for (int k = 0; k < LIMITS_OF_16_BITS; k++)
            above[k] = _mm256_sub_epi16(above[k], above16(distance, plumb_ulp_limits[k]));
    }
    uint16_t largest[16];
    __m256i *at = (void *)largest;
    _mm256_storeu_si256(at, max);
    for (int k = 0; k < 16; k++)
        ulp->max = largest[k] > ulp->max ? largest[k] : ulp->max;
    fold16(same, &ulp->same);
    for (int k = 0; k < LIMITS_OF_16_BITS; k++)
        fold16(above[k], &ulp->above[k]);
    return i;
}

static PLUMB_AVX2 size_t ulp32(const unsigned char *a, const unsigned char *b, size_t n,
                               struct plumb_block_ulp *ulp)
{
    __m256i same = _mm256_setzero_si256(), max = same, above[PLUMB_ULP_LIMITS];
    for (int k = 0; k < PLUMB_ULP_LIMITS; k++)
        above[k] = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i x = load_bits(a + 4 * i), y = load_bits(b + 4 * i);
        const __m256i p = order32(x), q = order32(y);
        const __m256i distance =
            _mm256_sub_epi32(_mm256_max_epi32(p, q), _mm256_min_epi32(p, q));
        same = _mm256_sub_epi32(same, _mm256_cmpeq_epi32(x, y));
        max = _mm256_max_epu32(distance, max);
        for (int k = 0; k < PLUMB_ULP_LIMITS; k++)
            above[k] = _mm256_sub_epi32(above[k], above32(distance, plumb_ulp_limits[k]));
    }
    uint32_t largest[8];
    __m256i *at = (void *)largest;
    _mm256_storeu_si256(at, max);
    for (int k = 0; k < 8; k++)
        ulp->max = largest[k] > ulp->max ? largest[k] : ulp->max;
    fold32(same, &ulp->same);
    for (int k = 0; k < PLUMB_ULP_LIMITS; k++)
        fold32(above[k], &ulp->above[k]);
    return i;
}

void plumb_avx2_ulp(int bits, const void *a, const void *b, size_t n,
                    struct plumb_block_ulp *ulp)
{
    size_t done = 0;
    *ulp = (struct plumb_block_ulp){0};
    if (bits == 16)
        done = ulp16(a, b, n, ulp);
    else if (bits == 32)
        done = ulp32(a, b, n, ulp);
    ulp_count_from(bits, a, b, done, n, ulp);
}

#endif
