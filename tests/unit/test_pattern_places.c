/* test_pattern_places.c - planted differences: each has to be named as what it is. */
#include "unit/verdict_lab.h"

enum { SEEDS = 100, ROWS = 96, COLUMNS = 80, COUNT = ROWS * COLUMNS };

/* Changes b, which starts as a copy of a. */
typedef void plant_function(struct random_state *r, const double *a, double *b);

static void plant_scaled_channel(struct random_state *r, const double *a, double *b)
{
    const size_t row = random_bits(r) % ROWS;
    for (size_t i = 0; i < COLUMNS; i++)
        b[row * COLUMNS + i] = 1.5 * a[row * COLUMNS + i];
}

static void plant_scaled_column(struct random_state *r, const double *a, double *b)
{
    const size_t column = random_bits(r) % COLUMNS;
    for (size_t i = 0; i < ROWS; i++)
        b[i * COLUMNS + column] = 1.5 * a[i * COLUMNS + column];
}

static void plant_zero_row(struct random_state *r, const double *a, double *b)
{
    (void)a;
    const size_t row = random_bits(r) % ROWS;
    memset(b + row * COLUMNS, 0, COLUMNS * sizeof *b);
}

static void plant_noisy_rows(struct random_state *r, const double *a, double *b)
{
    (void)a;
    const size_t row = random_bits(r) % (ROWS - 2);
    for (size_t i = 0; i < 3 * COLUMNS; i++)
        b[row * COLUMNS + i] = random_normal(r);
}

static void plant_stale_block(struct random_state *r, const double *a, double *b)
{
    (void)a;
    const size_t block = random_bits(r) % (COUNT / 2048);
    for (size_t i = 0; i < 2048; i++)
        b[block * 2048 + i] += 0.01 * random_normal(r);
}

static void plant_scale(struct random_state *r, const double *a, double *b)
{
    const double factor = exp(random_normal(r)) + 0.01;
    for (size_t i = 0; i < COUNT; i++)
        b[i] = a[i] * (fabs(factor - 1) < 0.05 ? 2 : factor);
}

static void plant_zeros(struct random_state *r, const double *a, double *b)
{
    (void)r;
    (void)a;
    memset(b, 0, COUNT * sizeof *b);
}

static void plant_constant(struct random_state *r, const double *a, double *b)
{
    const double constant = 0.1 + random_uniform(r);
    for (size_t i = 0; i < COUNT; i++)
        b[i] = a[i] + constant;
}

static void plant_move(struct random_state *r, const double *a, double *b)
{
    const size_t by = 1 + random_bits(r) % 300;
    for (size_t i = 0; i < COUNT; i++)
        b[i] = a[(i + by) % COUNT];
}

static void plant_transpose(struct random_state *r, const double *a, double *b)
{
    (void)r;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            b[j * ROWS + i] = a[i * COLUMNS + j];
}

static void plant_shuffled_rows(struct random_state *r, const double *a, double *b)
{
    (void)a;
    for (size_t i = ROWS - 1; i > 0; i--) {
        const size_t k = random_bits(r) % (i + 1);
        for (size_t j = 0; j < COLUMNS; j++) {
            const double swap = b[i * COLUMNS + j];
            b[i * COLUMNS + j] = b[k * COLUMNS + j];
            b[k * COLUMNS + j] = swap;
        }
    }
}

static void plant_swapped_columns(struct random_state *r, const double *a, double *b)
{
    const size_t x = random_bits(r) % COLUMNS, y = (x + 1 + random_bits(r) % 50) % COLUMNS;
    for (size_t i = 0; i < ROWS; i++) {
        b[i * COLUMNS + x] = a[i * COLUMNS + y];
        b[i * COLUMNS + y] = a[i * COLUMNS + x];
    }
}

static void plant_few(struct random_state *r, const double *a, double *b)
{
    (void)a;
    for (size_t i = 0; i < 5; i++)
        b[(i * 1471 + random_bits(r) % 1000) % COUNT] += 0.25 + random_uniform(r);
}

static void plant_nan(struct random_state *r, const double *a, double *b)
{
    (void)a;
    b[random_bits(r) % COUNT] = (double)NAN;
}

