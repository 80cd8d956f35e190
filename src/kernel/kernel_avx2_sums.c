/*
 * kernel_avx2_sums.c - sums, extremes and the smallest magnitude of a block, whole or in pieces; and the
 * same of a block some of whose elements are not finite.
 */
#include "kernel_avx2.h"

#if defined(__x86_64__)

#include "kernel_lanes.h"
#include "widen.h"

struct sum_registers {
    __m256d sum[2], square[2], absolute[2];
};

/* Eight floats hold what eight lanes have seen: widening keeps their order. The smallest magnitude is
 * found among bits, which are in the order of magnitudes once the sign is shifted out. */
struct extreme_registers {
    __m256 min, max;
    __m256i least;
};

/* `x` may have been taken out, and is 0 then; `d` too. */
PLUMB_AVX2_INLINE void add_half(struct sum_registers *r, int half, __m256d x, __m256d d)
{
    r->sum[half] = _mm256_add_pd(r->sum[half], d);
    r->square[half] = _mm256_fmadd_pd(d, d, r->square[half]);
    r->absolute[half] = _mm256_add_pd(r->absolute[half], magnitude(x));
}

PLUMB_AVX2_INLINE void load_sums(struct sum_registers *r, const struct plumb_sum_lanes *lanes)
{
    for (size_t half = 0; half < 2; half++) {
        r->sum[half] = _mm256_load_pd(lanes->sum + 4 * half);
        r->square[half] = _mm256_load_pd(lanes->square + 4 * half);
        r->absolute[half] = _mm256_load_pd(lanes->absolute + 4 * half);
    }
}

PLUMB_AVX2_INLINE void store_sums(const struct sum_registers *r, struct plumb_sum_lanes *lanes)
{
    for (size_t half = 0; half < 2; half++) {
        _mm256_store_pd(lanes->sum + 4 * half, r->sum[half]);
        _mm256_store_pd(lanes->square + 4 * half, r->square[half]);
        _mm256_store_pd(lanes->absolute + 4 * half, r->absolute[half]);
    }
}

PLUMB_AVX2_INLINE __m256 load_narrowed(const double *from)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_load_pd(from + 4)),
                           _mm256_cvtpd_ps(_mm256_load_pd(from)));
}

PLUMB_AVX2_INLINE void store_widened(__m256 x, double *to)
{
    const struct eight wide = widen_floats(x);
    _mm256_store_pd(to, wide.low);
    _mm256_store_pd(to + 4, wide.high);
}

PLUMB_AVX2_INLINE struct extreme_registers load_extremes(const struct plumb_sum_lanes *lanes)
{
    const __m256i least = _mm256_castps_si256(load_narrowed(lanes->min_absolute));
    return (struct extreme_registers){load_narrowed(lanes->min), load_narrowed(lanes->max),
                                      _mm256_add_epi32(least, least)};
}

PLUMB_AVX2_INLINE void store_extremes(struct extreme_registers e, struct plumb_sum_lanes *lanes)
{
    store_widened(e.min, lanes->min);
    store_widened(e.max, lanes->max);
    store_widened(_mm256_castsi256_ps(_mm256_srli_epi32(e.least, 1)), lanes->min_absolute);
}

PLUMB_AVX2_INLINE __m256i smaller_magnitude(__m256i least, __m256 v)
{
    const __m256i bits = _mm256_castps_si256(v);
    return _mm256_min_epu32(_mm256_add_epi32(bits, bits), least);
}

/* All but the smallest magnitude. Without a pivot, which is the usual case, there is nothing to subtract. */
PLUMB_AVX2_INLINE void add_eight(struct sum_registers *r, struct extreme_registers *e,
                                 enum plumb_dtype direct, const unsigned char *x, bool pivots,
                                 __m256d pivot)
{
    const __m256 v = load_floats(direct, x);
    const struct eight wide = load_eight(direct, x);
    add_half(r, 0, wide.low, pivots ? _mm256_sub_pd(wide.low, pivot) : wide.low);
    add_half(r, 1, wide.high, pivots ? _mm256_sub_pd(wide.high, pivot) : wide.high);
    e->min = _mm256_min_ps(v, e->min);
    e->max = _mm256_max_ps(v, e->max);
}

