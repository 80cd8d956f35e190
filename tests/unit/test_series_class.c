/*
 * test_series_class.c - curves that part in a known way, each with many seeds: healthy noise is never
 * called a drift, a drift of 1 % over 100 steps always is.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "compare/series_class.h"

enum { MOST = 400, SEEDS = 1000, REPEATS = 3 };

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    const double u = uniform(state), v = uniform(state);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

/* What B does. Zeros: nothing. */
struct shape {
    double noise;   /* standard deviation of every step, relative */
    size_t from;    /* noise and offset begin here */
    double drift;   /* relative, reached evenly at the last step */
    double offset;  /* relative, at once */
    double growth;  /* of noise a step: it begins at 1e-7 */
    double swell;   /* of the offset a step, up to 5 % */
    double spike;   /* relative, for three steps at a half */
    bool nan;       /* at three quarters */
    double wander;  /* of a random walk a step */
    double repeats; /* noise of the repeated runs */
};

struct trial {
    const char *name;
    size_t steps;
    struct shape shape;
    enum plumb_series_class expected;
    int64_t earliest, latest; /* step at which it leaves; 0, 0: any */
};

static double noise_at(const struct shape *shape, double size, size_t i, uint64_t *chance)
{
    const double grown =
        shape->growth > 0 ? fmin(1e-7 * pow(shape->growth, (double)i), size) : size;
    return grown * normal(chance);
}

static void draw_curves(const struct trial *trial, uint64_t seed, double *a, double *b,
                        double repeats[REPEATS][MOST])
{
    const struct shape *shape = &trial->shape;
    uint64_t chance = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 8; i++)
        chance = (chance ^ (chance >> 31)) * 0xbf58476d1ce4e5b9u;
    double walk = 0;
    for (size_t i = 0; i < trial->steps; i++) {
        a[i] = (2 + 8 * exp(-(double)i / 60)) * (1 + 0.03 * normal(&chance));
        walk += shape->wander * normal(&chance);
        double error = i >= shape->from ? noise_at(shape, shape->noise, i, &chance) : 0;
        const double swollen = shape->swell > 0 ? pow(shape->swell, (double)i) : 1;
        error += i >= shape->from ? fmin(shape->offset * swollen, 0.05) : 0;
        error += walk + shape->drift * (double)i / (double)(trial->steps - 1);
        if (i >= trial->steps / 2 && i < trial->steps / 2 + 3)
            error += shape->spike;
        b[i] = shape->nan && i >= trial->steps * 3 / 4 ? (double)NAN : a[i] * (1 + error);
        for (size_t r = 0; r < REPEATS; r++)
            repeats[r][i] = a[i] * (1 + noise_at(shape, shape->repeats, i, &chance));
    }
}