static void plant_sgd_step(struct random_state *r, const double *a, double *b)
{
    for (size_t i = 0; i < COUNT; i++)
        b[i] = a[i] - 1e-2 * 0.02 * random_normal(r);
}

static void plant_adam_step(struct random_state *r, const double *a, double *b)
{
    for (size_t i = 0; i < COUNT; i++)
        b[i] = a[i] - 1e-4 * (random_normal(r) > 0 ? 1 : -1);
}

static void plant_decayed_step(struct random_state *r, const double *a, double *b)
{
    for (size_t i = 0; i < COUNT; i++)
        b[i] = a[i] * (1 - 1e-5) - 1e-3 * random_normal(r);
}

static void plant_other_values(struct random_state *r, const double *a, double *b)
{
    (void)a;
    for (size_t i = 0; i < COUNT; i++)
        b[i] = random_normal(r);
}

struct planted {
    const char *what;
    plant_function *plant;
    enum plumb_pattern pattern;
    const char *says;
};

static const struct planted all_planted[] = {
    {"scaled channel", plant_scaled_channel, PLUMB_PATTERN_SLICE, "1.5 times A"},
    {"scaled column", plant_scaled_column, PLUMB_PATTERN_SLICE, "of axis 1"},
    {"zero row", plant_zero_row, PLUMB_PATTERN_SLICE, "zero in B"},
    {"noisy rows", plant_noisy_rows, PLUMB_PATTERN_SLICE, "of axis 0"},
    {"stale block", plant_stale_block, PLUMB_PATTERN_BLOCKS, "2048-element blocks"},
    {"scaled", plant_scale, PLUMB_PATTERN_SCALED, "times A"},
    {"zeros", plant_zeros, PLUMB_PATTERN_SCALED, "all zeros"},
    {"plus a constant", plant_constant, PLUMB_PATTERN_SHIFTED, "B is A plus"},
    {"moved", plant_move, PLUMB_PATTERN_SHIFTED, "moved by"},
    {"transposed", plant_transpose, PLUMB_PATTERN_TRANSPOSED, "axes in the order 1, 0"},
    {"shuffled rows", plant_shuffled_rows, PLUMB_PATTERN_PERMUTED, "rows"},
    {"swapped columns", plant_swapped_columns, PLUMB_PATTERN_PERMUTED, "columns"},
    {"few elements", plant_few, PLUMB_PATTERN_FEW_ELEMENTS, "5 of 7680"},
    {"NaN", plant_nan, PLUMB_PATTERN_NONFINITE, "1 elements are NaN"},
    {"SGD step", plant_sgd_step, PLUMB_PATTERN_EVERYWHERE, "relative L2"},
    {"Adam step", plant_adam_step, PLUMB_PATTERN_EVERYWHERE, "Adam"},
    {"decayed step", plant_decayed_step, PLUMB_PATTERN_EVERYWHERE, "relative L2"},
    {"other values", plant_other_values, PLUMB_PATTERN_EVERYWHERE, "unrelated"},
};

/* Rounding noise on top, as of two orders of summation. */
static void add_noise(struct random_state *r, double *b, double size)
{
    for (size_t i = 0; i < COUNT; i++)
        b[i] += size * random_normal(r);
}

static void run_planted(const struct planted *p, enum plumb_dtype dtype, double noise,
                        uint64_t seed)
{
    static const int64_t shape[] = {ROWS, COLUMNS};
    struct random_state r = {seed * 104729 + 3};
    double a[COUNT], b[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        a[i] = round_value(0.5 * random_normal(&r), dtype, PLUMB_ROUND_NEAREST_EVEN);
    memcpy(b, a, sizeof b);
    p->plant(&r, a, b);
    if (noise > 0)
        add_noise(&r, b, noise);
    struct lab_tensor x, y;
    lab_store(&x, dtype, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
    lab_store(&y, dtype, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
    const struct plumb_judgement got = lab_judge(&x, &y);
    expect(got, PLUMB_DIFFERENT, p->pattern, p->what, seed);
    if (!strstr(got.reason, p->says))
        fail_msg("%s: no \"%s\" in: %s", p->what, p->says, got.reason);
    lab_free(&x);
    lab_free(&y);
}

static void test_planted_in_f32(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_planted / sizeof *all_planted; i++)
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            run_planted(&all_planted[i], PLUMB_F32, 0, seed);
}

static bool survives_noise(enum plumb_pattern pattern)
{
    return pattern != PLUMB_PATTERN_PERMUTED && pattern != PLUMB_PATTERN_SHIFTED;
}

static void test_planted_under_noise(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_planted / sizeof *all_planted; i++)
        for (uint64_t seed = 0; seed < SEEDS / 5; seed++)
            if (survives_noise(all_planted[i].pattern) && all_planted[i].plant != plant_zeros &&
                all_planted[i].plant != plant_zero_row)
                run_planted(&all_planted[i], PLUMB_F32, 3e-7, seed);
}

static void test_planted_in_bf16(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_planted / sizeof *all_planted; i++)
        for (uint64_t seed = 0; seed < SEEDS / 5; seed++)
            if (all_planted[i].pattern != PLUMB_PATTERN_EVERYWHERE &&
                all_planted[i].plant != plant_stale_block)
                run_planted(&all_planted[i], PLUMB_BF16, 0, seed);
}