PLUMB_AVX2_INLINE size_t sum_floats(enum plumb_dtype direct, const unsigned char *x, size_t n,
                                    bool pivots, double pivot_value,
                                    struct plumb_sum_lanes *lanes)
{
    const __m256d pivot = _mm256_set1_pd(pivot_value);
    struct sum_registers r;
    struct extreme_registers e = load_extremes(lanes);
    size_t i = 0;
    load_sums(&r, lanes);
    for (; i + 8 <= n; i += 8) {
        const unsigned char *at = x + i * direct_size(direct);
        add_eight(&r, &e, direct, at, pivots, pivot);
        e.least = smaller_magnitude(e.least, load_floats(direct, at));
    }
    store_sums(&r, lanes);
    store_extremes(e, lanes);
    return i;
}

PLUMB_AVX2_INLINE size_t sum_doubles(const unsigned char *x, size_t n, double pivot_value,
                                     struct plumb_sum_lanes *lanes)
{
    const __m256d pivot = _mm256_set1_pd(pivot_value);
    struct sum_registers r;
    __m256d min[2], max[2], least[2];
    size_t i = 0;
    load_sums(&r, lanes);
    for (size_t half = 0; half < 2; half++) {
        min[half] = _mm256_load_pd(lanes->min + 4 * half);
        max[half] = _mm256_load_pd(lanes->max + 4 * half);
        least[half] = _mm256_load_pd(lanes->min_absolute + 4 * half);
    }
    for (; i + 8 <= n; i += 8) {
        const struct eight v = load_eight(PLUMB_F64, x + 8 * i);
        add_half(&r, 0, v.low, _mm256_sub_pd(v.low, pivot));
        add_half(&r, 1, v.high, _mm256_sub_pd(v.high, pivot));
        min[0] = _mm256_min_pd(v.low, min[0]);
        min[1] = _mm256_min_pd(v.high, min[1]);
        max[0] = _mm256_max_pd(v.low, max[0]);
        max[1] = _mm256_max_pd(v.high, max[1]);
        least[0] = _mm256_min_pd(magnitude(v.low), least[0]);
        least[1] = _mm256_min_pd(magnitude(v.high), least[1]);
    }
    store_sums(&r, lanes);
    for (size_t half = 0; half < 2; half++) {
        _mm256_store_pd(lanes->min + 4 * half, min[half]);
        _mm256_store_pd(lanes->max + 4 * half, max[half]);
        _mm256_store_pd(lanes->min_absolute + 4 * half, least[half]);
    }
    return i;
}

PLUMB_AVX2_INLINE size_t sum_typed(enum plumb_dtype direct, const unsigned char *x, size_t n,
                                   double pivot, struct plumb_sum_lanes *lanes)
{
    return pivot == 0 ? sum_floats(direct, x, n, false, 0, lanes)
                      : sum_floats(direct, x, n, true, pivot, lanes);
}

PLUMB_AVX2 void plumb_avx2_add_sums(enum plumb_dtype direct, const void *x, size_t n,
                                    double pivot, struct plumb_sum_lanes *lanes)
{
    size_t done;
    if (direct == PLUMB_F64)
        done = sum_doubles(x, n, pivot, lanes);
    else if (direct == PLUMB_F32)
        done = sum_typed(PLUMB_F32, x, n, pivot, lanes);
    else if (direct == PLUMB_F16)
        done = sum_typed(PLUMB_F16, x, n, pivot, lanes);
    else
        done = sum_typed(PLUMB_BF16, x, n, pivot, lanes);
    double rest[8];
    const unsigned char *from = x;
    plumb_widen(direct, from + done * direct_size(direct), n - done, rest);
    for (size_t i = done; i < n; i++)
        sum_lane_add(lanes, i % SUM_LANES, rest[i - done], pivot);
}

PLUMB_AVX2 void plumb_avx2_sums(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                                struct plumb_block_sums *result)
{
    struct plumb_sum_lanes lanes;
    sum_lanes_clear(&lanes);
    plumb_avx2_add_sums(direct, x, n, pivot, &lanes);
    sum_lanes_fold(&lanes, result);
}

/* What a block is summed with, between lanes and lanes. */
struct block_registers {
    struct sum_registers sums;
    struct extreme_registers extremes;
    __m256i zeros; /* eight counts */
};

/* One less than the bits of a magnitude makes a zero the largest of all: where zeros are counted, they are not
 * the smallest then, and easy to tell. */
PLUMB_AVX2_INLINE __m256i one_less(void)
{
    return _mm256_set1_epi32(-1);
}

