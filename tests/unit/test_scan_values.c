/* test_scan_values.c - statistics and metrics against a plain reference in quadruple
 * precision, on ordinary, tiny, huge and non-finite values of every type. */
#include "model/dtype.h"
#include "model/scan_compare.h"
#include "kernel/widen.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

__extension__ typedef __float128 quad;

static uint64_t state = 88172645463325252ULL;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double uniform(void)
{
    return (double)(next_random() >> 11) * 0x1p-53;
}

static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform();
    return sum;
}

static quad quad_root(quad x)
{
    if (x <= 0)
        return 0;
    int exponent;
    quad scaled = x;
    (void)frexpl((long double)x, &exponent);
    exponent /= 2;
    for (int i = 0; i < (exponent > 0 ? exponent : -exponent); i++)
        scaled *= exponent > 0 ? 0.25 : 4;
    quad root = (quad)sqrtl((long double)scaled);
    for (int i = 0; i < 3; i++)
        root = (root + scaled / root) / 2;
    for (int i = 0; i < (exponent > 0 ? exponent : -exponent); i++)
        root *= exponent > 0 ? 2 : 0.5;
    return root;
}

static quad magnitude_of(quad x)
{
    return x < 0 ? -x : x;
}

enum sort { ORDINARY, OFFSET, TINY, HUGE_ONES, MIXED, SPRINKLED, SPARSE, SORTS };

/* A value of the given sort that the type can hold. */
static double draw(enum plumb_dtype part, enum sort sort)
{
    /* Larger integers are not doubles, so the reference could not follow. */
    const double top = plumb_dtype_max(part) == 0x1p63 || plumb_dtype_max(part) == 0x1p64
                           ? 0x1p50
                           : plumb_dtype_max(part);
    const double low = plumb_dtype_is_float(part) ? plumb_dtype_min_normal(part) : 1;
    switch (sort) {
    case OFFSET:
        return 1000 + normal() * 0.01;
    case TINY:
        return normal() * low * 4;
    case HUGE_ONES:
        return (uniform() - 0.5) * top * 1.9;
    case MIXED:
        return normal() * pow(top, 2 * uniform() - 1);
    case SPRINKLED:
        if (next_random() % 50 == 0 && plumb_dtype_is_float(part))
            return next_random() % 3 == 0 ? (double)NAN
                                          : copysign((double)INFINITY, uniform() - 0.5);
        return normal() * 3;
    case SPARSE:
        return next_random() % 4 ? (next_random() % 2 ? 0.0 : -0.0) : normal();
    case ORDINARY:
    case SORTS:
        break;
    }
    return normal() * (plumb_dtype_is_float(part) ? 1 : 40);
}

static void fill(enum plumb_dtype dtype, void *to, size_t count, enum sort sort)
{
    const enum plumb_dtype part = plumb_dtype_part(dtype);
    const size_t parts = count * (size_t)plumb_dtype_parts(dtype);
    for (size_t i = 0; i < parts; i++) {
        const double value = draw(part, sort);
        (void)plumb_convert_values(PLUMB_F64, &value, part,
                                   (unsigned char *)to + i * plumb_dtype_size(part), 1,
                                   PLUMB_ROUND_NEAREST_EVEN, NULL);
    }
}

/* B is A with noise in some elements, of many sizes. */
static void disturb(enum plumb_dtype dtype, const void *from, void *to, size_t count,
                    unsigned one_in)
{
    const enum plumb_dtype part = plumb_dtype_part(dtype);
    const size_t size = plumb_dtype_size(part);
    const double amount = pow(10, -9 * uniform());
    for (size_t i = 0; i < count * (size_t)plumb_dtype_parts(dtype); i++) {
        double value;
        plumb_widen(part, (const unsigned char *)from + i * size, 1, &value);
        const bool changes = next_random() % one_in == 0;
        if (changes && next_random() % 3)
            value *= 1 + normal() * amount;
        if (changes && next_random() % 200 == 0)
            value = -value;
        if (changes && !plumb_dtype_is_float(part) && next_random() % 3 == 0)
            value += 1;
        (void)plumb_convert_values(PLUMB_F64, &value, part, (unsigned char *)to + i * size, 1,
                                   PLUMB_ROUND_NEAREST_EVEN, NULL);
    }
}

