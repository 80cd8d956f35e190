/* kernel_avx512.c - the quick sums of kernel_quick.h with vectors of sixteen; all else is left to AVX2. */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include <pthread.h>

#define WIDE "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,popcnt"
#define QUICK static inline __attribute__((target(WIDE), always_inline)) /* into one loop */

typedef __m512 floats;
typedef __m512i words;
typedef __mmask16 choice;
typedef __m512d doubles;

enum { WIDTH = 16 };

QUICK floats load(const unsigned char *from)
{
    return _mm512_loadu_ps(from);
}

QUICK words load_words(const unsigned char *from)
{
    return _mm512_loadu_si512(from);
}

QUICK floats spread(float x)
{
    return _mm512_set1_ps(x);
}

QUICK floats minus(floats x, floats y)
{
    return _mm512_sub_ps(x, y);
}

QUICK floats plus(floats x, floats y)
{
    return _mm512_add_ps(x, y);
}

QUICK floats plus_square(floats x, floats sum)
{
    return _mm512_fmadd_ps(x, x, sum);
}

QUICK floats lesser(floats x, floats y)
{
    return _mm512_min_ps(x, y);
}

QUICK floats greater(floats x, floats y)
{
    return _mm512_max_ps(x, y);
}

QUICK words lesser_words(words x, words y)
{
    return _mm512_min_epu32(x, y);
}

QUICK floats size_of(floats x)
{
    return _mm512_andnot_ps(spread(-0.0F), x);
}

QUICK words words_of(floats x)
{
    return _mm512_castps_si512(x);
}

QUICK uint64_t count_chosen(choice chosen)
{
    return (uint64_t)_mm_popcnt_u32(chosen);
}

QUICK words pass_zeros(words code, words least, uint64_t *zeros)
{
    const choice kept = _mm512_test_epi32_mask(code, code);
    *zeros += WIDTH - count_chosen(kept);
    return _mm512_mask_min_epu32(least, kept, code, least);
}

QUICK words passing_zeros(words least)
{
    return least;
}

QUICK choice below(floats x, floats y)
{
    return _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ);
}

QUICK floats only(choice chosen, floats x)
{
    return _mm512_maskz_mov_ps(chosen, x);
}

QUICK floats either(choice chosen, floats x, floats y)
{
    return _mm512_mask_mov_ps(y, chosen, x);
}

QUICK uint64_t count_nan(floats x)
{
    return count_chosen(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q));
}

QUICK uint64_t count_equal(floats x, floats y)
{
    return count_chosen(_mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ));
}

QUICK doubles no_doubles(void)
{
    return _mm512_setzero_pd();
}

QUICK __m256 lower(floats x)
{
    return _mm512_castps512_ps256(x);
}

QUICK __m256 upper(floats x)
{
    return _mm512_extractf32x8_ps(x, 1);
}

QUICK doubles add_group(doubles sum, const floats *group)
{
    const __m256 eight = _mm256_add_ps(lower(*group), upper(*group));
    return _mm512_add_pd(sum, _mm512_cvtps_pd(eight));
}

QUICK double fold_doubles(doubles sum)
{
    return fold_sums(
        (struct eight){_mm512_castpd512_pd256(sum), _mm512_extractf64x4_pd(sum, 1)});
}

QUICK float fold_max(floats x)
{
    return fold_greatest(_mm256_max_ps(lower(x), upper(x)));
}

QUICK float fold_min(floats x)
{
    return -fold_max(_mm512_xor_ps(x, spread(-0.0F)));
}

QUICK float fold_least(words least, bool zeros)
{
    (void)zeros;
    return fold_min(_mm512_castsi512_ps(least));
}

QUICK words print(words sum, words x, const uint32_t *keys)
{
    const words t = _mm512_add_epi32(x, _mm512_loadu_si512(keys));
    return _mm512_add_epi64(sum, _mm512_mul_epu32(t, _mm512_srli_epi64(t, 32)));
}

QUICK uint64_t fold_print(words sum)
{
    return fold_counts(
        _mm256_add_epi64(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1)));
}

#include "kernel_quick.h"

static __attribute__((target(WIDE))) void wide_quick_sums(const void *x, size_t n, float pivot,
                                                          const struct plumb_print_keys *keys,
                                                          struct plumb_block_sums *result,
                                                          uint64_t *prints, uint64_t *zero)
{
    quick_sums(x, n, pivot, keys, result, prints, zero);
}

static __attribute__((target(WIDE))) void
wide_quick_finite_sums(const void *x, size_t n, float pivot,
                       const struct plumb_print_keys *keys, struct plumb_block_sums *result,
                       uint64_t *prints, struct plumb_block_special *special)
{
    quick_finite_sums(x, n, pivot, keys, result, prints, special);
}

/* The last of these is that of processors which do not slow down where vectors are wide. */
static bool is_supported(void)
{
    return plumb_kernel_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
}

static struct plumb_kernel avx512_kernel;
static pthread_once_t making = PTHREAD_ONCE_INIT;

static void make_kernel(void)
{
    avx512_kernel = *plumb_kernel_avx2();
    avx512_kernel.name = "avx512";
    avx512_kernel.quick_sums = wide_quick_sums;
    avx512_kernel.quick_finite_sums = wide_quick_finite_sums;
}

const struct plumb_kernel *plumb_kernel_avx512(void)
{
    if (!is_supported())
        return NULL;
    pthread_once(&making, make_kernel);
    return &avx512_kernel;
}

#else

const struct plumb_kernel *plumb_kernel_avx512(void)
{
    return NULL;
}

#endif
