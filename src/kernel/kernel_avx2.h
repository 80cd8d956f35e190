/*
 * kernel_avx2.h - what the AVX2 kernels share: reading eight elements of any direct type.
 *
 * Kernels are inline functions with the type as a constant argument, so that each type gets
 * a loop of its own from one text. Target attributes instead of compiler flags: no file needs
 * flags of its own, and nothing else in the program may use these instructions by accident.
 */
#ifndef PLUMB_KERNEL_KERNEL_AVX2_H
#define PLUMB_KERNEL_KERNEL_AVX2_H

#include "kernel.h"
#include "kernel_lanes.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define PLUMB_AVX2 __attribute__((target("avx2,fma,f16c,popcnt")))
#define PLUMB_AVX2_INLINE                                                                      \
    static inline                                                                              \
        __attribute__((target("avx2,fma,f16c,popcnt"), always_inline)) /* into one loop */

struct eight {
    __m256d low, high; /* elements 0-3 and 4-7 */
};

PLUMB_AVX2_INLINE __m256i load_bits(const unsigned char *from)
{
    const __m256i *at = (const void *)from;
    return _mm256_loadu_si256(at);
}

/* Eight elements of f32, f16 or bf16, from byte 0 of `from`. */
PLUMB_AVX2_INLINE __m256 load_floats(enum plumb_dtype direct, const unsigned char *from)
{
    const __m128i *half = (const void *)from;
    const float *single = (const void *)from;
    if (direct == PLUMB_F16)
        return _mm256_cvtph_ps(_mm_loadu_si128(half));
    if (direct == PLUMB_BF16)
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(half)), 16));
    return _mm256_loadu_ps(single);
}

PLUMB_AVX2_INLINE struct eight widen_floats(__m256 x)
{
    return (struct eight){_mm256_cvtps_pd(_mm256_castps256_ps128(x)),
                          _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}

PLUMB_AVX2_INLINE struct eight load_eight(enum plumb_dtype direct, const unsigned char *from)
{
    const double *wide = (const void *)from;
    const float *single = (const void *)from;
    if (direct == PLUMB_F64)
        return (struct eight){_mm256_loadu_pd(wide), _mm256_loadu_pd(wide + 4)};
    if (direct == PLUMB_F32)
        return (struct eight){_mm256_cvtps_pd(_mm_loadu_ps(single)),
                              _mm256_cvtps_pd(_mm_loadu_ps(single + 4))};
    if (direct == PLUMB_BF16) { /* the upper half of a float: no shift, no change of sides */
        const __m128i *at = (const void *)from;
        const __m128i codes = _mm_loadu_si128(at), nothing = _mm_setzero_si128();
        return (struct eight){
            _mm256_cvtps_pd(_mm_castsi128_ps(_mm_unpacklo_epi16(nothing, codes))),
            _mm256_cvtps_pd(_mm_castsi128_ps(_mm_unpackhi_epi16(nothing, codes)))};
    }
    return widen_floats(load_floats(direct, from));
}

PLUMB_AVX2_INLINE size_t direct_size(enum plumb_dtype direct)
{
    return direct == PLUMB_F64 ? 8 : direct == PLUMB_F32 ? 4 : 2;
}

PLUMB_AVX2_INLINE __m256d magnitude(__m256d x)
{
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
}

/* sum + x, on the pipes that multiply: additions alone would wait for each other. */
PLUMB_AVX2_INLINE __m256d add_by_fma(__m256d sum, __m256d x)
{
    return _mm256_fmadd_pd(x, _mm256_set1_pd(1.0), sum);
}

/* Adds 1 in the lanes where the comparison held. */
PLUMB_AVX2_INLINE __m256i count_if(__m256i counts, __m256d held)
{
    return _mm256_sub_epi64(counts, _mm256_castpd_si256(held));
}

PLUMB_AVX2_INLINE uint64_t fold_counts(__m256i counts)
{
    uint64_t lane[4];
    __m256i *at = (void *)lane;
    _mm256_storeu_si256(at, counts);
    return fold_count4(lane);
}

PLUMB_AVX2_INLINE __m256i widen_counts(__m256i counts)
{
    return _mm256_add_epi64(_mm256_srli_epi64(counts, 32),
                            _mm256_and_si256(counts, _mm256_set1_epi64x(UINT32_MAX)));
}

/* Adds eight of a fingerprint's words to its sum: each pair is added to its keys, and multiplied with itself. */
PLUMB_AVX2_INLINE __m256i print_eight(__m256i sum, __m256i words, const uint32_t *keys)
{
    const __m256i *at = (const void *)keys;
    const __m256i t = _mm256_add_epi32(words, _mm256_loadu_si256(at));
    return _mm256_add_epi64(sum, _mm256_mul_epu32(t, _mm256_srli_epi64(t, 32)));
}

/* In the order of fold_sum8(). */
PLUMB_AVX2_INLINE double fold_sums(struct eight sum)
{
    const __m256d four = _mm256_add_pd(sum.low, sum.high);
    const __m128d two =
        _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

PLUMB_AVX2_INLINE float fold_greatest(__m256 x)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

void plumb_avx2_sums(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                     struct plumb_block_sums *sums);
void plumb_avx2_add_sums(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                         struct plumb_sum_lanes *lanes);
void plumb_avx2_sums_printed(const void *x, size_t n, double pivot,
                             const struct plumb_print_keys *keys, struct plumb_block_sums *sums,
                             uint64_t *prints, uint64_t *zero);
void plumb_avx2_quick_sums(const void *x, size_t n, float pivot,
                           const struct plumb_print_keys *keys, struct plumb_block_sums *sums,
                           uint64_t *prints, uint64_t *zero);
void plumb_avx2_quick_finite_sums(const void *x, size_t n, float pivot,
                                  const struct plumb_print_keys *keys,
                                  struct plumb_block_sums *sums, uint64_t *prints,
                                  struct plumb_block_special *special);
void plumb_avx2_finite_sums(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                            struct plumb_block_sums *sums, struct plumb_block_special *special);
void plumb_avx2_pair(enum plumb_dtype direct, const void *a, const void *b, size_t n,
                     const double *tolerance, struct plumb_block_pair *pair);
size_t plumb_avx2_unequal(size_t size, const void *a, const void *b, size_t n, size_t most,
                          uint16_t *index);
void plumb_avx2_norm(enum plumb_dtype direct, const void *x, size_t n,
                     struct plumb_block_norm *norm);
void plumb_avx2_ulp(int bits, const void *a, const void *b, size_t n,
                    struct plumb_block_ulp *ulp);

#endif

#endif