static void near_to(const char *what, double got, quad wanted, quad scale)
{
    const double limit = (double)(scale * (quad)1e-12);
    const double error = (double)magnitude_of((quad)got - wanted);
    if (got == (double)wanted || (isinf(got) && wanted > (quad)1.7976931348623157e308))
        return;
    if (!(error <= limit) && !(error <= 0x1p-1070)) {
        print_error("%s: got %.17g, wanted %.17g\n", what, got, (double)wanted);
        fail();
    }
}

static void check_stats(enum plumb_dtype dtype, const void *values, size_t count)
{
    struct plumb_stats stats;
    plumb_values_stats(dtype, values, count, &stats);
    const enum plumb_dtype part = plumb_dtype_part(dtype);
    const size_t parts = count * (size_t)plumb_dtype_parts(dtype);
    struct plumb_stats want = {
        .count = parts, .min = (double)INFINITY, .max = -(double)INFINITY};
    quad sum = 0, absolute = 0, square = 0, spread = 0;
    uint64_t finite = 0;
    double *wide = malloc((parts + 1) * sizeof *wide);
    plumb_widen(part, values, parts, wide);
    for (size_t i = 0; i < parts; i++) {
        const double x = wide[i];
        want.nan += isnan(x) != 0;
        want.pos_inf += isinf(x) && x > 0;
        want.neg_inf += isinf(x) && x < 0;
        if (!isfinite(x))
            continue;
        finite++;
        want.zero += x == 0;
        want.subnormal += x != 0 && fabs(x) < plumb_dtype_min_normal(part);
        want.at_max += part != PLUMB_BOOL && fabs(x) >= plumb_dtype_max(part);
        want.min = x < want.min ? x : want.min;
        want.max = x > want.max ? x : want.max;
        sum += (quad)x;
        absolute += magnitude_of((quad)x);
        square += (quad)x * (quad)x;
    }
    for (size_t i = 0; i < parts; i++)
        if (isfinite(wide[i]))
            spread += ((quad)wide[i] - sum / finite) * ((quad)wide[i] - sum / finite);
    free(wide);
    assert_int_equal(stats.count, want.count);
    assert_int_equal(stats.nan, want.nan);
    assert_int_equal(stats.pos_inf, want.pos_inf);
    assert_int_equal(stats.neg_inf, want.neg_inf);
    assert_int_equal(stats.zero, want.zero);
    assert_int_equal(stats.subnormal, want.subnormal);
    assert_int_equal(stats.at_max, want.at_max);
    if (finite == 0) {
        assert_true(isnan(stats.min) && isnan(stats.mean) && isnan(stats.l2));
        return;
    }
    assert_true(stats.min == want.min && stats.max == want.max);
    near_to("mean", stats.mean, sum / finite, absolute / finite);
    near_to("abs_mean", stats.abs_mean, absolute / finite, absolute / finite);
    near_to("l2", stats.l2, quad_root(square), quad_root(square));
    near_to("std", stats.std, quad_root(spread / finite), quad_root(spread / finite));
}

struct quad_sums {
    quad a2, b2, d2, dot, d_abs, d_sum, outward, a_abs, rel, out_abs;
    double max_abs, max_rel;
    uint64_t finite, nonzero, equal, close, within_1e3, within_5e3, zero_reference;
    uint64_t nan_mismatch, inf_mismatch;
    int64_t first, worst;
};