static const struct trial trials[] = {
    {"the same", 100, {.noise = 0}, PLUMB_SERIES_SAME, 0, 0},
    {"rounding", 100, {.noise = 1e-6}, PLUMB_SERIES_NOISE, 0, 0},
    {"noise of bf16", 100, {.noise = 3e-3}, PLUMB_SERIES_NOISE, 0, 0},
    {"much noise", 300, {.noise = 8e-3}, PLUMB_SERIES_NOISE, 0, 0},
    {"few steps with noise", 24, {.noise = 1e-3}, PLUMB_SERIES_NOISE, 0, 0},
    {"noise that grows", 200, {.noise = 3e-3, .growth = 1.2}, PLUMB_SERIES_NOISE, 0, 0},
    {"drift alone", 100, {.drift = 0.01}, PLUMB_SERIES_DRIFT, 1, 30},
    {"drift down", 100, {.drift = -0.01}, PLUMB_SERIES_DRIFT, 1, 30},
    {"drift under noise", 100, {.drift = 0.01, .noise = 2e-3}, PLUMB_SERIES_DRIFT, 0, 60},
    {"long drift", 400, {.drift = 0.01, .noise = 3e-3}, PLUMB_SERIES_DRIFT, 0, 300},
    {"first step", 100, {.offset = 0.05, .noise = 1e-3}, PLUMB_SERIES_FIRST, 0, 0},
    {"little at the first step", 100, {.offset = 5e-4}, PLUMB_SERIES_FIRST, 0, 0},
    {"little at the first step, then apart",
     200,
     {.offset = 4e-4, .noise = 1e-2, .growth = 1.3, .drift = 0.02},
     PLUMB_SERIES_FIRST,
     0,
     0},
    {"little at the first step, then much noise",
     200,
     {.offset = -2e-4, .noise = 1e-2, .growth = 1.25},
     PLUMB_SERIES_FIRST,
     0,
     0},
    {"grows from the first step on",
     200,
     {.offset = 3e-4, .noise = 1e-6, .swell = 1.08},
     PLUMB_SERIES_FIRST,
     0,
     0},
    {"all at once", 100, {.from = 40, .offset = 0.02}, PLUMB_SERIES_DRIFT, 40, 40},
    {"noise all at once", 100, {.from = 12, .noise = 8e-3}, PLUMB_SERIES_DRIFT, 12, 20},
    {"spike", 100, {.spike = 0.5, .noise = 1e-4}, PLUMB_SERIES_SPIKE, 50, 50},
    {"spike in noise", 100, {.spike = 0.5, .noise = 5e-3}, PLUMB_SERIES_SPIKE, 50, 50},
    {"not a number", 100, {.nan = true, .noise = 1e-4}, PLUMB_SERIES_NONFINITE, 75, 75},
    {"as repeated runs", 100, {.noise = 0.02, .repeats = 0.02}, PLUMB_SERIES_NOISE, 0, 0},
    {"as runs that part",
     200,
     {.noise = 0.02, .repeats = 0.02, .growth = 1.2},
     PLUMB_SERIES_NOISE,
     0,
     0},
    {"drift beside repeated runs",
     100,
     {.noise = 2e-3, .repeats = 2e-3, .drift = 0.01},
     PLUMB_SERIES_DRIFT,
     0,
     60},
    {"more than repeated runs",
     100,
     {.noise = 1e-6, .repeats = 1e-6, .from = 30, .offset = 1e-3},
     PLUMB_SERIES_DRIFT,
     30,
     30},
};

static size_t count_wrong(const struct trial *trial, char *first, size_t size)
{
    static double a[MOST], b[MOST], repeats[REPEATS][MOST];
    static int64_t steps[MOST];
    const double *const list[REPEATS] = {repeats[0], repeats[1], repeats[2]};
    size_t wrong = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct plumb_series_diff diff = {0};
        draw_curves(trial, seed, a, b, repeats);
        for (size_t i = 0; i < trial->steps; i++)
            steps[i] = (int64_t)i;
        const struct plumb_curves curves = {.steps = steps,
                                            .a = a,
                                            .b = b,
                                            .count = trial->steps,
                                            .repeats = list,
                                            .repeat_count =
                                                trial->shape.repeats > 0 ? REPEATS : 0};
        assert_true(plumb_curves_classify(&curves, &diff));
        const bool place = !trial->latest || (diff.leaves_step >= trial->earliest &&
                                              diff.leaves_step <= trial->latest);
        if (diff.series_class == trial->expected && place)
            continue;
        if (!wrong++)
            (void)snprintf(first, size, "seed %d: class %d, leaves at %d", (int)seed,
                           (int)diff.series_class, (int)diff.leaves_step);
    }
    return wrong;
}

static void every_class(void **state)
{
    (void)state;
    size_t wrong_trials = 0;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        char first[200] = "";
        const size_t wrong = count_wrong(&trials[i], first, sizeof first);
        if (wrong) {
            print_message("%s: %zu of %d wrong, %s\n", trials[i].name, wrong, SEEDS, first);
            wrong_trials++;
        }
    }
    assert_int_equal(wrong_trials, 0);
}

static void short_curves(void **state)
{
    (void)state;
    static const int64_t steps[] = {5, 6};
    static const double a[] = {2, 1}, close[] = {2 + 1e-6, 1}, far[] = {2.5, 1};
    struct plumb_series_diff diff = {0};
    struct plumb_curves curves = {.steps = steps, .a = a, .b = close};
    assert_true(plumb_curves_classify(&curves, &diff));
    assert_int_equal(diff.series_class, PLUMB_SERIES_SAME); /* nothing in common */
    curves.count = 2;
    assert_true(plumb_curves_classify(&curves, &diff));
    assert_int_equal(diff.series_class, PLUMB_SERIES_NOISE);
    assert_int_equal(diff.step, 5);
    curves.b = far;
    assert_true(plumb_curves_classify(&curves, &diff));
    assert_int_equal(diff.series_class, PLUMB_SERIES_FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_class),
                                       cmocka_unit_test(short_curves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
