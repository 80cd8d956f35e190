/* test_verdict_formulas.c - other formulas for the same function, and steps of training. */
#include "unit/verdict_lab.h"

enum { SEEDS = 100, COUNT = 8192 };
static const int64_t shape[] = {64, 128};

static double gelu_exact(double x)
{
    return 0.5 * x * (1 + erf(x * 0.7071067811865476));
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double exp_exact(double x)
{
    return exp(-fabs(3 * x));
}

/* A table of powers of two with a cubic between them, as fast exponentials are made. */
static double exp_fast(double x)
{
    const double y = -fabs(3 * x) * 1.4426950408889634;
    const double whole = floor(y), rest = y - whole;
    return ldexp(1 + rest * (0.6951 + rest * (0.2276 + rest * 0.0773)), (int)whole);
}

static double sigmoid_exact(double x)
{
    return 1 / (1 + exp(-x));
}

static double sigmoid_fast(double x)
{
    return 0.5 + 0.5 * tanh(0.5 * x) * (1 - 2e-4 * sin(x));
}

struct formula {
    const char *what;
    double (*exact)(double), (*fast)(double);
    enum plumb_dtype dtype;
    double spread; /* standard deviation of the inputs */
};

static const struct formula formulas[] = {
    {"gelu in f32", gelu_exact, gelu_tanh, PLUMB_F32, 1},
    {"gelu of wide inputs in f32", gelu_exact, gelu_tanh, PLUMB_F32, 3},
    {"gelu of narrow inputs in f32", gelu_exact, gelu_tanh, PLUMB_F32, 0.3},
    {"gelu in f64", gelu_exact, gelu_tanh, PLUMB_F64, 1},
    {"gelu in f16", gelu_exact, gelu_tanh, PLUMB_F16, 1},
    {"gelu in bf16", gelu_exact, gelu_tanh, PLUMB_BF16, 1},
    {"exponential in f32", exp_exact, exp_fast, PLUMB_F32, 1},
    {"sigmoid in f32", sigmoid_exact, sigmoid_fast, PLUMB_F32, 1},
};

static void test_formulas(void **state)
{
    (void)state;
    static double a[COUNT], b[COUNT];
    for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct random_state r = {seed * 17 + 5};
            for (size_t i = 0; i < COUNT; i++) {
                const double x = formulas[f].spread * random_normal(&r);
                a[i] = formulas[f].exact(x);
                b[i] = formulas[f].fast(x);
            }
            struct lab_tensor x, y;
            lab_store(&x, formulas[f].dtype, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
            lab_store(&y, formulas[f].dtype, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
            const struct plumb_judgement got = lab_judge(&x, &y);
            if (seed == 0 && getenv("SHOW"))
                printf("%s: %s/%s %s\n", formulas[f].what, plumb_verdict_name(got.verdict),
                       plumb_pattern_name(got.pattern), got.reason);
            expect(got, PLUMB_APPROXIMATION, PLUMB_PATTERN_NONE, formulas[f].what, seed);
            lab_free(&x);
            lab_free(&y);
        }
}

/* Levels for 8 and for 4 bits. */
static void test_quantised_values(void **state)
{
    (void)state;
    static double a[COUNT], b[COUNT];
    for (int half = 7; half <= 127; half += 120)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct random_state r = {seed * 19 + 3};
            for (size_t i = 0; i < COUNT; i++) {
                a[i] = 0.1 * random_normal(&r);
                const double level = nearbyint(a[i] / 0.35 * half);
                b[i] = 0.35 / half * fmax(-half, fmin(half, level));
                a[i] = fmax(-0.35, fmin(0.35, a[i]));
            }
            struct lab_tensor x, y;
            lab_store(&x, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
            lab_store(&y, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
            const struct plumb_judgement got = lab_judge(&x, &y);
            expect(got, PLUMB_APPROXIMATION, PLUMB_PATTERN_NONE, "quantised", seed);
            assert_non_null(strstr(got.reason, "quantised"));
            lab_free(&x);
            lab_free(&y);
        }
}

/* A layer norm with another epsilon: within rounding, but all of it by one factor. */
static void test_common_factor(void **state)
{
    (void)state;
    static double a[COUNT], b[COUNT];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct random_state r = {seed * 23 + 1};
        for (size_t i = 0; i < COUNT; i++) {
            a[i] = random_normal(&r);
            b[i] = a[i] * (1 + 5e-6) + 6e-8 * random_normal(&r);
        }
        struct lab_tensor x, y;
        lab_store(&x, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
        lab_store(&y, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
        const struct plumb_judgement got = lab_judge(&x, &y);
        expect(got, PLUMB_APPROXIMATION, PLUMB_PATTERN_SCALED, "epsilon", seed);
        assert_non_null(strstr(got.reason, "B is 1.000005"));
        lab_free(&x);
        lab_free(&y);
    }
}

/* ---- steps of training ---------------------------------------------------------------- */

struct step {
    const char *what;
    enum plumb_dtype dtype;
    double rate;  /* of learning */
    bool adam;    /* all gradients count as +1 or -1 */
    double decay; /* of weights */
};

static const struct step steps[] = {
    {"SGD, large", PLUMB_F32, 1e-1, false, 0},
    {"SGD", PLUMB_F32, 1e-2, false, 0},
    {"SGD, small", PLUMB_F32, 1e-3, false, 0},
    {"SGD with decay", PLUMB_F32, 1e-2, false, 1e-2},
    {"Adam", PLUMB_F32, 1e-3, true, 0},
    {"AdamW", PLUMB_F32, 1e-4, true, 1e-1},
    {"Adam, small", PLUMB_F32, 3e-6, true, 0},
    {"Adam in bf16", PLUMB_BF16, 1e-3, true, 0},
    {"SGD in bf16", PLUMB_BF16, 1e-1, false, 0},
    {"Adam in f16", PLUMB_F16, 1e-3, true, 0},
};

static void take_step(struct random_state *r, const struct step *s, const double *a, double *b)
{
    for (size_t i = 0; i < COUNT; i++) {
        const double gradient = 1e-2 * random_normal(r) * (1 + (double)(i / 128 % 4));
        const double update = s->adam ? (gradient > 0 ? 1 : -1) : gradient;
        b[i] = a[i] * (1 - s->rate * s->decay) - s->rate * update;
    }
}

/* As a tensor of a checkpoint: its name says that it is a weight. */
static struct plumb_judgement judge_weight(const struct lab_tensor *a,
                                           const struct lab_tensor *b)
{
    struct plumb_comparison comparison;
    struct plumb_judgement judgement;
    struct plumb_operand x, y;
    plumb_values_compare(a->dtype, a->raw, b->dtype, b->raw, a->count, 0, 0, &comparison);
    plumb_operand_of_array(&x, a->dtype, a->rank, a->shape, a->raw);
    plumb_operand_of_array(&y, b->dtype, b->rank, b->shape, b->raw);
    x.weight = y.weight = true;
    assert_int_equal(plumb_judge_pair(&x, &y, &comparison, NULL, &judgement, NULL), 0);
    return judgement;
}

static void test_optimizer_steps(void **state)
{
    (void)state;
    static double a[COUNT], b[COUNT];
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct random_state r = {seed * 13 + 7};
            for (size_t i = 0; i < COUNT; i++)
                a[i] = round_value(0.02 * random_normal(&r), steps[s].dtype,
                                   PLUMB_ROUND_NEAREST_EVEN);
            take_step(&r, &steps[s], a, b);
            struct lab_tensor x, y;
            lab_store(&x, steps[s].dtype, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
            lab_store(&y, steps[s].dtype, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
            const bool narrow = steps[s].dtype != PLUMB_F32;
            expect(narrow ? judge_weight(&x, &y) : lab_judge(&x, &y), PLUMB_DIFFERENT,
                   PLUMB_PATTERN_EVERYWHERE, steps[s].what, seed);
            lab_free(&x);
            lab_free(&y);
        }
}

/* ---- integers ------------------------------------------------------------------------- */

static void test_integers_are_never_rounding(void **state)
{
    (void)state;
    static double a[COUNT], b[COUNT];
    static const enum plumb_dtype dtypes[] = {PLUMB_I8, PLUMB_I32, PLUMB_I64, PLUMB_U8};
    struct random_state r = {3};
    for (size_t d = 0; d < 4; d++)
        for (size_t changed = 1; changed <= COUNT; changed *= 16) {
            for (size_t i = 0; i < COUNT; i++) {
                a[i] = (double)(random_bits(&r) % 100);
                b[i] =
                    a[i] + (i % (COUNT / changed) == 0 ? random_uniform(&r) > 0.5 ? 1 : 2 : 0);
            }
            struct lab_tensor x, y;
            lab_store(&x, dtypes[d], PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
            lab_store(&y, dtypes[d], PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
            expect(lab_judge(&x, &y), PLUMB_DIFFERENT,
                   changed <= 16 ? PLUMB_PATTERN_FEW_ELEMENTS : PLUMB_PATTERN_EVERYWHERE,
                   plumb_dtype_name(dtypes[d]), changed);
            lab_free(&x);
            lab_free(&y);
        }
}

/* Whole numbers kept as floats are on a coarse grid by nature: no excuse for a difference. */
static void test_whole_numbers_in_floats(void **state)
{
    (void)state;
    static double a[COUNT], b[COUNT];
    struct random_state r = {4};
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = (double)(random_bits(&r) % 100);
        b[i] = a[i] + (double)(random_bits(&r) % 2);
    }
    struct lab_tensor x, y;
    lab_store(&x, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
    lab_store(&y, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
    assert_int_equal(lab_judge(&x, &y).verdict, PLUMB_DIFFERENT);
    lab_free(&x);
    lab_free(&y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_quantised_values),
        cmocka_unit_test(test_common_factor),
        cmocka_unit_test(test_optimizer_steps),
        cmocka_unit_test(test_integers_are_never_rounding),
        cmocka_unit_test(test_whole_numbers_in_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