static void add_pair(struct quad_sums *sums, double a, double b, int64_t i)
{
    const bool equal = a == b || (isnan(a) && isnan(b));
    const double d = b - a;
    sums->equal += equal;
    if (!equal && sums->first < 0)
        sums->first = i;
    sums->nan_mismatch += (isnan(a) != 0) != (isnan(b) != 0);
    sums->inf_mismatch += !isnan(a) && !isnan(b) && (isinf(a) || isinf(b)) && a != b;
    const bool finite = isfinite(a) && isfinite(b);
    sums->close += equal || (finite && fabs(d) <= 1e-8 + 1e-5 * fabs(a));
    sums->within_1e3 += equal || (finite && a != 0 && fabs(d) < 1e-3 * fabs(a));
    sums->within_5e3 += equal || (finite && a != 0 && fabs(d) < 5e-3 * fabs(a));
    if (!finite)
        return;
    const quad qa = (quad)a, qb = (quad)b, qd = qb - qa;
    sums->finite++;
    sums->zero_reference += a == 0 && b != 0;
    sums->a2 += qa * qa;
    sums->b2 += qb * qb;
    sums->d2 += qd * qd;
    sums->dot += qa * qb;
    sums->d_abs += magnitude_of(qd);
    sums->d_sum += qd;
    sums->outward += a > 0 ? qd : a < 0 ? -qd : 0;
    sums->a_abs += magnitude_of(qa);
    if (a != 0) {
        sums->nonzero++;
        sums->rel += magnitude_of(qd) / magnitude_of(qa);
        if (fabs(d) / fabs(a) > sums->max_rel)
            sums->max_rel = fabs(d) / fabs(a);
    }
    if (fabs(d) > sums->max_abs) {
        sums->max_abs = fabs(d);
        sums->worst = i;
    }
}

static void check_means(const struct plumb_comparison *got, const struct quad_sums *sums)
{
    const uint64_t n = sums->finite;
    if (n == 0)
        return;
    near_to("mean_abs", got->mean_abs, sums->d_abs / n, sums->d_abs / n);
    near_to("rmse", got->rmse, quad_root(sums->d2 / n), quad_root(sums->d2 / n));
    near_to("bias", got->bias, sums->d_sum / n, sums->d_abs / n);
    near_to("bias_outward", got->bias_outward, sums->outward / n, sums->d_abs / n);
    near_to("mean_abs_a", got->mean_abs_a, sums->a_abs / n, sums->a_abs / n);
    near_to("norm_a", got->norm_a, quad_root(sums->a2), quad_root(sums->a2));
    near_to("norm_b", got->norm_b, quad_root(sums->b2), quad_root(sums->b2));
    if (sums->nonzero && isfinite(got->max_rel))
        near_to("mean_rel", got->mean_rel, sums->rel / sums->nonzero,
                sums->rel / sums->nonzero);
    if (sums->a2 > 0 && sums->b2 > 0) {
        const quad norms = quad_root(sums->a2) * quad_root(sums->b2);
        const quad cosine = sums->dot / norms;
        near_to("cosine", got->cosine, cosine, 1);
        /* What is parallel to a cancels: allowed is 1e-15 of |d|^2 / |a|^2. */
        near_to("1-cosine", got->one_minus_cosine, 1 - cosine,
                sums->d2 <= sums->a2 / 4
                    ? magnitude_of(1 - cosine) + sums->d2 / sums->a2 / 1000 + (quad)1e-18
                    : 1);
        near_to("relative_l2", got->relative_l2, quad_root(sums->d2 / sums->a2),
                quad_root(sums->d2 / sums->a2));
    }
}

