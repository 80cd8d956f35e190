/*
 * kernel_avx2_pair.c - comparison of two blocks.
 *
 * Two passes over a block that lies in L1, because all the sums and counts of one pass would
 * not fit into sixteen registers: first what is summed and the extremes, then the relative
 * error and what is counted. Where no reference is 0, which the first pass finds out, the
 * second need not look for it.
 */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include "kernel_lanes.h"
#include "widen.h"

struct pair_sums {
    __m256d d_square, d_absolute, d_sum, d_outward, d_a, a_square, a_absolute;
    __m256d max_d, max_a, max_b, min_a;
};

struct pair_counts {
    __m256d relative, max_relative;
    __m256i equal, close, within_1e3, within_5e3, zero, zero_reference;
};

PLUMB_AVX2_INLINE void sum_four(struct pair_sums *r, __m256d a, __m256d b)
{
    const __m256d sign = _mm256_set1_pd(-0.0);
    const __m256d d = _mm256_sub_pd(b, a);
    const __m256d error = magnitude(d), reference = magnitude(a);
    const __m256d zero = _mm256_cmp_pd(a, _mm256_setzero_pd(), _CMP_EQ_OQ);
    const __m256d outward = _mm256_xor_pd(d, _mm256_and_pd(a, sign));
    r->d_square = _mm256_add_pd(r->d_square, _mm256_mul_pd(d, d));
    r->d_absolute = _mm256_add_pd(r->d_absolute, error);
    r->d_sum = _mm256_add_pd(r->d_sum, d);
    r->d_outward = _mm256_add_pd(r->d_outward, _mm256_andnot_pd(zero, outward));
    r->d_a = _mm256_add_pd(r->d_a, _mm256_mul_pd(d, a));
    r->a_square = _mm256_add_pd(r->a_square, _mm256_mul_pd(a, a));
    r->a_absolute = _mm256_add_pd(r->a_absolute, reference);
    r->max_d = _mm256_max_pd(error, r->max_d);
    r->max_a = _mm256_max_pd(reference, r->max_a);
    r->max_b = _mm256_max_pd(magnitude(b), r->max_b);
    r->min_a = _mm256_min_pd(reference, r->min_a);
}

PLUMB_AVX2_INLINE void count_four(struct pair_counts *r, bool zeros, __m256d a, __m256d b,
                                  __m256d rtol, __m256d atol)
{
    const __m256d d = _mm256_sub_pd(b, a);
    const __m256d error = magnitude(d), reference = magnitude(a);
    const __m256d nothing = _mm256_setzero_pd();
    const __m256d same = _mm256_cmp_pd(d, nothing, _CMP_EQ_OQ);
    __m256d relative = _mm256_div_pd(error, reference);
    if (zeros) {
        const __m256d zero = _mm256_cmp_pd(a, nothing, _CMP_EQ_OQ);
        relative = _mm256_andnot_pd(zero, relative);
        r->zero = count_if(r->zero, zero);
        r->zero_reference = count_if(r->zero_reference, _mm256_andnot_pd(same, zero));
    }
    r->relative = _mm256_add_pd(r->relative, relative);
    r->max_relative = _mm256_max_pd(relative, r->max_relative);
    r->equal = count_if(r->equal, same);
    const __m256d bound = _mm256_add_pd(_mm256_mul_pd(rtol, reference), atol);
    r->close = count_if(r->close, _mm256_cmp_pd(error, bound, _CMP_LE_OQ));
    r->within_1e3 =
        count_if(r->within_1e3, _mm256_cmp_pd(relative, _mm256_set1_pd(1e-3), _CMP_LT_OQ));
    r->within_5e3 =
        count_if(r->within_5e3, _mm256_cmp_pd(relative, _mm256_set1_pd(5e-3), _CMP_LT_OQ));
}

