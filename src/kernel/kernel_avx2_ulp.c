/*
 * kernel_avx2_ulp.c - distances in units of the last place, many pairs at a time.
 *
 * Two codes of the same sign differ by the difference of their bits, which is all that is
 * needed for noise. A block with a pair of different signs goes through a second, longer loop.
 */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include "kernel_ulp.h"

/* Counters of 16 bits are enough for the 64 steps of a block; the last one counts what is
 * above 65536, in 32 bits. */
struct ulp_registers {
    __m256i signs, same, max, above[PLUMB_ULP_LIMITS];
};

PLUMB_AVX2_INLINE struct ulp_registers ulp_start(void)
{
    const __m256i o = _mm256_setzero_si256();
    return (struct ulp_registers){o, o, o, {o, o, o, o, o, o, o}};
}

/* Spelled out: compilers keep the counters in registers only without a loop. */
PLUMB_AVX2_INLINE void count_above(struct ulp_registers *r, __m256i distance)
{
    const __m256i limit[] = {_mm256_setzero_si256(), _mm256_set1_epi16(1),
                             _mm256_set1_epi16(2),   _mm256_set1_epi16(4),
                             _mm256_set1_epi16(16),  _mm256_set1_epi16(256)};
    r->above[0] = _mm256_sub_epi16(r->above[0], _mm256_cmpgt_epi16(distance, limit[0]));
    r->above[1] = _mm256_sub_epi16(r->above[1], _mm256_cmpgt_epi16(distance, limit[1]));
    r->above[2] = _mm256_sub_epi16(r->above[2], _mm256_cmpgt_epi16(distance, limit[2]));
    r->above[3] = _mm256_sub_epi16(r->above[3], _mm256_cmpgt_epi16(distance, limit[3]));
    r->above[4] = _mm256_sub_epi16(r->above[4], _mm256_cmpgt_epi16(distance, limit[4]));
    r->above[5] = _mm256_sub_epi16(r->above[5], _mm256_cmpgt_epi16(distance, limit[5]));
}

PLUMB_AVX2_INLINE __m256i distance16(struct ulp_registers *r, const unsigned char *a,
                                     const unsigned char *b)
{
    const __m256i x = load_bits(a), y = load_bits(b);
    const __m256i distance = _mm256_abs_epi16(_mm256_sub_epi16(x, y));
    r->signs = _mm256_or_si256(r->signs, _mm256_xor_si256(x, y));
    r->max = _mm256_max_epi16(r->max, distance);
    return distance;
}

PLUMB_AVX2_INLINE __m256i distance32(struct ulp_registers *r, const unsigned char *a,
                                     const unsigned char *b)
{
    const __m256i x = load_bits(a), y = load_bits(b);
    const __m256i distance = _mm256_abs_epi32(_mm256_sub_epi32(x, y));
    r->signs = _mm256_or_si256(r->signs, _mm256_xor_si256(x, y));
    r->max = _mm256_max_epi32(r->max, distance);
    r->above[6] =
        _mm256_sub_epi32(r->above[6], _mm256_cmpgt_epi32(distance, _mm256_set1_epi32(65536)));
    return distance;
}

PLUMB_AVX2_INLINE uint64_t fold16(__m256i counts)
{
    uint16_t lane[16];
    uint64_t sum = 0;
    __m256i *at = (void *)lane;
    _mm256_storeu_si256(at, counts);
    for (int i = 0; i < 16; i++)
        sum += lane[i];
    return sum;
}

PLUMB_AVX2_INLINE uint64_t fold32(__m256i counts)
{
    uint32_t lane[8];
    uint64_t sum = 0;
    __m256i *at = (void *)lane;
    _mm256_storeu_si256(at, counts);
    for (int i = 0; i < 8; i++)
        sum += lane[i];
    return sum;
}

PLUMB_AVX2_INLINE uint64_t max16(__m256i values)
{
    uint16_t lane[16];
    uint64_t max = 0;
    __m256i *at = (void *)lane;
    _mm256_storeu_si256(at, values);
    for (int i = 0; i < 16; i++)
        max = lane[i] > max ? lane[i] : max;
    return max;
}

PLUMB_AVX2_INLINE uint64_t max32(__m256i values)
{
    uint32_t lane[8];
    uint64_t max = 0;
    __m256i *at = (void *)lane;
    _mm256_storeu_si256(at, values);
    for (int i = 0; i < 8; i++)
        max = lane[i] > max ? lane[i] : max;
    return max;
}