static void check_comparison(enum plumb_dtype dtype_a, const void *a, enum plumb_dtype dtype_b,
                             const void *b, size_t count)
{
    struct plumb_comparison got;
    struct quad_sums sums = {.first = -1, .worst = -1};
    const int parts = plumb_dtype_parts(dtype_a);
    const enum plumb_dtype part_a = plumb_dtype_part(dtype_a),
                           part_b = plumb_dtype_part(dtype_b);
    plumb_values_compare(dtype_a, a, dtype_b, b, count, 0, 0, &got);
    for (size_t i = 0; i < count * (size_t)parts; i++) {
        double x, y;
        plumb_widen(part_a, (const unsigned char *)a + i * plumb_dtype_size(part_a), 1, &x);
        plumb_widen(part_b, (const unsigned char *)b + i * plumb_dtype_size(part_b), 1, &y);
        add_pair(&sums, x, y, (int64_t)i / parts);
    }
    assert_int_equal(got.count, count * (size_t)parts);
    assert_int_equal(got.finite, sums.finite);
    assert_int_equal(got.equal, sums.equal);
    assert_int_equal(got.close, sums.close);
    assert_int_equal(got.within_1e3, sums.within_1e3);
    assert_int_equal(got.within_5e3, sums.within_5e3);
    assert_int_equal(got.zero_reference, sums.zero_reference);
    assert_int_equal(got.nan_mismatch, sums.nan_mismatch);
    assert_int_equal(got.inf_mismatch, sums.inf_mismatch);
    assert_int_equal(got.first_index, sums.first);
    assert_int_equal(got.worst_index, sums.worst);
    assert_true(got.max_abs == sums.max_abs);
    near_to("max_rel", got.max_rel, (quad)sums.max_rel, (quad)sums.max_rel);
    check_means(&got, &sums);
    uint64_t in_buckets = 0;
    for (int i = 0; i < PLUMB_ULP_BUCKETS; i++)
        in_buckets += got.ulp[i];
    assert_int_equal(in_buckets, plumb_dtype_is_float(part_a) || plumb_dtype_is_float(part_b)
                                     ? sums.finite
                                     : 0);
}

static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 100, 1023, 1024, 1025, 5000};

static void test_against_reference(void **unused)
{
    (void)unused;
    for (unsigned d = 0; d < PLUMB_DTYPE_COUNT; d++) {
        for (unsigned s = 0; s < SORTS; s++) {
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                const enum plumb_dtype dtype = (enum plumb_dtype)d;
                const size_t bytes = lengths[l] * plumb_dtype_size(dtype);
                void *a = malloc(bytes + 1), *b = malloc(bytes + 1);
                fill(dtype, a, lengths[l], (enum sort)s);
                check_stats(dtype, a, lengths[l]);
                for (unsigned one_in = 1; one_in <= 100; one_in *= 10) {
                    disturb(dtype, a, b, lengths[l], one_in);
                    check_comparison(dtype, a, dtype, b, lengths[l]);
                }
                check_comparison(dtype, a, dtype, a, lengths[l]);
                fill(dtype, b, lengths[l], (enum sort)s);
                check_comparison(dtype, a, dtype, b, lengths[l]);
                free(a);
                free(b);
            }
        }
    }
}

static void test_mixed_types(void **unused)
{
    (void)unused;
    enum { N = 1500 };
    static const enum plumb_dtype pairs[][2] = {
        {PLUMB_F32, PLUMB_BF16},      {PLUMB_F32, PLUMB_F16},  {PLUMB_F64, PLUMB_F32},
        {PLUMB_BF16, PLUMB_F16},      {PLUMB_F32, PLUMB_HIF8}, {PLUMB_I32, PLUMB_F32},
        {PLUMB_I8, PLUMB_I64},        {PLUMB_C64, PLUMB_C128}, {PLUMB_BOOL, PLUMB_U8},
        {PLUMB_F8E4M3, PLUMB_F8E5M2},
    };
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        const enum plumb_dtype from = pairs[p][0], to = pairs[p][1];
        double a[2 * N], b[2 * N];
        fill(from, a, N, ORDINARY);
        assert_int_equal(
            plumb_convert_values(from, a, to, b, N, PLUMB_ROUND_NEAREST_EVEN, NULL), PLUMB_OK);
        check_comparison(from, a, to, b, N);
        check_comparison(to, b, from, a, N);
        struct plumb_comparison got;
        plumb_values_compare(from, a, to, b, N, 0, 0, &got);
        assert_int_equal(got.max_ulp, 0); /* a cast is no distance in the narrower type */
        assert_int_equal(got.bit_equal, 0);
    }
}

