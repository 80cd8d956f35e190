/*
 * kernel_avx2_pair.c - comparison of two blocks.
 *
 * A block is in the nearest cache, so going over it several times is cheap; what costs is an
 * accumulator that finds no place among the sixteen registers and goes through memory in
 * every step. So each loop keeps few: the sums that always count; extremes, among the bits;
 * and, only where they are needed, what reports show, zeros, and what is within 1e-3.
 */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include "kernel_lanes.h"
#include "widen.h"

/* Two blocks of one type; the type is a constant wherever this is passed. */
struct two {
    enum plumb_dtype direct;
    const unsigned char *a, *b;
    size_t n;
};

PLUMB_AVX2_INLINE struct eight eight_of_a(const struct two *two, size_t i)
{
    return load_eight(two->direct, two->a + i * direct_size(two->direct));
}

PLUMB_AVX2_INLINE struct eight eight_of_b(const struct two *two, size_t i)
{
    return load_eight(two->direct, two->b + i * direct_size(two->direct));
}

PLUMB_AVX2_INLINE struct eight minus(struct eight b, struct eight a)
{
    return (struct eight){_mm256_sub_pd(b.low, a.low), _mm256_sub_pd(b.high, a.high)};
}

PLUMB_AVX2_INLINE __m256d is_zero(__m256d x)
{
    return _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ);
}

PLUMB_AVX2_INLINE __m256i count_both(__m256i counts, __m256d low, __m256d high)
{
    return count_if(count_if(counts, low), high);
}

PLUMB_AVX2_INLINE void store_counts(uint64_t *to, __m256i counts)
{
    __m256i *at = (void *)to;
    _mm256_store_si256(at, counts);
}

/* ---- the sums that always count ------------------------------------------------------- */

struct pair_registers {
    __m256d d_square, d_absolute, d_sum, d_a, a_square, relative, max_d, max_relative;
};

PLUMB_AVX2_INLINE void add_four(struct pair_registers *r, __m256d a, __m256d d)
{
    const __m256d error = magnitude(d);
    const __m256d ratio = _mm256_div_pd(error, magnitude(a));
    const __m256d relative = _mm256_andnot_pd(is_zero(a), ratio);
    r->d_square = _mm256_fmadd_pd(d, d, r->d_square);
    r->d_absolute = add_by_fma(r->d_absolute, error);
    r->d_sum = _mm256_add_pd(r->d_sum, d);
    r->d_a = _mm256_fmadd_pd(d, a, r->d_a);
    r->a_square = _mm256_fmadd_pd(a, a, r->a_square);
    r->max_d = _mm256_max_pd(error, r->max_d);
    r->relative = _mm256_add_pd(r->relative, relative);
    r->max_relative = _mm256_max_pd(relative, r->max_relative);
}

/* False if not all of them are within 1e-3. The limit is a little less, because ratios are
 * rounded and what is within is defined without them. */
PLUMB_AVX2_INLINE bool add_pairs(const struct two *two, struct pair_lanes *lanes)
{
    const __m256d o = _mm256_setzero_pd();
    struct pair_registers r = {o, o, o, o, o, o, o, o};
    for (size_t i = 0; i + 8 <= two->n; i += 8) {
        const struct eight a = eight_of_a(two, i), d = minus(eight_of_b(two, i), a);
        add_four(&r, a.low, d.low);
        add_four(&r, a.high, d.high);
    }
    _mm256_store_pd(lanes->d_square, r.d_square);
    _mm256_store_pd(lanes->d_absolute, r.d_absolute);
    _mm256_store_pd(lanes->d_sum, r.d_sum);
    _mm256_store_pd(lanes->d_a, r.d_a);
    _mm256_store_pd(lanes->a_square, r.a_square);
    _mm256_store_pd(lanes->relative, r.relative);
    _mm256_store_pd(lanes->max_d, r.max_d);
    _mm256_store_pd(lanes->max_relative, r.max_relative);
    const __m256d limit = _mm256_set1_pd(0.999999e-3);
    return !_mm256_movemask_pd(_mm256_cmp_pd(r.max_relative, limit, _CMP_NLT_UQ));
}

/* ---- extremes ------------------------------------------------------------------------- */

/* Found among the bits without their sign, which rise with the value. */
struct extremes {
    __m256i max_a, max_b, min_a;
};

PLUMB_AVX2_INLINE struct extremes add_extremes(enum plumb_dtype direct, struct extremes e,
                                               __m256i a, __m256i b)
{
    if (direct == PLUMB_F32) {
        const __m256i mask = _mm256_set1_epi32(INT32_MAX);
        const __m256i x = _mm256_and_si256(a, mask), y = _mm256_and_si256(b, mask);
        return (struct extremes){_mm256_max_epu32(x, e.max_a), _mm256_max_epu32(y, e.max_b),
                                 _mm256_min_epu32(x, e.min_a)};
    }
    const __m256i mask = _mm256_set1_epi16(INT16_MAX);
    const __m256i x = _mm256_and_si256(a, mask), y = _mm256_and_si256(b, mask);
    return (struct extremes){_mm256_max_epu16(x, e.max_a), _mm256_max_epu16(y, e.max_b),
                             _mm256_min_epu16(x, e.min_a)};
}