/* A block of 16-bit weights that missed one small update: no element is off by more than two
 * steps, and most by one or none. */
static void test_stale_16_bit_block(void **state)
{
    (void)state;
    enum { LONG = 40 * 2048 };
    static double a[LONG], b[LONG];
    const int64_t shape[] = {LONG};
    for (uint64_t seed = 0; seed < SEEDS / 2; seed++) {
        struct random_state r = {seed + 500};
        const size_t block = random_bits(&r) % 40;
        for (size_t i = 0; i < LONG; i++) {
            a[i] = 0.02 * random_normal(&r);
            b[i] = a[i] + (i / 2048 == block ? 1e-4 * random_normal(&r) : 0);
        }
        struct lab_tensor x, y;
        lab_store(&x, PLUMB_BF16, PLUMB_ROUND_NEAREST_EVEN, 1, shape, a);
        lab_store(&y, PLUMB_BF16, PLUMB_ROUND_NEAREST_EVEN, 1, shape, b);
        const struct plumb_judgement got = lab_judge(&x, &y);
        expect(got, PLUMB_DIFFERENT, PLUMB_PATTERN_BLOCKS, "stale bf16 block", seed);
        assert_non_null(strstr(got.reason, "2048-element blocks"));
        lab_free(&x);
        lab_free(&y);
    }
}

static void test_flipped_bits(void **state)
{
    (void)state;
    static const enum plumb_dtype dtypes[] = {PLUMB_F32, PLUMB_BF16, PLUMB_F16, PLUMB_F64};
    static const int exponent_bits[] = {23, 7, 10, 52};
    static const int64_t shape[] = {ROWS, COLUMNS};
    double a[COUNT];
    for (size_t d = 0; d < 4; d++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct random_state r = {seed + 77};
            for (size_t i = 0; i < COUNT; i++)
                a[i] = random_normal(&r);
            struct lab_tensor x, y;
            lab_store(&x, dtypes[d], PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
            lab_store(&y, dtypes[d], PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
            const size_t size = plumb_dtype_size(dtypes[d]);
            const int width = (int)size * 8 - 1 - exponent_bits[d];
            const int bit = exponent_bits[d] + (int)(random_bits(&r) % (uint64_t)width);
            const size_t at = random_bits(&r) % COUNT;
            ((unsigned char *)y.raw)[at * size + (size_t)bit / 8] ^=
                (unsigned char)(1u << bit % 8);
            const struct plumb_judgement got = lab_judge(&x, &y);
            expect(got, PLUMB_DIFFERENT, PLUMB_PATTERN_BIT_FLIP, "flipped bit", seed);
            char words[64];
            (void)snprintf(words, sizeof words, "bit %d (exponent) of element [%d, %d]", bit,
                           (int)(at / COLUMNS), (int)(at % COLUMNS));
            if (!strstr(got.reason, words))
                fail_msg("no \"%s\" in: %s", words, got.reason);
            lab_free(&x);
            lab_free(&y);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_in_f32),  cmocka_unit_test(test_planted_under_noise),
        cmocka_unit_test(test_planted_in_bf16), cmocka_unit_test(test_stale_16_bit_block),
        cmocka_unit_test(test_flipped_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