static void test_special_pairs(void **unused)
{
    (void)unused;
    const float inf = (float)INFINITY, nan = (float)NAN;
    const float a[] = {inf, inf, nan, nan, 1, 0.0F, 0.0F, inf, nan, 5};
    const float b[] = {inf, -inf, nan, 1, nan, -0.0F, 2, 3, inf, 5};
    struct plumb_comparison got;
    plumb_values_compare(PLUMB_F32, a, PLUMB_F32, b, 10, 0, 0, &got);
    assert_int_equal(got.count, 10);
    assert_int_equal(got.finite, 3);
    assert_int_equal(got.equal, 4); /* inf inf, nan nan, 0 -0, 5 5 */
    assert_int_equal(got.bit_equal, 3);
    assert_int_equal(got.nan_a, 3);
    assert_int_equal(got.nan_b, 2);
    assert_int_equal(got.inf_a, 3);
    assert_int_equal(got.inf_b, 3);
    assert_int_equal(got.nan_mismatch, 3);
    assert_int_equal(got.inf_mismatch, 2);
    assert_int_equal(got.zero_reference, 1);
    assert_int_equal(got.first_index, 1);
    assert_int_equal(got.worst_index, 6);
    assert_int_equal(got.ulp[0], 2);
}

static void test_large_integers(void **unused)
{
    (void)unused;
    const int64_t a[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1, 0};
    const int64_t b[] = {INT64_MAX - 1, INT64_MAX, INT64_MAX - 1, 0};
    struct plumb_comparison got;
    plumb_values_compare(PLUMB_I64, a, PLUMB_I64, b, 4, 0, 0, &got);
    assert_int_equal(got.equal, 2);
    assert_int_equal(got.first_index, 0);
    assert_int_equal(got.worst_index, 1);
    assert_true(got.max_abs == 0x1p64);
    const uint64_t c[] = {UINT64_MAX, 1, (uint64_t)INT64_MAX - 1, 0};
    plumb_values_compare(PLUMB_I64, a, PLUMB_U64, c, 4, 0, 0, &got);
    assert_int_equal(got.equal, 2);
    plumb_values_compare(PLUMB_I64, a, PLUMB_I64, b, 1, 0, 0, &got);
    assert_true(got.max_abs == 1);
}

static void test_ulp_buckets(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t a, b;
        int bucket;
    } cases[] = {
        {0x3f800000, 0x3f800000, 0}, {0x00000000, 0x80000000, 0}, {0x3f800000, 0x3f800001, 1},
        {0x00000001, 0x80000001, 2}, {0x3f800000, 0x3f7ffffe, 2}, {0x3f800000, 0x3f800003, 3},
        {0x3f800000, 0x3f800004, 3}, {0x3f800000, 0x3f800005, 4}, {0x3f800000, 0x3f800010, 4},
        {0x3f800000, 0x3f800011, 5}, {0x3f800000, 0x3f800100, 5}, {0x3f800000, 0x3f800101, 6},
        {0x3f800000, 0x3f810000, 6}, {0x3f800000, 0x3f810001, 7}, {0x7f7fffff, 0xff7fffff, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_comparison got;
        uint32_t a[9], b[9]; /* nine: in the vector part and in the tail */
        for (int k = 0; k < 9; k++) {
            a[k] = cases[i].a;
            b[k] = cases[i].b;
        }
        plumb_values_compare(PLUMB_F32, a, PLUMB_F32, b, 9, 0, 0, &got);
        assert_int_equal(got.ulp[cases[i].bucket], 9);
    }
}

/* Chunks and parts give what the whole gives. */
static void test_fingerprint_parts(void **unused)
{
    (void)unused;
    enum { N = 10000 };
    unsigned char bytes[N];
    for (int i = 0; i < N; i++)
        bytes[i] = (unsigned char)next_random();
    const uint64_t whole = plumb_values_fingerprint(PLUMB_U8, bytes, N);
    bytes[N - 1] ^= 1;
    assert_true(plumb_values_fingerprint(PLUMB_U8, bytes, N) != whole);
    bytes[N - 1] ^= 1;
    assert_true(plumb_values_fingerprint(PLUMB_U8, bytes, N - 1) != whole);
    assert_true(plumb_values_fingerprint(PLUMB_F32, bytes, N / 4) == whole);
    const unsigned char zeros[3] = {0};
    assert_true(plumb_values_fingerprint(PLUMB_U8, zeros, 2) !=
                plumb_values_fingerprint(PLUMB_U8, zeros, 3));
}

