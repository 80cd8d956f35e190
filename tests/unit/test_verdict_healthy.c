/*
 * test_verdict_healthy.c - pairs that are both right: none may be called different.
 *
 * Sums of many kinds of data in two orders, over all sizes, in all float types; casts; and the
 * corners: sparse, constant, cancelled, NaN in the same places, the sign of zero.
 */
#include "unit/verdict_lab.h"

enum { MOST = 4096 };

/* One result summed from `length` terms, forwards and in eight lanes. */
static void sum_twice(const float *terms, int length, double *forwards, double *in_lanes)
{
    float sum = 0, lane[8] = {0};
    for (int k = 0; k < length; k++) {
        sum += terms[k];
        lane[k % 8] += terms[k];
    }
    *forwards = (double)sum;
    *in_lanes = (double)(((lane[0] + lane[1]) + (lane[2] + lane[3])) +
                         ((lane[4] + lane[5]) + (lane[6] + lane[7])));
}

typedef double term_function(struct random_state *r, size_t element, int k);

static double normal_term(struct random_state *r, size_t element, int k)
{
    (void)element;
    (void)k;
    return random_normal(r);
}

static double positive_term(struct random_state *r, size_t element, int k)
{
    (void)element;
    (void)k;
    return random_uniform(r);
}

static double heavy_term(struct random_state *r, size_t element, int k)
{
    (void)element;
    (void)k;
    return random_normal(r) / (random_uniform(r) + 0.01);
}

/* Three of four results are exactly zero, as after ReLU or in sparse gradients. */
static double sparse_term(struct random_state *r, size_t element, int k)
{
    (void)k;
    const double x = random_normal(r);
    return element % 4 == 0 ? x : 0;
}

/* Rows of very different size. */
static double rows_term(struct random_state *r, size_t element, int k)
{
    (void)k;
    return random_normal(r) * exp2((double)(element / 64 % 20));
}

/* Every eighth result cancels: the second half of its terms undoes most of the first. */
static double cancelled_term(struct random_state *r, size_t element, int k)
{
    const double x = random_normal(r);
    return element % 8 == 0 ? (k % 2 ? -1 : 1) + 1e-3 * x : x;
}

static double tiny_term(struct random_state *r, size_t element, int k)
{
    (void)element;
    (void)k;
    return 1e-30 * random_normal(r);
}

static double mean_shifted_term(struct random_state *r, size_t element, int k)
{
    (void)element;
    (void)k;
    return 10 + random_normal(r);
}

struct data_kind {
    const char *what;
    term_function *term;
};

static const struct data_kind kinds[] = {
    {"normal", normal_term}, {"positive", positive_term},
    {"heavy", heavy_term},   {"sparse", sparse_term},
    {"rows", rows_term},     {"cancelled", cancelled_term},
    {"tiny", tiny_term},     {"shifted", mean_shifted_term},
};

static const size_t sizes[] = {1, 2, 3, 5, 8, 13, 24, 40, 64, 100, 300, 1024, MOST};

static void judge_sums(const struct data_kind *kind, size_t count, int length,
                       enum plumb_dtype dtype, uint64_t seed)
{
    static float terms[4096];
    static double a[MOST], b[MOST];
    struct random_state r = {seed};
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < length; k++)
            terms[k] = (float)kind->term(&r, i, k);
        sum_twice(terms, length, &a[i], &b[i]);
    }
    const int64_t shape[] = {(int64_t)count};
    struct lab_tensor x, y;
    lab_store(&x, dtype, PLUMB_ROUND_NEAREST_EVEN, 1, shape, a);
    lab_store(&y, dtype, PLUMB_ROUND_NEAREST_EVEN, 1, shape, b);
    const struct plumb_judgement got = lab_judge(&x, &y);
    if (got.verdict > (count < 4 ? PLUMB_APPROXIMATION : PLUMB_ROUNDING))
        fail_msg("%s, %zu results of %d terms, %s, seed %llu: %s/%s: %s", kind->what, count,
                 length, plumb_dtype_name(dtype), (unsigned long long)seed,
                 plumb_verdict_name(got.verdict), plumb_pattern_name(got.pattern), got.reason);
    lab_free(&x);
    lab_free(&y);
}

/* f16 has no 1e-30, and of one to seven results the cancelled one leaves no scale. */
static bool makes_sense(const struct data_kind *kind, size_t count, enum plumb_dtype dtype)
{
    if (kind->term == tiny_term)
        return dtype != PLUMB_F16;
    return kind->term != cancelled_term || count >= 8;
}

