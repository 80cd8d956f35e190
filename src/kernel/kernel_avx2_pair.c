/*
 * kernel_avx2_pair.c - comparison of two blocks in one loop.
 *
 * The sums do not all fit into sixteen registers, but the loop is long enough to hide the way
 * through memory that some of them take. References that are 0 need a longer loop, which is
 * chosen by a look at the first elements or when one turns up.
 */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include "kernel_lanes.h"
#include "widen.h"

struct pair_registers {
    __m256d d_square, d_absolute, d_sum, d_outward, d_a, a_square, a_absolute, relative;
    __m256d max_d, max_relative, max_a, max_b, min_a;
    __m256i close, within_1e3, within_5e3, zero, zero_reference;
};

/* The forms of a loop, decided outside of it. */
struct pair_form {
    enum plumb_dtype direct;
    bool zeros;  /* some reference may be 0 */
    bool within; /* count what is within 1e-3 and 5e-3 here */
};

PLUMB_AVX2_INLINE __m256d add_both(__m256d sum, __m256d low, __m256d high)
{
    return _mm256_add_pd(sum, _mm256_add_pd(low, high));
}

PLUMB_AVX2_INLINE __m256d max_both(__m256d max, __m256d low, __m256d high)
{
    return _mm256_max_pd(_mm256_max_pd(low, high), max);
}

PLUMB_AVX2_INLINE __m256i count_both(__m256i counts, __m256d low, __m256d high)
{
    return _mm256_sub_epi64(
        counts, _mm256_add_epi64(_mm256_castpd_si256(low), _mm256_castpd_si256(high)));
}

PLUMB_AVX2_INLINE __m256d square(__m256d x)
{
    return _mm256_mul_pd(x, x);
}

PLUMB_AVX2_INLINE __m256d is_zero(__m256d x)
{
    return _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ);
}

PLUMB_AVX2_INLINE __m256d below(__m256d x, double limit)
{
    return _mm256_cmp_pd(x, _mm256_set1_pd(limit), _CMP_LT_OQ);
}

/* d * sign(a) */
PLUMB_AVX2_INLINE __m256d outward_of(bool zeros, __m256d a, __m256d d)
{
    const __m256d outward = _mm256_xor_pd(d, _mm256_and_pd(a, _mm256_set1_pd(-0.0)));
    return zeros ? _mm256_andnot_pd(is_zero(a), outward) : outward;
}

/* |d| / |a|, 0 where a is 0 */
PLUMB_AVX2_INLINE __m256d relative_of(bool zeros, __m256d a, __m256d d)
{
    const __m256d relative = _mm256_div_pd(magnitude(d), magnitude(a));
    return zeros ? _mm256_andnot_pd(is_zero(a), relative) : relative;
}

PLUMB_AVX2_INLINE __m256d is_close(__m256d a, __m256d d, __m256d rtol, __m256d atol)
{
    const __m256d bound = _mm256_add_pd(_mm256_mul_pd(rtol, magnitude(a)), atol);
    return _mm256_cmp_pd(magnitude(d), bound, _CMP_LE_OQ);
}

PLUMB_AVX2_INLINE __m256d no_reference(__m256d a, __m256d d)
{
    return _mm256_andnot_pd(is_zero(d), is_zero(a));
}