PLUMB_AVX2_INLINE void fold_above(const struct ulp_registers *r, size_t n,
                                  struct plumb_block_ulp *ulp)
{
    for (int k = 0; k < PLUMB_ULP_LIMITS - 1; k++)
        ulp->above[k] = fold16(r->above[k]);
    ulp->same = n - ulp->above[0]; /* of one sign: no 0 beside -0 */
}

/* Any signs and distances. */
/* Unsigned comparison by way of the signed one. */
PLUMB_AVX2_INLINE __m256i over16(__m256i distance, uint64_t limit)
{
    const __m256i flip = _mm256_set1_epi16(INT16_MIN);
    return _mm256_cmpgt_epi16(_mm256_xor_si256(distance, flip),
                              _mm256_set1_epi16((int16_t)((int)limit + INT16_MIN)));
}

PLUMB_AVX2_INLINE __m256i over32(__m256i distance, uint64_t limit)
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

PLUMB_AVX2_INLINE void count_over16(struct ulp_registers *r, __m256i distance)
{
    r->above[0] = _mm256_sub_epi16(r->above[0], over16(distance, 0));
    r->above[1] = _mm256_sub_epi16(r->above[1], over16(distance, 1));
    r->above[2] = _mm256_sub_epi16(r->above[2], over16(distance, 2));
    r->above[3] = _mm256_sub_epi16(r->above[3], over16(distance, 4));
    r->above[4] = _mm256_sub_epi16(r->above[4], over16(distance, 16));
    r->above[5] = _mm256_sub_epi16(r->above[5], over16(distance, 256));
}

PLUMB_AVX2_INLINE void count_over32(struct ulp_registers *r, __m256i distance)
{
    r->above[0] = _mm256_sub_epi32(r->above[0], over32(distance, 0));
    r->above[1] = _mm256_sub_epi32(r->above[1], over32(distance, 1));
    r->above[2] = _mm256_sub_epi32(r->above[2], over32(distance, 2));
    r->above[3] = _mm256_sub_epi32(r->above[3], over32(distance, 4));
    r->above[4] = _mm256_sub_epi32(r->above[4], over32(distance, 16));
    r->above[5] = _mm256_sub_epi32(r->above[5], over32(distance, 256));
    r->above[6] = _mm256_sub_epi32(r->above[6], over32(distance, 65536));
}

static PLUMB_AVX2 size_t any_ulp16(const unsigned char *a, const unsigned char *b, size_t n,
                                   struct plumb_block_ulp *ulp)
{
    struct ulp_registers r = ulp_start();
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256i x = load_bits(a + 2 * i), y = load_bits(b + 2 * i);
        const __m256i p = order16(x), q = order16(y);
        const __m256i distance =
            _mm256_sub_epi16(_mm256_max_epi16(p, q), _mm256_min_epi16(p, q));
        r.same = _mm256_sub_epi16(r.same, _mm256_cmpeq_epi16(x, y));
        r.max = _mm256_max_epu16(distance, r.max);
        count_over16(&r, distance);
    }
    ulp->max = max16(r.max);
    ulp->same = fold16(r.same);
    for (int k = 0; k < PLUMB_ULP_LIMITS; k++)
        ulp->above[k] = fold16(r.above[k]);
    return i;
}

static PLUMB_AVX2 size_t any_ulp32(const unsigned char *a, const unsigned char *b, size_t n,
                                   struct plumb_block_ulp *ulp)
{
    struct ulp_registers r = ulp_start();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i x = load_bits(a + 4 * i), y = load_bits(b + 4 * i);
        const __m256i p = order32(x), q = order32(y);
        const __m256i distance =
            _mm256_sub_epi32(_mm256_max_epi32(p, q), _mm256_min_epi32(p, q));
        r.same = _mm256_sub_epi32(r.same, _mm256_cmpeq_epi32(x, y));
        r.max = _mm256_max_epu32(distance, r.max);
        count_over32(&r, distance);
    }
    ulp->max = max32(r.max);
    ulp->same = fold32(r.same);
    for (int k = 0; k < PLUMB_ULP_LIMITS; k++)
        ulp->above[k] = fold32(r.above[k]);
    return i;
}