/* Returns whether some reference is 0. */
PLUMB_AVX2_INLINE bool sum_block(enum plumb_dtype direct, const unsigned char *a,
                                 const unsigned char *b, size_t n, struct pair_lanes *lanes)
{
    const size_t size = direct_size(direct);
    const __m256d nothing = _mm256_setzero_pd();
    struct pair_sums r = {nothing, nothing, nothing, nothing, nothing,          nothing,
                          nothing, nothing, nothing, nothing, _mm256_set1_pd(1)};
    for (size_t i = 0; i + 8 <= n; i += 8) {
        const struct eight x = load_eight(direct, a + i * size);
        const struct eight y = load_eight(direct, b + i * size);
        sum_four(&r, x.low, y.low);
        sum_four(&r, x.high, y.high);
    }
    _mm256_store_pd(lanes->d_square, r.d_square);
    _mm256_store_pd(lanes->d_absolute, r.d_absolute);
    _mm256_store_pd(lanes->d_sum, r.d_sum);
    _mm256_store_pd(lanes->d_outward, r.d_outward);
    _mm256_store_pd(lanes->d_a, r.d_a);
    _mm256_store_pd(lanes->a_square, r.a_square);
    _mm256_store_pd(lanes->a_absolute, r.a_absolute);
    _mm256_store_pd(lanes->max_d, r.max_d);
    _mm256_store_pd(lanes->max_a, r.max_a);
    _mm256_store_pd(lanes->max_b, r.max_b);
    return _mm256_movemask_pd(_mm256_cmp_pd(r.min_a, nothing, _CMP_EQ_OQ)) != 0;
}

PLUMB_AVX2_INLINE void store_counts(uint64_t *to, __m256i counts)
{
    __m256i *at = (void *)to;
    _mm256_store_si256(at, counts);
}

PLUMB_AVX2_INLINE void count_block(enum plumb_dtype direct, bool zeros, const unsigned char *a,
                                   const unsigned char *b, size_t n, double rtol, double atol,
                                   struct pair_lanes *lanes)
{
    const size_t size = direct_size(direct);
    const __m256d relative_part = _mm256_set1_pd(rtol), absolute_part = _mm256_set1_pd(atol);
    const __m256i none = _mm256_setzero_si256();
    struct pair_counts r = {
        _mm256_setzero_pd(), _mm256_setzero_pd(), none, none, none, none, none, none};
    for (size_t i = 0; i + 8 <= n; i += 8) {
        const struct eight x = load_eight(direct, a + i * size);
        const struct eight y = load_eight(direct, b + i * size);
        count_four(&r, zeros, x.low, y.low, relative_part, absolute_part);
        count_four(&r, zeros, x.high, y.high, relative_part, absolute_part);
    }
    _mm256_store_pd(lanes->relative, r.relative);
    _mm256_store_pd(lanes->max_relative, r.max_relative);
    store_counts(lanes->equal, r.equal);
    store_counts(lanes->close, r.close);
    store_counts(lanes->within_1e3, r.within_1e3);
    store_counts(lanes->within_5e3, r.within_5e3);
    store_counts(lanes->zero, r.zero);
    store_counts(lanes->zero_reference, r.zero_reference);
}

PLUMB_AVX2_INLINE void pair_block(enum plumb_dtype direct, const unsigned char *a,
                                  const unsigned char *b, size_t n, double rtol, double atol,
                                  struct pair_lanes *lanes)
{
    if (sum_block(direct, a, b, n, lanes))
        count_block(direct, true, a, b, n, rtol, atol, lanes);
    else
        count_block(direct, false, a, b, n, rtol, atol, lanes);
}

PLUMB_AVX2 void plumb_avx2_pair(enum plumb_dtype direct, const void *a, const void *b, size_t n,
                                double rtol, double atol, struct plumb_block_pair *pair)
{
    struct pair_lanes lanes;
    if (direct == PLUMB_F64)
        pair_block(PLUMB_F64, a, b, n, rtol, atol, &lanes);
    else if (direct == PLUMB_F32)
        pair_block(PLUMB_F32, a, b, n, rtol, atol, &lanes);
    else if (direct == PLUMB_F16)
        pair_block(PLUMB_F16, a, b, n, rtol, atol, &lanes);
    else
        pair_block(PLUMB_BF16, a, b, n, rtol, atol, &lanes);
    const size_t rest = n % 8, done = n - rest;
    const unsigned char *from_a = a, *from_b = b;
    double left[8], right[8];
    plumb_widen(direct, from_a + done * direct_size(direct), rest, left);
    plumb_widen(direct, from_b + done * direct_size(direct), rest, right);
    for (size_t i = 0; i < rest; i++)
        pair_lane_add(&lanes, i % PAIR_LANES, left[i], right[i], right[i] - left[i], rtol,
                      atol);
    pair_lanes_fold(&lanes, pair);
}

#endif