PLUMB_AVX2_INLINE void add_eight(struct pair_registers *r, struct pair_form form,
                                 struct eight a, struct eight b, __m256d rtol, __m256d atol)
{
    const struct eight d = {_mm256_sub_pd(b.low, a.low), _mm256_sub_pd(b.high, a.high)};
    r->d_square = add_both(r->d_square, square(d.low), square(d.high));
    r->d_absolute = add_both(r->d_absolute, magnitude(d.low), magnitude(d.high));
    r->d_sum = add_both(r->d_sum, d.low, d.high);
    r->d_outward = add_both(r->d_outward, outward_of(form.zeros, a.low, d.low),
                            outward_of(form.zeros, a.high, d.high));
    r->d_a = add_both(r->d_a, _mm256_mul_pd(d.low, a.low), _mm256_mul_pd(d.high, a.high));
    r->a_square = add_both(r->a_square, square(a.low), square(a.high));
    r->a_absolute = add_both(r->a_absolute, magnitude(a.low), magnitude(a.high));
    r->max_d = max_both(r->max_d, magnitude(d.low), magnitude(d.high));
    r->close = count_both(r->close, is_close(a.low, d.low, rtol, atol),
                          is_close(a.high, d.high, rtol, atol));
    const struct eight relative = {relative_of(form.zeros, a.low, d.low),
                                   relative_of(form.zeros, a.high, d.high)};
    r->relative = add_both(r->relative, relative.low, relative.high);
    r->max_relative = max_both(r->max_relative, relative.low, relative.high);
    if (form.within) {
        r->within_1e3 =
            count_both(r->within_1e3, below(relative.low, 1e-3), below(relative.high, 1e-3));
        r->within_5e3 =
            count_both(r->within_5e3, below(relative.low, 5e-3), below(relative.high, 5e-3));
    }
    if (form.zeros) {
        r->zero = count_both(r->zero, is_zero(a.low), is_zero(a.high));
        r->zero_reference = count_both(r->zero_reference, no_reference(a.low, d.low),
                                       no_reference(a.high, d.high));
    }
}

PLUMB_AVX2_INLINE void store_counts(uint64_t *to, __m256i counts)
{
    __m256i *at = (void *)to;
    _mm256_store_si256(at, counts);
}

PLUMB_AVX2_INLINE void store_lanes(const struct pair_registers *r, struct pair_lanes *lanes)
{
    _mm256_store_pd(lanes->d_square, r->d_square);
    _mm256_store_pd(lanes->d_absolute, r->d_absolute);
    _mm256_store_pd(lanes->d_sum, r->d_sum);
    _mm256_store_pd(lanes->d_outward, r->d_outward);
    _mm256_store_pd(lanes->d_a, r->d_a);
    _mm256_store_pd(lanes->a_square, r->a_square);
    _mm256_store_pd(lanes->a_absolute, r->a_absolute);
    _mm256_store_pd(lanes->relative, r->relative);
    _mm256_store_pd(lanes->max_d, r->max_d);
    _mm256_store_pd(lanes->max_relative, r->max_relative);
    _mm256_store_pd(lanes->max_a, r->max_a);
    _mm256_store_pd(lanes->max_b, r->max_b);
    store_counts(lanes->close, r->close);
    store_counts(lanes->within_1e3, r->within_1e3);
    store_counts(lanes->within_5e3, r->within_5e3);
    store_counts(lanes->zero, r->zero);
    store_counts(lanes->zero_reference, r->zero_reference);
}

/* Extremes are found among the codes without their sign, which rise with the value, so that
 * more of them fit in a register. */
struct extremes {
    __m256i max_a, max_b, min_a;
};

PLUMB_AVX2_INLINE __m256i load_codes(enum plumb_dtype direct, const unsigned char *from)
{
    const __m128i *at = (const void *)from;
    if (direct == PLUMB_F32)
        return _mm256_and_si256(load_bits(from), _mm256_set1_epi32(INT32_MAX));
    return _mm256_castsi128_si256(
        _mm_and_si128(_mm_loadu_si128(at), _mm_set1_epi16(INT16_MAX)));
}

PLUMB_AVX2_INLINE void add_extremes(struct extremes *e, enum plumb_dtype direct,
                                    const unsigned char *a, const unsigned char *b)
{
    const __m256i x = load_codes(direct, a), y = load_codes(direct, b);
    if (direct == PLUMB_F32) {
        e->max_a = _mm256_max_epu32(x, e->max_a);
        e->max_b = _mm256_max_epu32(y, e->max_b);
        e->min_a = _mm256_min_epu32(x, e->min_a);
    } else {
        e->max_a = _mm256_max_epu16(x, e->max_a);
        e->max_b = _mm256_max_epu16(y, e->max_b);
        e->min_a = _mm256_min_epu16(x, e->min_a);
    }
}