/* Backwards, as threads might. */
static void run_backwards(const struct plumb_team *team,
                          void (*task)(void *context, int member), void *context)
{
    for (int member = team->members - 1; member >= 0; member--)
        task(context, member);
}

static void compare_team(const float *values, size_t count, int members)
{
    const struct plumb_team team = {members, run_backwards};
    struct plumb_known alone, shared;
    memset(&alone, 0, sizeof alone);
    memset(&shared, 0, sizeof shared);
    plumb_known_of(PLUMB_F32, values, count, true, &alone);
    plumb_known_by(&team, PLUMB_F32, values, count, true, &shared);
    assert_memory_equal(&alone, &shared, sizeof alone);
    plumb_known_of(PLUMB_C64, values, count / 2, true, &alone);
    plumb_known_by(&team, PLUMB_C64, values, count / 2, true, &shared);
    assert_memory_equal(&alone, &shared, sizeof alone);
}

/* Values far from 0, near it, with gaps, with zeros; in several chunks with a rest. */
static void test_team(void **unused)
{
    const size_t sizes[] = {100, 8 * 4096, 70001, (1 << 18) + 5, (1 << 20) + 4097};
    (void)unused;
    float *values = malloc(sizes[4] * sizeof *values);
    assert_non_null(values);
    for (int kind = 0; kind < 4; kind++) {
        for (size_t i = 0; i < sizes[4]; i++)
            values[i] = (float)(kind == 1 ? 100 + normal() : normal() * (double)(i / 4096 + 1));
        for (size_t i = 40; kind == 2 && i < sizes[4]; i += 1 + i / 3)
            values[i] = i % 2 ? (float)NAN : -(float)INFINITY;
        for (size_t i = 0; kind == 3 && i < sizes[4]; i += 1 + i % 5)
            values[i] = 0;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int members = 1; members < 100; members = members * 3 + 1)
                compare_team(values, sizes[i], members);
    }
    free(values);
}

/* More blocks than a round has: 256 of 16384 values. */
static void test_team_in_rounds(void **unused)
{
    const size_t count = (17 << 18) + 20000;
    (void)unused;
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i % 1000) * (float)(i >> 16) - 3;
    compare_team(values, count, 3);
    free(values);
}

/* Sums in single precision over short groups, added up exactly; of few values all is exact. */
static void test_quick(void **unused)
{
    enum { N = 3 << 18, EXACT = 10000 };
    (void)unused;
    float *values = malloc(N * sizeof *values);
    assert_non_null(values);
    for (int kind = 0; kind < 3; kind++) {
        struct plumb_stats exact;
        struct plumb_summary quick;
        for (size_t i = 0; i < N; i++)
            values[i] = (float)(kind == 2 ? 100 + normal() : normal() * (kind ? 1e-22 : 1));
        plumb_values_stats(PLUMB_F32, values, EXACT, &exact);
        plumb_values_summarize(PLUMB_F32, values, EXACT,
                               PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_QUICK, &quick);
        assert_memory_equal(&quick.stats, &exact, sizeof exact);
        plumb_values_stats(PLUMB_F32, values, N, &exact);
        plumb_values_summarize(PLUMB_F32, values, N, PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_QUICK,
                               &quick);
        assert_true(fabs(quick.stats.mean - exact.mean) <= 2e-8 * exact.abs_mean);
        assert_true(fabs(quick.stats.abs_mean - exact.abs_mean) <= 2e-8 * exact.abs_mean);
        assert_true(fabs(quick.stats.std - exact.std) <= 2e-8 * exact.std);
        assert_true(fabs(quick.stats.l2 - exact.l2) <= 2e-8 * exact.l2);
    }
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_reference),
        cmocka_unit_test(test_mixed_types),
        cmocka_unit_test(test_special_pairs),
        cmocka_unit_test(test_large_integers),
        cmocka_unit_test(test_ulp_buckets),
        cmocka_unit_test(test_fingerprint_parts),
        cmocka_unit_test(test_team),
        cmocka_unit_test(test_team_in_rounds),
        cmocka_unit_test(test_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