/* Return how many elements were done: none if some signs differ. */
static PLUMB_AVX2 size_t near_ulp16(const unsigned char *a, const unsigned char *b, size_t n,
                                    struct plumb_block_ulp *ulp)
{
    struct ulp_registers r = ulp_start();
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        count_above(&r, distance16(&r, a + 2 * i, b + 2 * i));
    if (_mm256_movemask_epi8(_mm256_srai_epi16(r.signs, 15)))
        return 0;
    ulp->max = max16(r.max);
    fold_above(&r, i, ulp);
    return i;
}

static PLUMB_AVX2 size_t near_ulp32(const unsigned char *a, const unsigned char *b, size_t n,
                                    struct plumb_block_ulp *ulp)
{
    struct ulp_registers r = ulp_start();
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256i low = distance32(&r, a + 4 * i, b + 4 * i);
        const __m256i high = distance32(&r, a + 4 * i + 32, b + 4 * i + 32);
        count_above(&r, _mm256_packs_epi32(low, high)); /* more than 32767 stays more */
    }
    if (_mm256_movemask_ps(_mm256_castsi256_ps(r.signs)))
        return 0;
    ulp->max = max32(r.max);
    ulp->above[6] = fold32(r.above[6]);
    fold_above(&r, i, ulp);
    return i;
}

PLUMB_AVX2_INLINE uint64_t fold64(__m256i counts)
{
    uint64_t lane[4];
    __m256i *at = (void *)lane;
    _mm256_storeu_si256(at, counts);
    return lane[0] + lane[1] + lane[2] + lane[3];
}

PLUMB_AVX2_INLINE __m256i over64(__m256i counts, __m256i distance, int64_t limit)
{
    return _mm256_sub_epi64(counts, _mm256_cmpgt_epi64(distance, _mm256_set1_epi64x(limit)));
}

static PLUMB_AVX2 size_t near_ulp64(const unsigned char *a, const unsigned char *b, size_t n,
                                    struct plumb_block_ulp *ulp)
{
    struct ulp_registers r = ulp_start();
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const __m256i x = load_bits(a + 8 * i), y = load_bits(b + 8 * i);
        const __m256i less = _mm256_cmpgt_epi64(y, x); /* of one sign, so this is their order */
        const __m256i d = _mm256_sub_epi64(x, y);
        const __m256i distance = _mm256_sub_epi64(_mm256_xor_si256(d, less), less);
        r.signs = _mm256_or_si256(r.signs, _mm256_xor_si256(x, y));
        r.max = _mm256_blendv_epi8(r.max, distance, _mm256_cmpgt_epi64(distance, r.max));
        r.above[0] = over64(r.above[0], distance, 0);
        r.above[1] = over64(r.above[1], distance, 1);
        r.above[2] = over64(r.above[2], distance, 2);
        r.above[3] = over64(r.above[3], distance, 4);
        r.above[4] = over64(r.above[4], distance, 16);
        r.above[5] = over64(r.above[5], distance, 256);
        r.above[6] = over64(r.above[6], distance, 65536);
    }
    if (_mm256_movemask_pd(_mm256_castsi256_pd(r.signs)))
        return 0;
    uint64_t largest[4];
    __m256i *at = (void *)largest;
    _mm256_storeu_si256(at, r.max);
    for (int k = 0; k < 4; k++)
        ulp->max = largest[k] > ulp->max ? largest[k] : ulp->max;
    for (int k = 0; k < PLUMB_ULP_LIMITS; k++)
        ulp->above[k] = fold64(r.above[k]);
    ulp->same = i - ulp->above[0];
    return i;
}

void plumb_avx2_ulp(int bits, const void *a, const void *b, size_t n,
                    struct plumb_block_ulp *ulp)
{
    size_t done = 0;
    *ulp = (struct plumb_block_ulp){0};
    if (bits == 16) {
        done = near_ulp16(a, b, n, ulp);
        if (done == 0)
            done = any_ulp16(a, b, n, ulp);
    } else if (bits == 32) {
        done = near_ulp32(a, b, n, ulp);
        if (done == 0)
            done = any_ulp32(a, b, n, ulp);
    } else {
        done = near_ulp64(a, b, n, ulp);
    }
    ulp_count_from(bits, a, b, done, n, ulp);
}

#endif