static void test_sums_of_all_kinds(void **state)
{
    (void)state;
    static const enum plumb_dtype dtypes[] = {PLUMB_F32, PLUMB_BF16, PLUMB_F16};
    static const int lengths[] = {3, 64, 700, 4096};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                const size_t work = sizes[s] * (size_t)lengths[l];
                const uint64_t seeds = work < 5000 ? 40 : work < 50000 ? 4 : 1;
                for (size_t d = 0; d < 3 && work < 1500000; d++)
                    for (uint64_t seed = 1; seed <= seeds; seed++)
                        if (makes_sense(&kinds[k], sizes[s], dtypes[d]))
                            judge_sums(&kinds[k], sizes[s], lengths[l], dtypes[d],
                                       seed * 977 + s);
            }
}

/* Sums that are zero but for rounding, as of a bias before a batch norm: of each pair of terms
 * one undoes the other, somewhere else in the sum. */
static void test_sums_of_zero(void **state)
{
    (void)state;
    enum { RESULTS = 64, TERMS = 512 };
    static double a[RESULTS], b[RESULTS];
    static float terms[TERMS];
    const int64_t shape[] = {RESULTS};
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct random_state r = {seed * 41 + 9};
        for (size_t i = 0; i < RESULTS; i++) {
            for (size_t k = 0; k < TERMS / 2; k++) {
                terms[k] = (float)(1e-3 * random_normal(&r));
                terms[(k * 97 + 31) % (TERMS / 2) + TERMS / 2] = -terms[k];
            }
            sum_twice(terms, TERMS, &a[i], &b[i]);
        }
        struct lab_tensor x, y;
        lab_store(&x, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 1, shape, a);
        lab_store(&y, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 1, shape, b);
        const struct plumb_judgement got = lab_judge(&x, &y);
        expect(got, PLUMB_ROUNDING, PLUMB_PATTERN_NONE, "sums of zero", seed);
        assert_non_null(strstr(got.reason, "cancelled"));
        lab_free(&x);
        lab_free(&y);
    }
}

/* ---- casts ---------------------------------------------------------------------------- */

struct cast_case {
    enum plumb_dtype from, through, to;
    enum plumb_round round;
    enum plumb_pattern pattern;
    const char *says;
};

static const struct cast_case casts[] = {
    {PLUMB_F32, PLUMB_BF16, PLUMB_BF16, PLUMB_ROUND_NEAREST_EVEN, PLUMB_PATTERN_NONE,
     "B is A cast to bf16"},
    {PLUMB_F32, PLUMB_F16, PLUMB_F16, PLUMB_ROUND_NEAREST_EVEN, PLUMB_PATTERN_NONE,
     "B is A cast to f16"},
    {PLUMB_F32, PLUMB_BF16, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, PLUMB_PATTERN_NONE,
     "B is A cast to bf16"},
    {PLUMB_F32, PLUMB_F16, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, PLUMB_PATTERN_NONE,
     "B is A cast to f16"},
    {PLUMB_F64, PLUMB_F32, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, PLUMB_PATTERN_NONE,
     "B is A cast to f32"},
    {PLUMB_F16, PLUMB_F8E4M3, PLUMB_F8E4M3, PLUMB_ROUND_NEAREST_EVEN, PLUMB_PATTERN_NONE,
     "B is A cast to f8e4m3"},
    {PLUMB_F32, PLUMB_F8E5M2, PLUMB_F8E5M2, PLUMB_ROUND_NEAREST_EVEN, PLUMB_PATTERN_NONE,
     "B is A cast to f8e5m2"},
    {PLUMB_F32, PLUMB_HIF8, PLUMB_HIF8, PLUMB_ROUND_NEAREST_AWAY, PLUMB_PATTERN_NONE,
     "B is A cast to hif8"},
    {PLUMB_F32, PLUMB_BF16, PLUMB_BF16, PLUMB_ROUND_TO_ZERO, PLUMB_PATTERN_ROUNDING_MODE,
     "truncated"},
    {PLUMB_F32, PLUMB_F16, PLUMB_F32, PLUMB_ROUND_TO_ODD, PLUMB_PATTERN_ROUNDING_MODE,
     "to odd"},
    {PLUMB_F32, PLUMB_BF16, PLUMB_BF16, PLUMB_ROUND_UP, PLUMB_PATTERN_ROUNDING_MODE, "up"},
    {PLUMB_F32, PLUMB_BF16, PLUMB_BF16, PLUMB_ROUND_DOWN, PLUMB_PATTERN_ROUNDING_MODE, "down"},
};