PLUMB_AVX2_INLINE struct block_registers load_block(const struct plumb_sum_lanes *lanes,
                                                    bool zeros)
{
    struct block_registers block = {.extremes = load_extremes(lanes),
                                    .zeros = _mm256_setzero_si256()};
    load_sums(&block.sums, lanes);
    if (zeros)
        block.extremes.least = _mm256_add_epi32(block.extremes.least, one_less());
    return block;
}

PLUMB_AVX2_INLINE void store_block(struct block_registers *block, bool zeros,
                                   struct plumb_sum_lanes *lanes)
{
    if (zeros)
        block->extremes.least = _mm256_sub_epi32(block->extremes.least, one_less());
    store_sums(&block->sums, lanes);
    store_extremes(block->extremes, lanes);
}

/* Each element is loaded once for both: half again as fast as one after the other where the values do not
 * lie in the cache. While these are at hand, those a block further are on their way. */
PLUMB_AVX2_INLINE uint64_t print_floats(const unsigned char *from, size_t n,
                                        const struct plumb_print_keys *keys, bool pivots,
                                        bool zeros, __m256d pivot, struct block_registers *b)
{
    struct extreme_registers *e = &b->extremes;
    __m256i print = _mm256_setzero_si256();
    for (size_t i = 0; i < n; i += 8) {
        _mm_prefetch((const char *)from + 4 * i + 4 * PLUMB_FINGERPRINT_WORDS, _MM_HINT_T0);
        const __m256i bits = load_bits(from + 4 * i);
        add_eight(&b->sums, e, PLUMB_F32, from + 4 * i, pivots, pivot);
        if (zeros) {
            const __m256i code = _mm256_add_epi32(_mm256_add_epi32(bits, bits), one_less());
            e->least = _mm256_min_epu32(code, e->least);
            b->zeros = _mm256_sub_epi32(b->zeros, _mm256_cmpeq_epi32(code, one_less()));
        } else {
            e->least = smaller_magnitude(e->least, _mm256_castsi256_ps(bits));
        }
        print = print_eight(print, bits, keys->word + i);
    }
    return fold_counts(print);
}

/* The elements that fill no register; `at` of `n` are done. */
static void add_rest(const unsigned char *from, size_t at, size_t n, double pivot,
                     struct plumb_sum_lanes *lanes, uint64_t *zero)
{
    double rest[8];
    plumb_widen(PLUMB_F32, from + 4 * at, n - at, rest);
    for (size_t i = at; i < n; i++) {
        const size_t lane = i % SUM_LANES;
        const double least = lanes->min_absolute[lane];
        sum_lane_add(lanes, lane, rest[i - at], pivot);
        if (zero && rest[i - at] == 0) {
            lanes->min_absolute[lane] = least;
            ++*zero;
        }
    }
}

PLUMB_AVX2 void plumb_avx2_sums_printed(const void *x, size_t n, double pivot,
                                        const struct plumb_print_keys *keys,
                                        struct plumb_block_sums *result, uint64_t *prints,
                                        uint64_t *zero)
{
    const unsigned char *from = x;
    const __m256d distance = _mm256_set1_pd(pivot);
    struct plumb_sum_lanes lanes;
    sum_lanes_clear(&lanes);
    struct block_registers b = load_block(&lanes, zero);
    size_t at = 0;
    for (size_t words; at + 8 <= n; at += words) {
        words = n - at < PLUMB_FINGERPRINT_WORDS ? (n - at) / 8 * 8 : PLUMB_FINGERPRINT_WORDS;
        const unsigned char *piece = from + 4 * at;
        uint64_t *print = &prints[at / PLUMB_FINGERPRINT_WORDS];
        if (zero)
            *print = print_floats(piece, words, keys, true, true, distance, &b);
        else if (pivot != 0)
            *print = print_floats(piece, words, keys, true, false, distance, &b);
        else
            *print = print_floats(piece, words, keys, false, false, distance, &b);
    }
    store_block(&b, zero, &lanes);
    const size_t first = at % PLUMB_FINGERPRINT_WORDS;
    if (at < n) {
        uint64_t *last = &prints[at / PLUMB_FINGERPRINT_WORDS];
        *last = (first ? *last : 0) +
                plumb_kernel_scalar()->fingerprint(from + 4 * at, n - at, keys, first);
    }
    if (zero)
        *zero = fold_counts(widen_counts(b.zeros));
    add_rest(from, at, n, pivot, &lanes, zero);
    sum_lanes_fold(&lanes, result);
}

