/* test_verdict_rounding.c - matrix products by several ways of summing and rounding. */
#include "unit/verdict_lab.h"

enum { SEEDS = 100, SIDE = 32 };
static const int lengths[] = {64, 256, 1024, 4096, 16384};

/* x is `side` rows of K, y as well (the transposed right factor), in 16-bit values. */
struct product {
    int length, side;
    float *x, *y;
};

static void make_product(struct product *p, struct random_state *r, int length,
                         enum plumb_dtype dtype, double (*draw)(struct random_state *))
{
    const size_t count = (size_t)p->side * (size_t)length;
    double *values = malloc(2 * count * sizeof *values);
    unsigned char *raw = malloc(2 * count * 4);
    p->length = length;
    p->x = malloc(2 * count * sizeof *p->x);
    assert_true(values && raw && p->x);
    p->y = p->x + count;
    for (size_t i = 0; i < 2 * count; i++)
        values[i] = draw(r);
    plumb_convert_values(PLUMB_F64, values, dtype, raw, 2 * count, PLUMB_ROUND_NEAREST_EVEN,
                         NULL);
    plumb_convert_values(dtype, raw, PLUMB_F32, p->x, 2 * count, PLUMB_ROUND_NEAREST_EVEN,
                         NULL);
    free(values);
    free(raw);
}

static float sum_in_order(const float *x, const float *y, int length)
{
    float sum = 0;
    for (int k = 0; k < length; k++)
        sum += x[k] * y[k];
    return sum;
}

