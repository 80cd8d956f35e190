/* kernel_avx2.c - conversions, counts, products and fingerprints with AVX2 and F16C. */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include "kernel_lanes.h"
#include "widen.h"

#include <cpuid.h>
#include <string.h>

static PLUMB_AVX2 void f16_from_f32(const void *from, size_t count, void *to)
{
    const unsigned char *in = from;
    unsigned char *out = to;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m128i *at = (void *)(out + 2 * i);
        _mm_storeu_si128(at, _mm256_cvtps_ph(load_floats(PLUMB_F32, in + 4 * i),
                                             _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    plumb_kernel_scalar()->f16_from_f32(in + 4 * i, count - i, out + 2 * i);
}

static PLUMB_AVX2 void f32_from_f16(const void *from, size_t count, void *to)
{
    const unsigned char *in = from;
    unsigned char *out = to;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        float *at = (void *)(out + 4 * i);
        _mm256_storeu_ps(at, load_floats(PLUMB_F16, in + 2 * i));
    }
    plumb_kernel_scalar()->f32_from_f16(in + 2 * i, count - i, out + 4 * i);
}

struct count_registers {
    __m256i zero, below, at;
};

PLUMB_AVX2_INLINE void count_four(struct count_registers *r, __m256d x, __m256d low,
                                  __m256d high)
{
    const __m256d m = magnitude(x);
    r->zero = count_if(r->zero, _mm256_cmp_pd(m, _mm256_setzero_pd(), _CMP_EQ_OQ));
    r->below = count_if(r->below, _mm256_cmp_pd(m, low, _CMP_LT_OQ));
    r->at = count_if(r->at, _mm256_cmp_pd(m, high, _CMP_GE_OQ));
}

PLUMB_AVX2_INLINE __m256i count_floats_if(__m256i counts, __m256 x, __m256 y, int relation)
{
    const __m256 holds = relation == _CMP_EQ_OQ   ? _mm256_cmp_ps(x, y, _CMP_EQ_OQ)
                         : relation == _CMP_LT_OQ ? _mm256_cmp_ps(x, y, _CMP_LT_OQ)
                                                  : _mm256_cmp_ps(x, y, _CMP_GE_OQ);
    return _mm256_sub_epi32(counts, _mm256_castps_si256(holds));
}

/* Eight at a time: the limits of a type that floats hold are floats, too. */
PLUMB_AVX2_INLINE size_t count_floats(enum plumb_dtype direct, const unsigned char *x, size_t n,
                                      double low, double high, bool tops,
                                      struct count_registers *r)
{
    const __m256 least = _mm256_set1_ps((float)low), most = _mm256_set1_ps((float)high);
    const __m256 sign = _mm256_set1_ps(-0.0F), nothing = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 m =
            _mm256_andnot_ps(sign, load_floats(direct, x + i * direct_size(direct)));
        r->zero = count_floats_if(r->zero, m, nothing, _CMP_EQ_OQ);
        r->below = count_floats_if(r->below, m, least, _CMP_LT_OQ);
        if (tops)
            r->at = count_floats_if(r->at, m, most, _CMP_GE_OQ);
    }
    r->zero = widen_counts(r->zero);
    r->below = widen_counts(r->below);
    r->at = widen_counts(r->at);
    return i;
}

PLUMB_AVX2_INLINE size_t count_doubles(const unsigned char *x, size_t n, double low,
                                       double high, struct count_registers *r)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const struct eight v = load_eight(PLUMB_F64, x + 8 * i);
        count_four(r, v.low, _mm256_set1_pd(low), _mm256_set1_pd(high));
        count_four(r, v.high, _mm256_set1_pd(low), _mm256_set1_pd(high));
    }
    return i;
}

PLUMB_AVX2_INLINE void count_block(enum plumb_dtype direct, const unsigned char *x, size_t n,
                                   double low, double high, struct plumb_block_counts *counts)
{
    const bool tops = high < (double)INFINITY; /* usually nothing is near the largest value */
    struct count_registers r = {_mm256_setzero_si256(), _mm256_setzero_si256(),
                                _mm256_setzero_si256()};
    size_t i;
    if (direct == PLUMB_F64)
        i = count_doubles(x, n, low, high, &r);
    else
        i = tops ? count_floats(direct, x, n, low, high, true, &r)
                 : count_floats(direct, x, n, low, high, false, &r);
    plumb_kernel_scalar()->counts(direct, x + i * direct_size(direct), n - i, low, high,
                                  counts);
    const uint64_t zero = fold_counts(r.zero);
    counts->zero += zero;
    counts->below += fold_counts(r.below) - (low > 0 ? zero : 0);
    counts->at += tops ? fold_counts(r.at) : 0;
}