/* ---- where not all is finite ------------------------------------------------------------ */

struct special_registers {
    __m256i nan, pos_inf, neg_inf; /* eight counts each */
};

PLUMB_AVX2_INLINE __m256i count_lanes(__m256i counts, __m256 held)
{
    return _mm256_sub_epi32(counts, _mm256_castps_si256(held));
}

/* The distances of four elements from the pivot, 0 where they are taken out. */
PLUMB_AVX2_INLINE __m256d masked_distance(__m256d x, __m256d pivot, __m128 kept)
{
    const __m256i wide = _mm256_cvtepi32_epi64(_mm_castps_si128(kept));
    return _mm256_and_pd(_mm256_sub_pd(x, pivot), _mm256_castsi256_pd(wide));
}

PLUMB_AVX2_INLINE void add_finite_eight(struct sum_registers *r, struct extreme_registers *e,
                                        struct special_registers *s, __m256 v, __m256d pivot)
{
    const __m256 top = _mm256_set1_ps((float)INFINITY), sign = _mm256_set1_ps(-0.0F);
    const __m256 bottom = _mm256_or_ps(top, sign);
    const __m256 kept = _mm256_cmp_ps(_mm256_andnot_ps(sign, v), top, _CMP_LT_OQ);
    const struct eight wide = widen_floats(_mm256_and_ps(v, kept));
    add_half(r, 0, wide.low, masked_distance(wide.low, pivot, _mm256_castps256_ps128(kept)));
    add_half(r, 1, wide.high,
             masked_distance(wide.high, pivot, _mm256_extractf128_ps(kept, 1)));
    const __m256 high = _mm256_blendv_ps(top, v, kept);
    e->min = _mm256_min_ps(high, e->min);
    e->max = _mm256_max_ps(_mm256_blendv_ps(bottom, v, kept), e->max);
    e->least = smaller_magnitude(e->least, high);
    s->nan = count_lanes(s->nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    s->pos_inf = count_lanes(s->pos_inf, _mm256_cmp_ps(v, top, _CMP_EQ_OQ));
    s->neg_inf = count_lanes(s->neg_inf, _mm256_cmp_ps(v, bottom, _CMP_EQ_OQ));
}

PLUMB_AVX2_INLINE size_t sum_finite(enum plumb_dtype direct, const unsigned char *x, size_t n,
                                    double pivot_value, struct plumb_sum_lanes *lanes,
                                    struct plumb_block_special *special)
{
    const __m256d pivot = _mm256_set1_pd(pivot_value);
    const __m256i nothing = _mm256_setzero_si256();
    struct sum_registers r;
    struct extreme_registers e = load_extremes(lanes);
    struct special_registers s = {nothing, nothing, nothing};
    size_t i = 0;
    load_sums(&r, lanes);
    for (; i + 8 <= n; i += 8)
        add_finite_eight(&r, &e, &s, load_floats(direct, x + i * direct_size(direct)), pivot);
    store_sums(&r, lanes);
    store_extremes(e, lanes);
    special->nan = fold_counts(widen_counts(s.nan));
    special->pos_inf = fold_counts(widen_counts(s.pos_inf));
    special->neg_inf = fold_counts(widen_counts(s.neg_inf));
    return i;
}

PLUMB_AVX2 void plumb_avx2_finite_sums(enum plumb_dtype direct, const void *x, size_t n,
                                       double pivot, struct plumb_block_sums *result,
                                       struct plumb_block_special *special)
{
    struct plumb_sum_lanes lanes;
    double rest[8];
    const unsigned char *from = x;
    size_t done;
    sum_lanes_clear(&lanes);
    if (direct == PLUMB_F32)
        done = sum_finite(PLUMB_F32, from, n, pivot, &lanes, special);
    else if (direct == PLUMB_F16)
        done = sum_finite(PLUMB_F16, from, n, pivot, &lanes, special);
    else
        done = sum_finite(PLUMB_BF16, from, n, pivot, &lanes, special);
    plumb_widen(direct, from + done * direct_size(direct), n - done, rest);
    for (size_t i = done; i < n; i++)
        finite_lane_add(&lanes, i % SUM_LANES, rest[i - done], pivot, special);
    sum_lanes_fold(&lanes, result);
}

#endif