static float sum_in_lanes(const float *x, const float *y, int length)
{
    float lane[8] = {0};
    for (int k = 0; k < length; k++)
        lane[k % 8] += x[k] * y[k];
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
           ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

static float sum_backwards(const float *x, const float *y, int length)
{
    float sum = 0;
    for (int k = length - 1; k >= 0; k--)
        sum += x[k] * y[k];
    return sum;
}

/* An accumulator with 11 bits: after each step only 11 bits are kept. */
static float sum_in_11_bits(const float *x, const float *y, int length)
{
    float sum = 0;
    for (int k = 0; k < length; k++) {
        sum += x[k] * y[k];
        uint32_t bits;
        memcpy(&bits, &sum, sizeof bits);
        bits += 0xfffu + (bits >> 13 & 1); /* to nearest even */
        bits &= ~UINT32_C(0x1fff);
        memcpy(&sum, &bits, sizeof sum);
    }
    return sum;
}

typedef float sum_function(const float *x, const float *y, int length);

static void multiply(const struct product *p, sum_function *sum, double *out)
{
    for (int i = 0; i < p->side; i++)
        for (int j = 0; j < p->side; j++)
            out[i * p->side + j] = (double)sum(p->x + (size_t)i * (size_t)p->length,
                                               p->y + (size_t)j * (size_t)p->length, p->length);
}

struct setting {
    const char *what;
    enum plumb_dtype in, out;
    sum_function *sum_b;
    enum plumb_round round_b;
    double (*draw)(struct random_state *);
    enum plumb_verdict verdict;
    enum plumb_pattern pattern;
    const char *says; /* part of the reason, or NULL */
};

static double heavy(struct random_state *r)
{
    return random_normal(r) * exp(random_normal(r));
}

static double positive(struct random_state *r)
{
    return random_uniform(r);
}

static const struct setting settings[] = {
    {"two fp32 orders in bf16", PLUMB_BF16, PLUMB_BF16, sum_in_lanes, PLUMB_ROUND_NEAREST_EVEN,
     random_normal, PLUMB_ROUNDING, PLUMB_PATTERN_NONE, "flipped"},
    {"two fp32 orders in f16", PLUMB_F16, PLUMB_F16, sum_in_lanes, PLUMB_ROUND_NEAREST_EVEN,
     random_normal, PLUMB_ROUNDING, PLUMB_PATTERN_NONE, "flipped"},
    {"two fp32 orders in f32", PLUMB_F32, PLUMB_F32, sum_in_lanes, PLUMB_ROUND_NEAREST_EVEN,
     random_normal, PLUMB_ROUNDING, PLUMB_PATTERN_NONE, "65536 terms"},
    {"backwards in f32", PLUMB_F32, PLUMB_F32, sum_backwards, PLUMB_ROUND_NEAREST_EVEN,
     random_normal, PLUMB_ROUNDING, PLUMB_PATTERN_NONE, "65536 terms"},
    {"heavy tails in f32", PLUMB_F32, PLUMB_F32, sum_in_lanes, PLUMB_ROUND_NEAREST_EVEN, heavy,
     PLUMB_ROUNDING, PLUMB_PATTERN_NONE, NULL},
    {"heavy tails in bf16", PLUMB_BF16, PLUMB_BF16, sum_backwards, PLUMB_ROUND_NEAREST_EVEN,
     heavy, PLUMB_ROUNDING, PLUMB_PATTERN_NONE, NULL},
    {"all positive in f32", PLUMB_F32, PLUMB_F32, sum_in_lanes, PLUMB_ROUND_NEAREST_EVEN,
     positive, PLUMB_ROUNDING, PLUMB_PATTERN_NONE, NULL},
    {"all positive in bf16", PLUMB_BF16, PLUMB_BF16, sum_in_lanes, PLUMB_ROUND_NEAREST_EVEN,
     positive, PLUMB_ROUNDING, PLUMB_PATTERN_NONE, NULL},
    {"11-bit sums in bf16", PLUMB_BF16, PLUMB_BF16, sum_in_11_bits, PLUMB_ROUND_NEAREST_EVEN,
     random_normal, PLUMB_APPROXIMATION, PLUMB_PATTERN_LOW_ACCUMULATION, "11 bits"},
    {"11-bit sums in f16", PLUMB_F16, PLUMB_F16, sum_in_11_bits, PLUMB_ROUND_NEAREST_EVEN,
     random_normal, PLUMB_APPROXIMATION, PLUMB_PATTERN_LOW_ACCUMULATION, "11 bits"},
    {"11-bit sums in f32", PLUMB_F16, PLUMB_F32, sum_in_11_bits, PLUMB_ROUND_NEAREST_EVEN,
     random_normal, PLUMB_APPROXIMATION, PLUMB_PATTERN_LOW_ACCUMULATION, "11 bits"},
    {"truncated bf16", PLUMB_BF16, PLUMB_BF16, sum_in_lanes, PLUMB_ROUND_TO_ZERO, random_normal,
     PLUMB_ROUNDING, PLUMB_PATTERN_ROUNDING_MODE, "B looks rounded toward zero"},
    {"truncated f16", PLUMB_F16, PLUMB_F16, sum_in_lanes, PLUMB_ROUND_TO_ZERO, random_normal,
     PLUMB_ROUNDING, PLUMB_PATTERN_ROUNDING_MODE, "B looks rounded toward zero"},
    {"odd bf16", PLUMB_BF16, PLUMB_BF16, sum_in_lanes, PLUMB_ROUND_TO_ODD, random_normal,
     PLUMB_ROUNDING, PLUMB_PATTERN_ROUNDING_MODE, "B looks rounded to odd"},
    {"odd f16", PLUMB_F16, PLUMB_F16, sum_in_lanes, PLUMB_ROUND_TO_ODD, random_normal,
     PLUMB_ROUNDING, PLUMB_PATTERN_ROUNDING_MODE, "B looks rounded to odd"},
    {"up bf16", PLUMB_BF16, PLUMB_BF16, sum_in_lanes, PLUMB_ROUND_UP, random_normal,
     PLUMB_ROUNDING, PLUMB_PATTERN_ROUNDING_MODE, "B looks rounded up"},
    {"down f16", PLUMB_F16, PLUMB_F16, sum_in_lanes, PLUMB_ROUND_DOWN, random_normal,
     PLUMB_ROUNDING, PLUMB_PATTERN_ROUNDING_MODE, "B looks rounded down"},
};

/* Sums by one function, shared by all settings that start from the same inputs. */
struct sums {
    sum_function *sum;
    double out[SIDE * SIDE];
};

static const double *sums_by(struct sums *cache, size_t *count, const struct product *p,
                             sum_function *sum)
{
    for (size_t i = 0; i < *count; i++)
        if (cache[i].sum == sum)
            return cache[i].out;
    cache[*count].sum = sum;
    multiply(p, sum, cache[*count].out);
    return cache[(*count)++].out;
}

static void judge_setting(const struct setting *s, const double *a, const double *b, int side,
                          uint64_t seed)
{
    const int64_t shape[] = {side, side};
    struct lab_tensor x, y;
    lab_store(&x, s->out, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
    lab_store(&y, s->out, s->round_b, 2, shape, b);
    const struct plumb_judgement got = lab_judge(&x, &y);
    const bool identical = got.verdict == PLUMB_IDENTICAL && s->verdict == PLUMB_ROUNDING &&
                           s->pattern == PLUMB_PATTERN_NONE;
    expect(got, identical ? PLUMB_IDENTICAL : s->verdict, s->pattern, s->what, seed);
    if (s->says && !identical && !strstr(got.reason, s->says))
        fail_msg("%s, seed %d: no \"%s\" in: %s", s->what, (int)seed, s->says, got.reason);
    lab_free(&x);
    lab_free(&y);
}

/* All settings that draw their inputs as the first of them does. */
static void run_inputs(const struct setting *first, uint64_t seed)
{
    struct random_state r = {seed * 7919 + 1};
    struct product p;
    struct sums cache[4];
    size_t cached = 0;
    /* The longest sums take most of the time. */
    const int length = lengths[seed % 20 == 19 ? 4 : seed % 4];
    p.side = length > 1024 ? SIDE / 2 : SIDE;
    make_product(&p, &r, length, first->in, first->draw);
    const double *a = sums_by(cache, &cached, &p, sum_in_order);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (settings[i].in == first->in && settings[i].draw == first->draw)
            judge_setting(&settings[i], a, sums_by(cache, &cached, &p, settings[i].sum_b),
                          p.side, seed);
    free(p.x);
}

static bool draws_new_inputs(size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (settings[k].in == settings[i].in && settings[k].draw == settings[i].draw)
            return false;
    return true;
}

static void test_matrix_products(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        for (uint64_t seed = 0; draws_new_inputs(i) && seed < SEEDS; seed++)
            run_inputs(&settings[i], seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
