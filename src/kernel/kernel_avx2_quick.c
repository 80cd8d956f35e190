/* kernel_avx2_quick.c - the quick sums of kernel_quick.h with vectors of eight. */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#define QUICK PLUMB_AVX2_INLINE

typedef __m256 floats;
typedef __m256i words;
typedef __m256 choice;
typedef struct eight doubles;

enum { WIDTH = 8 };

QUICK floats load(const unsigned char *from)
{
    return load_floats(PLUMB_F32, from);
}

QUICK words load_words(const unsigned char *from)
{
    return load_bits(from);
}

QUICK floats spread(float x)
{
    return _mm256_set1_ps(x);
}

QUICK floats minus(floats x, floats y)
{
    return _mm256_sub_ps(x, y);
}

QUICK floats plus(floats x, floats y)
{
    return _mm256_add_ps(x, y);
}

QUICK floats plus_square(floats x, floats sum)
{
    return _mm256_fmadd_ps(x, x, sum);
}

QUICK floats lesser(floats x, floats y)
{
    return _mm256_min_ps(x, y);
}

QUICK floats greater(floats x, floats y)
{
    return _mm256_max_ps(x, y);
}

QUICK words lesser_words(words x, words y)
{
    return _mm256_min_epu32(x, y);
}

QUICK floats size_of(floats x)
{
    return _mm256_andnot_ps(spread(-0.0F), x);
}

QUICK words words_of(floats x)
{
    return _mm256_castps_si256(x);
}

/* How many have their upper bit set. */
QUICK uint64_t count_upper(floats held)
{
    return (uint64_t)__builtin_popcount((unsigned)_mm256_movemask_ps(held));
}

/* Added to the bits of a magnitude, it makes a zero the largest of all, and the only one whose upper bit is
 * set. */
QUICK words minus_one(void)
{
    return _mm256_set1_epi32(-1);
}

QUICK words pass_zeros(words code, words least, uint64_t *zeros)
{
    const words shifted = _mm256_add_epi32(code, minus_one());
    *zeros += count_upper(_mm256_castsi256_ps(shifted));
    return lesser_words(shifted, least);
}

QUICK words passing_zeros(words least)
{
    return _mm256_add_epi32(least, minus_one());
}

QUICK choice below(floats x, floats y)
{
    return _mm256_cmp_ps(x, y, _CMP_LT_OQ);
}

QUICK floats only(choice chosen, floats x)
{
    return _mm256_and_ps(x, chosen);
}

QUICK floats either(choice chosen, floats x, floats y)
{
    return _mm256_blendv_ps(y, x, chosen);
}

QUICK uint64_t count_nan(floats x)
{
    return count_upper(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

QUICK uint64_t count_equal(floats x, floats y)
{
    return count_upper(_mm256_cmp_ps(x, y, _CMP_EQ_OQ));
}

QUICK doubles no_doubles(void)
{
    return (doubles){_mm256_setzero_pd(), _mm256_setzero_pd()};
}

QUICK doubles add_group(doubles sum, const floats *group)
{
    const struct eight wide = widen_floats(plus(group[0], group[1]));
    return (doubles){_mm256_add_pd(sum.low, wide.low), _mm256_add_pd(sum.high, wide.high)};
}

QUICK double fold_doubles(doubles sum)
{
    return fold_sums(sum);
}

QUICK float fold_max(floats x)
{
    return fold_greatest(x);
}

QUICK float fold_min(floats x)
{
    return -fold_greatest(_mm256_xor_ps(x, spread(-0.0F)));
}

QUICK float fold_least(words least, bool zeros)
{
    return fold_min(_mm256_castsi256_ps(zeros ? _mm256_sub_epi32(least, minus_one()) : least));
}

QUICK words print(words sum, words x, const uint32_t *keys)
{
    return print_eight(sum, x, keys);
}

QUICK uint64_t fold_print(words sum)
{
    return fold_counts(sum);
}

#include "kernel_quick.h"

PLUMB_AVX2 void plumb_avx2_quick_sums(const void *x, size_t n, float pivot,
                                      const struct plumb_print_keys *keys,
                                      struct plumb_block_sums *result, uint64_t *prints,
                                      uint64_t *zero)
{
    quick_sums(x, n, pivot, keys, result, prints, zero);
}

PLUMB_AVX2 void plumb_avx2_quick_finite_sums(const void *x, size_t n, float pivot,
                                             const struct plumb_print_keys *keys,
                                             struct plumb_block_sums *result, uint64_t *prints,
                                             struct plumb_block_special *special)
{
    quick_finite_sums(x, n, pivot, keys, result, prints, special);
}

#endif