static PLUMB_AVX2 void counts(enum plumb_dtype direct, const void *x, size_t n, double low,
                              double high, struct plumb_block_counts *result)
{
    if (direct == PLUMB_F64)
        count_block(PLUMB_F64, x, n, low, high, result);
    else if (direct == PLUMB_F32)
        count_block(PLUMB_F32, x, n, low, high, result);
    else if (direct == PLUMB_F16)
        count_block(PLUMB_F16, x, n, low, high, result);
    else
        count_block(PLUMB_BF16, x, n, low, high, result);
}

PLUMB_AVX2_INLINE void multiply_block(enum plumb_dtype direct, const unsigned char *a,
                                      const unsigned char *b, size_t n, double *b_square,
                                      double *dot)
{
    const size_t size = direct_size(direct);
    __m256d square = _mm256_setzero_pd(), product = _mm256_setzero_pd();
    double squares[4], products[4], left[8], right[8];
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const struct eight x = load_eight(direct, a + i * size);
        const struct eight y = load_eight(direct, b + i * size);
        square = _mm256_add_pd(square, _mm256_mul_pd(y.low, y.low));
        product = _mm256_add_pd(product, _mm256_mul_pd(x.low, y.low));
        square = _mm256_add_pd(square, _mm256_mul_pd(y.high, y.high));
        product = _mm256_add_pd(product, _mm256_mul_pd(x.high, y.high));
    }
    _mm256_storeu_pd(squares, square);
    _mm256_storeu_pd(products, product);
    plumb_widen(direct, a + i * size, n - i, left);
    plumb_widen(direct, b + i * size, n - i, right);
    for (size_t k = 0; k < n - i; k++) {
        squares[k % PAIR_LANES] += right[k] * right[k];
        products[k % PAIR_LANES] += left[k] * right[k];
    }
    *b_square = fold_sum4(squares);
    *dot = fold_sum4(products);
}

static PLUMB_AVX2 void products(enum plumb_dtype direct, const void *a, const void *b, size_t n,
                                double *b_square, double *dot)
{
    if (direct == PLUMB_F64)
        multiply_block(PLUMB_F64, a, b, n, b_square, dot);
    else if (direct == PLUMB_F32)
        multiply_block(PLUMB_F32, a, b, n, b_square, dot);
    else if (direct == PLUMB_F16)
        multiply_block(PLUMB_F16, a, b, n, b_square, dot);
    else
        multiply_block(PLUMB_BF16, a, b, n, b_square, dot);
}

/* While these words are at hand, those a block further are on their way. */
static PLUMB_AVX2 uint64_t fingerprint(const void *words, size_t n,
                                       const struct plumb_print_keys *keys, size_t first)
{
    const unsigned char *from = words;
    const uint32_t *key = keys->word + first;
    __m256i even = _mm256_setzero_si256(), odd = even;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        _mm_prefetch((const char *)from + 4 * i + 4 * PLUMB_FINGERPRINT_WORDS, _MM_HINT_T0);
        even = print_eight(even, load_bits(from + 4 * i), key + i);
        odd = print_eight(odd, load_bits(from + 4 * i + 32), key + i + 8);
    }
    for (; i + 8 <= n; i += 8)
        even = print_eight(even, load_bits(from + 4 * i), key + i);
    return fold_counts(_mm256_add_epi64(even, odd)) +
           plumb_kernel_scalar()->fingerprint(from + 4 * i, n - i, keys, first + i);
}

static const struct plumb_kernel avx2_kernel = {
    .name = "avx2",
    .f16_from_f32 = f16_from_f32,
    .f32_from_f16 = f32_from_f16,
    .sums = plumb_avx2_sums,
    .add_sums = plumb_avx2_add_sums,
    .sums_printed = plumb_avx2_sums_printed,
    .quick_sums = plumb_avx2_quick_sums,
    .quick_finite_sums = plumb_avx2_quick_finite_sums,
    .finite_sums = plumb_avx2_finite_sums,
    .counts = counts,
    .pair = plumb_avx2_pair,
    .products = products,
    .ulp = plumb_avx2_ulp,
    .unequal = plumb_avx2_unequal,
    .norm = plumb_avx2_norm,
    .fingerprint = fingerprint,
};

/* Asked directly: clang 14 does not know the name of this feature. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

const struct plumb_kernel *plumb_kernel_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("popcnt") && has_f16c()
               ? &avx2_kernel
               : NULL;
}

#else

const struct plumb_kernel *plumb_kernel_avx2(void)
{
    return NULL;
}

#endif