/* Sixteen halves or eight floats at a time; what is left of the halves is one step of eight,
 * the other eight of which are taken twice. */
PLUMB_AVX2_INLINE struct extremes find_extremes(const struct two *two)
{
    const size_t size = direct_size(two->direct), bytes = two->n / 8 * 8 * size;
    struct extremes e = {_mm256_setzero_si256(), _mm256_setzero_si256(),
                         _mm256_set1_epi16(INT16_MAX)};
    size_t at = 0;
    for (; at + 32 <= bytes; at += 32)
        e = add_extremes(two->direct, e, load_bits(two->a + at), load_bits(two->b + at));
    if (at < bytes) {
        const __m128i *a = (const void *)(two->a + at), *b = (const void *)(two->b + at);
        e = add_extremes(two->direct, e, _mm256_broadcastsi128_si256(_mm_loadu_si128(a)),
                         _mm256_broadcastsi128_si256(_mm_loadu_si128(b)));
    }
    return e;
}

/* As eight doubles in two registers; halves: the first eight of sixteen, after the upper were
 * folded onto them. */
PLUMB_AVX2_INLINE struct eight widen_bits(enum plumb_dtype direct, __m256i bits)
{
    unsigned char bytes[32];
    __m256i *at = (void *)bytes;
    _mm256_storeu_si256(at, bits);
    return load_eight(direct, bytes);
}

PLUMB_AVX2_INLINE __m256i upper_half(__m256i bits)
{
    return _mm256_permute2x128_si256(bits, bits, 0x11);
}

/* True if some reference is 0. */
PLUMB_AVX2_INLINE bool store_extremes(enum plumb_dtype direct, struct extremes e,
                                      struct pair_lanes *lanes)
{
    if (direct != PLUMB_F32) {
        e.max_a = _mm256_max_epu16(e.max_a, upper_half(e.max_a));
        e.max_b = _mm256_max_epu16(e.max_b, upper_half(e.max_b));
        e.min_a = _mm256_min_epu16(e.min_a, upper_half(e.min_a));
    }
    const struct eight max_a = widen_bits(direct, e.max_a), max_b = widen_bits(direct, e.max_b);
    const struct eight min_a = widen_bits(direct, e.min_a);
    _mm256_store_pd(lanes->max_a, _mm256_max_pd(max_a.low, max_a.high));
    _mm256_store_pd(lanes->max_b, _mm256_max_pd(max_b.low, max_b.high));
    return _mm256_movemask_pd(_mm256_or_pd(is_zero(min_a.low), is_zero(min_a.high)));
}

PLUMB_AVX2_INLINE bool store_double_extremes(const struct two *two, struct pair_lanes *lanes)
{
    __m256d max_a = _mm256_setzero_pd(), max_b = max_a, zero = max_a;
    for (size_t i = 0; i + 8 <= two->n; i += 8) {
        const struct eight a = eight_of_a(two, i), b = eight_of_b(two, i);
        max_a = _mm256_max_pd(magnitude(a.high), _mm256_max_pd(magnitude(a.low), max_a));
        max_b = _mm256_max_pd(magnitude(b.high), _mm256_max_pd(magnitude(b.low), max_b));
        zero = _mm256_or_pd(zero, _mm256_or_pd(is_zero(a.low), is_zero(a.high)));
    }
    _mm256_store_pd(lanes->max_a, max_a);
    _mm256_store_pd(lanes->max_b, max_b);
    return _mm256_movemask_pd(zero);
}

/* ---- what is not always needed --------------------------------------------------------- */

/* |d| < share * |a| */
PLUMB_AVX2_INLINE __m256d is_within(__m256d a, __m256d d, double share)
{
    const __m256d bound = _mm256_mul_pd(_mm256_set1_pd(share), magnitude(a));
    return _mm256_cmp_pd(magnitude(d), bound, _CMP_LT_OQ);
}

PLUMB_AVX2_INLINE void count_within(const struct two *two, struct pair_lanes *lanes)
{
    __m256i near = _mm256_setzero_si256(), less_near = near;
    for (size_t i = 0; i + 8 <= two->n; i += 8) {
        const struct eight a = eight_of_a(two, i), d = minus(eight_of_b(two, i), a);
        near = count_both(near, is_within(a.low, d.low, 1e-3), is_within(a.high, d.high, 1e-3));
        less_near = count_both(less_near, is_within(a.low, d.low, 5e-3),
                               is_within(a.high, d.high, 5e-3));
    }
    store_counts(lanes->within_1e3, near);
    store_counts(lanes->within_5e3, less_near);
}