PLUMB_AVX2_INLINE struct eight widen_codes(enum plumb_dtype direct, __m256i codes)
{
    unsigned char bytes[32];
    __m256i *at = (void *)bytes;
    _mm256_storeu_si256(at, codes);
    return load_eight(direct, bytes);
}

PLUMB_AVX2_INLINE void store_extremes(const struct extremes *e, enum plumb_dtype direct,
                                      struct pair_registers *r)
{
    const struct eight max_a = widen_codes(direct, e->max_a);
    const struct eight max_b = widen_codes(direct, e->max_b);
    const struct eight min_a = widen_codes(direct, e->min_a);
    r->max_a = _mm256_max_pd(max_a.low, max_a.high);
    r->max_b = _mm256_max_pd(max_b.low, max_b.high);
    r->min_a = _mm256_min_pd(min_a.low, min_a.high);
}

/* Only for blocks in which not all are within 1e-3. */
PLUMB_AVX2_INLINE void count_within(struct pair_form form, const unsigned char *a,
                                    const unsigned char *b, size_t n, struct pair_lanes *lanes)
{
    const size_t size = direct_size(form.direct);
    __m256i within_1e3 = _mm256_setzero_si256(), within_5e3 = within_1e3;
    for (size_t i = 0; i + 8 <= n; i += 8) {
        const struct eight x = load_eight(form.direct, a + i * size);
        const struct eight y = load_eight(form.direct, b + i * size);
        const __m256d low = relative_of(form.zeros, x.low, _mm256_sub_pd(y.low, x.low));
        const __m256d high = relative_of(form.zeros, x.high, _mm256_sub_pd(y.high, x.high));
        within_1e3 = count_both(within_1e3, below(low, 1e-3), below(high, 1e-3));
        within_5e3 = count_both(within_5e3, below(low, 5e-3), below(high, 5e-3));
    }
    store_counts(lanes->within_1e3, within_1e3);
    store_counts(lanes->within_5e3, within_5e3);
}

PLUMB_AVX2_INLINE struct pair_registers add_block(struct pair_form form, const unsigned char *a,
                                                  const unsigned char *b, size_t n,
                                                  const double *tolerance)
{
    const size_t size = direct_size(form.direct);
    const __m256d rtol = _mm256_set1_pd(tolerance[0]), atol = _mm256_set1_pd(tolerance[1]);
    const __m256d o = _mm256_setzero_pd();
    const __m256i none = _mm256_setzero_si256();
    struct pair_registers r = {.d_square = o,
                               .d_absolute = o,
                               .d_sum = o,
                               .d_outward = o,
                               .d_a = o,
                               .a_square = o,
                               .a_absolute = o,
                               .relative = o,
                               .max_d = o,
                               .max_relative = o,
                               .max_a = o,
                               .max_b = o,
                               .min_a = _mm256_set1_pd(1),
                               .close = none,
                               .within_1e3 = none,
                               .within_5e3 = none,
                               .zero = none,
                               .zero_reference = none};
    struct extremes e = {none, none, _mm256_set1_epi16(INT16_MAX)};
    for (size_t i = 0; i + 8 <= n; i += 8) {
        const struct eight x = load_eight(form.direct, a + i * size);
        const struct eight y = load_eight(form.direct, b + i * size);
        if (form.direct == PLUMB_F64) {
            r.max_a = max_both(r.max_a, magnitude(x.low), magnitude(x.high));
            r.max_b = max_both(r.max_b, magnitude(y.low), magnitude(y.high));
            r.min_a =
                _mm256_min_pd(_mm256_min_pd(magnitude(x.low), magnitude(x.high)), r.min_a);
        } else {
            add_extremes(&e, form.direct, a + i * size, b + i * size);
        }
        add_eight(&r, form, x, y, rtol, atol);
    }
    if (form.direct != PLUMB_F64)
        store_extremes(&e, form.direct, &r);
    return r;
}