static void judge_cast(const struct cast_case *c, size_t count, bool other_way, uint64_t seed)
{
    static double a[MOST], b[MOST];
    struct random_state r = {seed};
    const int64_t shape[] = {(int64_t)count};
    for (size_t i = 0; i < count; i++) {
        a[i] = round_value(random_normal(&r), c->from, PLUMB_ROUND_NEAREST_EVEN);
        b[i] = round_value(a[i], c->through, c->round);
    }
    struct lab_tensor x, y;
    lab_store(&x, c->from, PLUMB_ROUND_NEAREST_EVEN, 1, shape, a);
    lab_store(&y, c->to, PLUMB_ROUND_NEAREST_EVEN, 1, shape, b);
    const struct plumb_judgement got = other_way ? lab_judge(&y, &x) : lab_judge(&x, &y);
    expect(got, PLUMB_ROUNDING, c->pattern, c->says, seed);
    if (!other_way && !strstr(got.reason, c->says))
        fail_msg("no \"%s\" in: %s", c->says, got.reason);
    lab_free(&x);
    lab_free(&y);
}

static void test_casts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
        for (uint64_t seed = 0; seed < 100; seed++)
            judge_cast(&casts[i], seed % 2 ? 300 : MOST, seed % 3 == 0, seed);
}

/* A few values cast: too few to name a mode, but never different. */
static void test_casts_of_few_values(void **state)
{
    (void)state;
    static double a[64];
    for (size_t count = 1; count <= 64; count++)
        for (uint64_t seed = 0; seed < 40; seed++) {
            struct random_state r = {seed * 31 + count};
            const int64_t shape[] = {(int64_t)count};
            for (size_t i = 0; i < count; i++)
                a[i] = random_normal(&r);
            const enum plumb_dtype to = seed % 2 ? PLUMB_BF16 : PLUMB_F16;
            struct lab_tensor x, y;
            lab_store(&x, seed % 4 < 2 ? PLUMB_F32 : to, PLUMB_ROUND_NEAREST_EVEN, 1, shape, a);
            lab_store(&y, to, (enum plumb_round)(seed % PLUMB_ROUND_COUNT), 1, shape, a);
            const struct plumb_judgement got = lab_judge(&x, &y);
            if (got.verdict > PLUMB_ROUNDING)
                fail_msg("%zu values, seed %d: %s: %s", count, (int)seed,
                         plumb_verdict_name(got.verdict), got.reason);
            lab_free(&x);
            lab_free(&y);
        }
}

/* ---- corners -------------------------------------------------------------------------- */

static void test_identical_corners(void **state)
{
    (void)state;
    double a[100], b[100];
    const int64_t shape[] = {10, 10};
    for (size_t i = 0; i < 100; i++)
        a[i] = b[i] = i % 7 ? (double)i : i % 2 ? 0.0 : (double)NAN;
    a[13] = 0.0;
    b[13] = -0.0;
    a[15] = b[15] = (double)INFINITY;
    for (int dtype = 0; dtype < PLUMB_C64; dtype++) {
        struct lab_tensor x, y;
        lab_store(&x, (enum plumb_dtype)dtype, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
        lab_store(&y, (enum plumb_dtype)dtype, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
        expect(lab_judge(&x, &y), PLUMB_IDENTICAL, PLUMB_PATTERN_NONE,
               plumb_dtype_name((enum plumb_dtype)dtype), 0);
        lab_free(&x);
        lab_free(&y);
    }
}

/* NaN in the same places does not hide that the rest is rounding, nor a real difference. */
static void test_common_nan(void **state)
{
    (void)state;
    static double a[1000], b[1000];
    const int64_t shape[] = {10, 100};
    struct random_state r = {5};
    for (size_t i = 0; i < 1000; i++) {
        a[i] = i % 11 == 0 ? (double)NAN : random_normal(&r);
        b[i] = a[i] * (1 + 1e-7 * random_normal(&r));
    }
    struct lab_tensor x, y;
    lab_store(&x, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
    lab_store(&y, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
    expect(lab_judge(&x, &y), PLUMB_ROUNDING, PLUMB_PATTERN_NONE, "common NaN", 0);
    lab_free(&y);
    b[1] += 1;
    lab_store(&y, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
    expect(lab_judge(&x, &y), PLUMB_DIFFERENT, PLUMB_PATTERN_FEW_ELEMENTS, "and one wrong", 0);
    lab_free(&x);
    lab_free(&y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_all_kinds),
        cmocka_unit_test(test_sums_of_zero),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_casts_of_few_values),
        cmocka_unit_test(test_identical_corners),
        cmocka_unit_test(test_common_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