/* a is 0 and b is not */
PLUMB_AVX2_INLINE __m256d no_reference(__m256d a, __m256d b)
{
    return _mm256_andnot_pd(is_zero(b), is_zero(a));
}

PLUMB_AVX2_INLINE void count_zeros(const struct two *two, struct pair_lanes *lanes)
{
    __m256i zero = _mm256_setzero_si256(), zero_reference = zero;
    for (size_t i = 0; i + 8 <= two->n; i += 8) {
        const struct eight a = eight_of_a(two, i), b = eight_of_b(two, i);
        zero = count_both(zero, is_zero(a.low), is_zero(a.high));
        zero_reference = count_both(zero_reference, no_reference(a.low, b.low),
                                    no_reference(a.high, b.high));
    }
    store_counts(lanes->zero, zero);
    store_counts(lanes->zero_reference, zero_reference);
}

struct report_registers {
    __m256d d_outward, a_absolute, rtol, atol;
    __m256i close;
};

PLUMB_AVX2_INLINE void report_four(struct report_registers *r, __m256d a, __m256d d)
{
    const __m256d outward = _mm256_xor_pd(d, _mm256_and_pd(a, _mm256_set1_pd(-0.0)));
    const __m256d bound = _mm256_fmadd_pd(r->rtol, magnitude(a), r->atol);
    r->d_outward = _mm256_add_pd(r->d_outward, _mm256_andnot_pd(is_zero(a), outward));
    r->a_absolute = _mm256_add_pd(r->a_absolute, magnitude(a));
    r->close = count_if(r->close, _mm256_cmp_pd(magnitude(d), bound, _CMP_LE_OQ));
}

PLUMB_AVX2_INLINE void add_for_reports(const struct two *two, const double *tolerance,
                                       struct pair_lanes *lanes)
{
    struct report_registers r = {_mm256_setzero_pd(), _mm256_setzero_pd(),
                                 _mm256_set1_pd(tolerance[0]), _mm256_set1_pd(tolerance[1]),
                                 _mm256_setzero_si256()};
    for (size_t i = 0; i + 8 <= two->n; i += 8) {
        const struct eight a = eight_of_a(two, i), d = minus(eight_of_b(two, i), a);
        report_four(&r, a.low, d.low);
        report_four(&r, a.high, d.high);
    }
    _mm256_store_pd(lanes->d_outward, r.d_outward);
    _mm256_store_pd(lanes->a_absolute, r.a_absolute);
    store_counts(lanes->close, r.close);
}

/* ---- all of it ------------------------------------------------------------------------- */

PLUMB_AVX2_INLINE void add_block(enum plumb_dtype direct, const void *a, const void *b,
                                 size_t n, const double *tolerance, struct pair_lanes *lanes)
{
    const struct two two = {direct, a, b, n};
    const bool near = add_pairs(&two, lanes);
    const bool zeros = direct == PLUMB_F64 ? store_double_extremes(&two, lanes)
                                           : store_extremes(direct, find_extremes(&two), lanes);
    if (zeros)
        count_zeros(&two, lanes);
    if (!near)
        count_within(&two, lanes);
    else /* zeros are added when the lanes are folded */
        lanes->within_1e3[0] = lanes->within_5e3[0] = n / 8 * 8 - fold_count4(lanes->zero);
    if (tolerance)
        add_for_reports(&two, tolerance, lanes);
}

PLUMB_AVX2 void plumb_avx2_pair(enum plumb_dtype direct, const void *a, const void *b, size_t n,
                                const double *tolerance, struct plumb_block_pair *pair)
{
    struct pair_lanes lanes = {.d_square = {0}};
    if (direct == PLUMB_F64)
        add_block(PLUMB_F64, a, b, n, tolerance, &lanes);
    else if (direct == PLUMB_F32)
        add_block(PLUMB_F32, a, b, n, tolerance, &lanes);
    else if (direct == PLUMB_F16)
        add_block(PLUMB_F16, a, b, n, tolerance, &lanes);
    else
        add_block(PLUMB_BF16, a, b, n, tolerance, &lanes);
    const size_t rest = n % 8, done = (n - rest) * direct_size(direct);
    const unsigned char *from_a = a, *from_b = b;
    double left[8], right[8], difference[8];
    plumb_widen(direct, from_a + done, rest, left);
    plumb_widen(direct, from_b + done, rest, right);
    for (size_t i = 0; i < rest; i++)
        difference[i] = right[i] - left[i];
    pair_lanes_add_all(&lanes, left, right, difference, rest, tolerance);
    pair_lanes_fold(&lanes, pair);
}

#endif