/* False if a reference was 0 and the form does not allow for it. */
PLUMB_AVX2_INLINE bool pair_form(struct pair_form form, const unsigned char *a,
                                 const unsigned char *b, size_t n, const double *tolerance,
                                 struct pair_lanes *lanes)
{
    const struct pair_registers r = add_block(form, a, b, n, tolerance);
    if (!form.zeros && _mm256_movemask_pd(is_zero(r.min_a)))
        return false;
    store_lanes(&r, lanes);
    if (form.within)
        return true;
    if (_mm256_movemask_pd(_mm256_cmp_pd(r.max_relative, _mm256_set1_pd(1e-3), _CMP_NLT_UQ)))
        count_within(form, a, b, n, lanes);
    else
        lanes->within_1e3[0] = lanes->within_5e3[0] = n / 8 * 8;
    return true;
}

/* What the first eight pairs look like, the rest probably does too: whether a reference is 0,
 * and whether some are not within 1e-3, which is what one unit in the last place of a 16-bit
 * type amounts to. A wrong guess costs a second loop. */
PLUMB_AVX2_INLINE struct pair_form guess_form(enum plumb_dtype direct, const unsigned char *a,
                                              const unsigned char *b, size_t n)
{
    if (n < 8)
        return (struct pair_form){direct, false, true};
    const struct eight x = load_eight(direct, a), y = load_eight(direct, b);
    const __m256d zero = _mm256_or_pd(is_zero(x.low), is_zero(x.high));
    const __m256d low = relative_of(false, x.low, _mm256_sub_pd(y.low, x.low));
    const __m256d high = relative_of(false, x.high, _mm256_sub_pd(y.high, x.high));
    const __m256d near = _mm256_and_pd(below(low, 1e-3), below(high, 1e-3));
    const bool within = direct_size(direct) == 2 || _mm256_movemask_pd(near) != 15;
    return (struct pair_form){direct, _mm256_movemask_pd(zero) != 0, within};
}

PLUMB_AVX2_INLINE void pair_block(enum plumb_dtype direct, const unsigned char *a,
                                  const unsigned char *b, size_t n, const double *tolerance,
                                  struct pair_lanes *lanes)
{
    const struct pair_form guess = guess_form(direct, a, b, n);
    bool done = false;
    if (!guess.zeros && guess.within)
        done = pair_form((struct pair_form){direct, false, true}, a, b, n, tolerance, lanes);
    else if (!guess.zeros)
        done = pair_form((struct pair_form){direct, false, false}, a, b, n, tolerance, lanes);
    if (!done)
        (void)pair_form((struct pair_form){direct, true, true}, a, b, n, tolerance, lanes);
}

PLUMB_AVX2 void plumb_avx2_pair(enum plumb_dtype direct, const void *a, const void *b, size_t n,
                                const double *tolerance, struct plumb_block_pair *pair)
{
    struct pair_lanes lanes = {.d_square = {0}};
    if (direct == PLUMB_F64)
        pair_block(PLUMB_F64, a, b, n, tolerance, &lanes);
    else if (direct == PLUMB_F32)
        pair_block(PLUMB_F32, a, b, n, tolerance, &lanes);
    else if (direct == PLUMB_F16)
        pair_block(PLUMB_F16, a, b, n, tolerance, &lanes);
    else
        pair_block(PLUMB_BF16, a, b, n, tolerance, &lanes);
    const size_t rest = n % 8, done = n - rest;
    const unsigned char *from_a = a, *from_b = b;
    double left[8], right[8], difference[8];
    plumb_widen(direct, from_a + done * direct_size(direct), rest, left);
    plumb_widen(direct, from_b + done * direct_size(direct), rest, right);
    for (size_t i = 0; i < rest; i++)
        difference[i] = right[i] - left[i];
    pair_lanes_add_all(&lanes, left, right, difference, rest, tolerance);
    pair_lanes_fold(&lanes, pair);
}

#endif
