/*
 * kernel_avx2_quick.c - sums of a block in single precision over short groups, its extremes and its fingerprint,
 * in one pass: what a recording does with nearly every byte that it looks at.
 */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include "kernel_lanes.h"

/* What a group adds up to: lanes 0-7 and 8-15, because a sum takes longer than the next eight elements. */
struct group_registers {
    __m256 sum[2], square[2], absolute[2];
};

/* Of the groups: lanes 0-3 and 4-7. */
struct double_registers {
    __m256d low, high;
};

/* Of a block. The smallest magnitude is found among bits, which are in the order of magnitudes without their
 * sign. */
struct quick_registers {
    struct double_registers sum, square, absolute;
    __m256 min, max;
    __m256i least;
    uint64_t zeros, nan, pos_inf, neg_inf; /* not in vectors, of which there are too few */
};

/* What the loop is built for; constants wherever it is used. */
struct quick_wish {
    bool prints, pivots, zeros, gaps;
};

/* Added to the bits of a magnitude, it makes a zero the largest of all, and the only one whose upper bit is
 * set: where zeros are counted, they are not the smallest then. */
PLUMB_AVX2_INLINE __m256i minus_one(void)
{
    return _mm256_set1_epi32(-1);
}

/* How many of eight have their upper bit set. */
PLUMB_AVX2_INLINE uint64_t count_eight(__m256 held)
{
    return (uint64_t)__builtin_popcount((unsigned)_mm256_movemask_ps(held));
}

/* Where elements are not finite: their size and distance become 0, which leaves sums as they are. */
PLUMB_AVX2_INLINE __m256 take_gaps_out(struct quick_registers *r, __m256 v, __m256 *d,
                                       __m256 *size)
{
    const __m256 top = _mm256_set1_ps((float)INFINITY), sign = _mm256_set1_ps(-0.0F);
    const __m256 kept = _mm256_cmp_ps(*size, top, _CMP_LT_OQ);
    r->nan += count_eight(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    r->pos_inf += count_eight(_mm256_cmp_ps(v, top, _CMP_EQ_OQ));
    r->neg_inf += count_eight(_mm256_cmp_ps(v, _mm256_or_ps(top, sign), _CMP_EQ_OQ));
    *d = _mm256_and_ps(*d, kept);
    *size = _mm256_and_ps(*size, kept);
    return kept;
}

PLUMB_AVX2_INLINE void look_at_eight(struct quick_registers *r, struct group_registers *g,
                                     int half, struct quick_wish wish, __m256 v, __m256 pivot)
{
    __m256 d = wish.pivots ? _mm256_sub_ps(v, pivot) : v;
    __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), v);
    __m256i code = _mm256_castps_si256(size);
    if (wish.gaps) { /* they are larger than every smallest magnitude as they are */
        const __m256 kept = take_gaps_out(r, v, &d, &size);
        r->min = _mm256_blendv_ps(r->min, _mm256_min_ps(v, r->min), kept);
        r->max = _mm256_blendv_ps(r->max, _mm256_max_ps(v, r->max), kept);
    } else {
        r->min = _mm256_min_ps(v, r->min);
        r->max = _mm256_max_ps(v, r->max);
    }
    g->sum[half] = _mm256_add_ps(g->sum[half], d);
    g->square[half] = _mm256_fmadd_ps(d, d, g->square[half]);
    g->absolute[half] = _mm256_add_ps(g->absolute[half], size);
    if (wish.zeros) {
        code = _mm256_add_epi32(code, minus_one());
        r->zeros += count_eight(_mm256_castsi256_ps(code));
    }
    r->least = _mm256_min_epu32(code, r->least);
}

PLUMB_AVX2_INLINE void add_lanes(struct double_registers *sum, const __m256 *lanes)
{
    const struct eight wide = widen_floats(_mm256_add_ps(lanes[0], lanes[1]));
    sum->low = _mm256_add_pd(sum->low, wide.low);
    sum->high = _mm256_add_pd(sum->high, wide.high);
}

/* While these words are at hand, those a piece further are on their way, past the second-level cache: what the
 * network left there is worth more than what is looked at once. */
PLUMB_AVX2_INLINE void look_at_group(struct quick_registers *r, __m256i *print,
                                     struct quick_wish wish, const unsigned char *from,
                                     __m256 pivot, const uint32_t *keys)
{
    const __m256 nothing = _mm256_setzero_ps();
    struct group_registers g = {{nothing, nothing}, {nothing, nothing}, {nothing, nothing}};
    for (size_t i = 0; i < PLUMB_QUICK_GROUP; i += 16) {
        const unsigned char *at = from + 4 * i;
        _mm_prefetch((const char *)at + 4 * PLUMB_FINGERPRINT_WORDS, _MM_HINT_NTA);
        look_at_eight(r, &g, 0, wish, load_floats(PLUMB_F32, at), pivot);
        if (wish.prints)
            *print = print_eight(*print, load_bits(at), keys + i);
        look_at_eight(r, &g, 1, wish, load_floats(PLUMB_F32, at + 32), pivot);
        if (wish.prints)
            *print = print_eight(*print, load_bits(at + 32), keys + i + 8);
    }
    add_lanes(&r->sum, g.sum);
    add_lanes(&r->square, g.square);
    add_lanes(&r->absolute, g.absolute);
}

