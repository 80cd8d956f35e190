/*
 * test_pattern_large.c - the same differences in a tensor too large to be read whole.
 *
 * The judge then sees a sample: the blocks that differ, or windows and the surroundings of the
 * worst element. What it says must not depend on that.
 */
#include "unit/verdict_lab.h"

enum { ROWS = 1200, COLUMNS = 1750, COUNT = ROWS * COLUMNS };

typedef void plant_function(const double *a, double *b);

static void plant_flip(const double *a, double *b)
{
    b[1234567] = a[1234567] * 0x1p64; /* sets the second highest bit of its exponent */
}

static void plant_row(const double *a, double *b)
{
    for (size_t i = 0; i < COLUMNS; i++)
        b[777 * (size_t)COLUMNS + i] = 1.5 * a[777 * (size_t)COLUMNS + i];
}

static void plant_column(const double *a, double *b)
{
    for (size_t i = 0; i < ROWS; i++)
        b[i * COLUMNS + 345] = 1.5 * a[i * COLUMNS + 345];
}

static void plant_zero_row(const double *a, double *b)
{
    (void)a;
    memset(b + 900 * (size_t)COLUMNS, 0, COLUMNS * sizeof *b);
}

static void plant_block(const double *a, double *b)
{
    for (size_t i = 512 * 2048; i < 513 * 2048; i++)
        b[i] = a[i + 1] * 0.99;
}

static void plant_two_elements(const double *a, double *b)
{
    (void)a;
    b[5] += 1;
    b[COUNT - 7] -= 2;
}

static void plant_scale(const double *a, double *b)
{
    for (size_t i = 0; i < COUNT; i++)
        b[i] = 3 * a[i];
}

static void plant_move(const double *a, double *b)
{
    for (size_t i = 0; i < COUNT; i++)
        b[i] = a[(i + COUNT - 11) % COUNT];
}

static void plant_transpose(const double *a, double *b)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            b[j * ROWS + i] = a[i * COLUMNS + j];
}

static void plant_reversed_rows(const double *a, double *b)
{
    for (size_t i = 0; i < ROWS; i++)
        memcpy(b + i * COLUMNS, a + (ROWS - 1 - i) * COLUMNS, COLUMNS * sizeof *b);
}

static void plant_step(const double *a, double *b)
{
    struct random_state r = {99};
    for (size_t i = 0; i < COUNT; i++)
        b[i] = a[i] - 1e-3 * random_normal(&r);
}

static void plant_nothing(const double *a, double *b)
{
    (void)a;
    (void)b;
}

struct planted {
    const char *what;
    plant_function *plant;
    bool under_noise; /* also found if all elements differ by rounding */
    enum plumb_verdict verdict;
    enum plumb_pattern pattern;
    const char *says;
};

static const struct planted all_planted[] = {
    {"flip", plant_flip, false, PLUMB_DIFFERENT, PLUMB_PATTERN_BIT_FLIP, "bit 29 (exponent)"},
    {"row", plant_row, true, PLUMB_DIFFERENT, PLUMB_PATTERN_SLICE, "index 777 of axis 0"},
    {"column", plant_column, true, PLUMB_DIFFERENT, PLUMB_PATTERN_SLICE, "index 345 of axis 1"},
    {"zero row", plant_zero_row, true, PLUMB_DIFFERENT, PLUMB_PATTERN_SLICE, "index 900"},
    {"block", plant_block, true, PLUMB_DIFFERENT, PLUMB_PATTERN_BLOCKS, "from element 1048576"},
    {"elements", plant_two_elements, false, PLUMB_DIFFERENT, PLUMB_PATTERN_FEW_ELEMENTS,
     "2 of"},
    {"scale", plant_scale, true, PLUMB_DIFFERENT, PLUMB_PATTERN_SCALED, "3 times A"},
    {"move", plant_move, false, PLUMB_DIFFERENT, PLUMB_PATTERN_SHIFTED, "moved by +11"},
    {"transpose", plant_transpose, true, PLUMB_DIFFERENT, PLUMB_PATTERN_TRANSPOSED, "1, 0"},
    {"reversed rows", plant_reversed_rows, false, PLUMB_DIFFERENT, PLUMB_PATTERN_PERMUTED,
     "1200 of 1200"},
    {"step", plant_step, true, PLUMB_DIFFERENT, PLUMB_PATTERN_EVERYWHERE, "relative L2"},
    {"nothing", plant_nothing, true, PLUMB_ROUNDING, PLUMB_PATTERN_NONE, "rms"},
};

static int make_values(void **state)
{
    struct random_state r = {2};
    double *a = malloc(COUNT * sizeof *a);
    assert_non_null(a);
    for (size_t i = 0; i < COUNT; i++)
        a[i] = (double)(float)(0.7 * random_normal(&r));
    a[1234567] = 0x1p-65; /* exponent 62, so that bit 6 of it is not set */
    *state = a;
    return 0;
}

static int free_values(void **state)
{
    free(*state);
    return 0;
}

static void judge_planted(const double *a, const struct planted *p, bool noise)
{
    static const int64_t shape[] = {ROWS, COLUMNS};
    double *b = malloc(COUNT * sizeof *b);
    assert_non_null(b);
    memcpy(b, a, COUNT * sizeof *b);
    p->plant(a, b);
    struct random_state r = {8};
    for (size_t i = 0; noise && i < COUNT; i++)
        b[i] += 4e-7 * (random_uniform(&r) - 0.5);
    struct lab_tensor x, y;
    lab_store(&x, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
    lab_store(&y, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
    const struct plumb_judgement got = lab_judge(&x, &y);
    expect(got, p->verdict, p->pattern, p->what, noise);
    if (!strstr(got.reason, p->says))
        fail_msg("%s: no \"%s\" in: %s", p->what, p->says, got.reason);
    lab_free(&x);
    lab_free(&y);
    free(b);
}

static void test_on_equal_ground(void **state)
{
    for (size_t i = 0; i < sizeof all_planted / sizeof *all_planted; i++)
        if (all_planted[i].plant != plant_nothing)
            judge_planted(*state, &all_planted[i], false);
}

static void test_under_rounding(void **state)
{
    for (size_t i = 0; i < sizeof all_planted / sizeof *all_planted; i++)
        if (all_planted[i].under_noise)
            judge_planted(*state, &all_planted[i], true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_equal_ground),
        cmocka_unit_test(test_under_rounding),
    };
    return cmocka_run_group_tests(tests, make_values, free_values);
}