PLUMB_AVX2_INLINE void look_at_block(struct quick_registers *r, struct quick_wish wish,
                                     const unsigned char *from, size_t n, float pivot_value,
                                     const struct plumb_print_keys *keys, uint64_t *prints)
{
    const __m256 pivot = _mm256_set1_ps(pivot_value);
    for (size_t at = 0; at < n; at += PLUMB_FINGERPRINT_WORDS) {
        __m256i print = _mm256_setzero_si256();
        for (size_t i = 0; i < PLUMB_FINGERPRINT_WORDS; i += PLUMB_QUICK_GROUP)
            look_at_group(r, &print, wish, from + 4 * (at + i), pivot,
                          wish.prints ? keys->word + i : NULL);
        if (wish.prints)
            *prints++ = fold_counts(print);
    }
}

/* In the order of fold_sum8(). */
PLUMB_AVX2_INLINE double fold_doubles(struct double_registers sum)
{
    const __m256d four = _mm256_add_pd(sum.low, sum.high);
    const __m128d two =
        _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

PLUMB_AVX2_INLINE float fold_max(__m256 x)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

PLUMB_AVX2_INLINE float fold_least(__m256i least, bool zeros)
{
    const __m256i codes = zeros ? _mm256_sub_epi32(least, minus_one()) : least;
    return -fold_max(_mm256_xor_ps(_mm256_castsi256_ps(codes), _mm256_set1_ps(-0.0F)));
}

PLUMB_AVX2_INLINE struct quick_registers clear_block(bool zeros)
{
    const struct double_registers nothing = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    const __m256 top = _mm256_set1_ps((float)INFINITY);
    const __m256i most = _mm256_castps_si256(top);
    return (struct quick_registers){.sum = nothing,
                                    .square = nothing,
                                    .absolute = nothing,
                                    .min = top,
                                    .max = _mm256_xor_ps(top, _mm256_set1_ps(-0.0F)),
                                    .least =
                                        zeros ? _mm256_add_epi32(most, minus_one()) : most};
}

PLUMB_AVX2_INLINE struct plumb_block_sums fold_block(const struct quick_registers *r,
                                                     bool zeros)
{
    return (struct plumb_block_sums){
        .sum = fold_doubles(r->sum),
        .square = fold_doubles(r->square),
        .absolute = fold_doubles(r->absolute),
        .min = (double)-fold_max(_mm256_xor_ps(r->min, _mm256_set1_ps(-0.0F))) + 0.0,
        .max = (double)fold_max(r->max) + 0.0,
        .min_absolute = (double)fold_least(r->least, zeros),
    };
}

PLUMB_AVX2 void plumb_avx2_quick_sums(const void *x, size_t n, float pivot,
                                      const struct plumb_print_keys *keys,
                                      struct plumb_block_sums *result, uint64_t *prints,
                                      uint64_t *zero)
{
    const struct quick_wish plain = {.prints = true}, pivots = {.prints = true, .pivots = true};
    const struct quick_wish all = {.prints = true, .pivots = true, .zeros = true};
    const struct quick_wish zeros = {.prints = true, .zeros = true};
    const struct quick_wish sums = {.pivots = true}, counts = {.pivots = true, .zeros = true};
    struct quick_registers r = clear_block(zero);
    if (!keys && zero)
        look_at_block(&r, counts, x, n, pivot, NULL, NULL);
    else if (!keys)
        look_at_block(&r, sums, x, n, pivot, NULL, NULL);
    else if (zero && pivot != 0)
        look_at_block(&r, all, x, n, pivot, keys, prints);
    else if (zero)
        look_at_block(&r, zeros, x, n, pivot, keys, prints);
    else if (pivot != 0)
        look_at_block(&r, pivots, x, n, pivot, keys, prints);
    else
        look_at_block(&r, plain, x, n, pivot, keys, prints);
    *result = fold_block(&r, zero);
    if (zero)
        *zero = r.zeros;
}

PLUMB_AVX2 void plumb_avx2_quick_finite_sums(const void *x, size_t n, float pivot,
                                             const struct plumb_print_keys *keys,
                                             struct plumb_block_sums *result, uint64_t *prints,
                                             struct plumb_block_special *special)
{
    const struct quick_wish sums = {.pivots = true, .gaps = true};
    const struct quick_wish all = {.prints = true, .pivots = true, .gaps = true};
    struct quick_registers r = clear_block(false);
    if (keys)
        look_at_block(&r, all, x, n, pivot, keys, prints);
    else
        look_at_block(&r, sums, x, n, pivot, NULL, NULL);
    *result = fold_block(&r, false);
    special->nan = r.nan;
    special->pos_inf = r.pos_inf;
    special->neg_inf = r.neg_inf;
}

#endif
