/* test_dtype.c - names, exhaustive round trips, every rounding mode against a slow reference,
 * and the hardware's own half conversions. */
#include "kernel/float_format.h"
#include "kernel/kernel.h"
#include "kernel/widen.h"
#include "model/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const enum plumb_dtype small_floats[] = {PLUMB_F16, PLUMB_BF16, PLUMB_F8E4M3,
                                                PLUMB_F8E5M2, PLUMB_HIF8};

static uint64_t state = 88172645463325252ULL;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double value_of_bits(enum plumb_dtype dtype, uint64_t bits)
{
    double value;
    plumb_widen(dtype, &bits, 1, &value);
    return value;
}

static void test_names(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        enum plumb_dtype dtype;
    } cases[] = {
        {"f32", PLUMB_F32},           {"float32", PLUMB_F32},
        {"torch.float32", PLUMB_F32}, {"F32", PLUMB_F32},
        {"half", PLUMB_F16},          {"torch.bfloat16", PLUMB_BF16},
        {"BF16", PLUMB_BF16},         {"torch.float8_e4m3fn", PLUMB_F8E4M3},
        {"F8_E5M2", PLUMB_F8E5M2},    {"mindspore.int64", PLUMB_I64},
        {"uint8", PLUMB_U8},          {"bool", PLUMB_BOOL},
        {"complex64", PLUMB_C64},     {"hifloat8", PLUMB_HIF8},
    };
    enum plumb_dtype dtype;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(plumb_dtype_from_name(cases[i].name, &dtype));
        assert_int_equal(dtype, cases[i].dtype);
    }
    for (unsigned i = 0; i < PLUMB_DTYPE_COUNT; i++) {
        assert_true(plumb_dtype_from_name(plumb_dtype_name((enum plumb_dtype)i), &dtype));
        assert_int_equal(dtype, i);
    }
    for (unsigned i = 0; i < PLUMB_ROUND_COUNT; i++) {
        enum plumb_round round;
        assert_true(plumb_round_from_name(plumb_round_name((enum plumb_round)i), &round));
        assert_int_equal(round, i);
    }
    assert_false(plumb_dtype_from_name("float7", &dtype));
    assert_false(plumb_dtype_from_name("", &dtype));
    assert_int_equal(plumb_dtype_size(PLUMB_C128), 16);
    assert_int_equal(plumb_dtype_coarser(PLUMB_F32, PLUMB_BF16), PLUMB_BF16);
    assert_int_equal(plumb_dtype_coarser(PLUMB_F16, PLUMB_I32), PLUMB_F16);
}

/* Every code of every small type is its own rounding, in every mode. */
static void test_round_trips(void **unused)
{
    (void)unused;
    for (size_t t = 0; t < sizeof small_floats / sizeof *small_floats; t++) {
        const enum plumb_dtype dtype = small_floats[t];
        const uint64_t codes = UINT64_C(1) << (8 * plumb_dtype_size(dtype));
        for (uint64_t code = 0; code < codes; code++) {
            const double value = value_of_bits(dtype, code);
            for (unsigned r = 0; r < PLUMB_ROUND_COUNT; r++) {
                const uint64_t back = plumb_round_to_bits(dtype, value, (enum plumb_round)r);
                if (isnan(value))
                    assert_true(isnan(value_of_bits(dtype, back)));
                else
                    assert_int_equal(back, code);
            }
        }
    }
}

/* The wanted magnitude among the two neighbours below <= |x| <= above. */
static bool takes_upper(double below, double x, double above, bool below_is_odd, bool negative,
                        enum plumb_round round)
{
    const double down = x - below, up = above - x;
    switch (round) {
    case PLUMB_ROUND_NEAREST_EVEN:
        return down == up ? below_is_odd : up < down;
    case PLUMB_ROUND_NEAREST_AWAY:
        return up <= down;
    case PLUMB_ROUND_TO_ODD:
        return !below_is_odd;
    case PLUMB_ROUND_UP:
        return !negative;
    case PLUMB_ROUND_DOWN:
        return negative;
    case PLUMB_ROUND_TO_ZERO:
    case PLUMB_ROUND_COUNT:
        break;
    }
    return false;
}

static void check_between(enum plumb_dtype dtype, uint64_t low_code, uint64_t high_code,
                          uint64_t order, double x)
{
    const double below = value_of_bits(dtype, low_code),
                 above = value_of_bits(dtype, high_code);
    for (int negative = 0; negative < 2; negative++) {
        for (unsigned r = 0; r < PLUMB_ROUND_COUNT; r++) {
            const enum plumb_round round = (enum plumb_round)r;
            const bool upper = takes_upper(below, x, above, order & 1, negative, round);
            const double wanted = upper ? above : below;
            const uint64_t got = plumb_round_to_bits(dtype, negative ? -x : x, round);
            assert_true(fabs(value_of_bits(dtype, got)) == wanted);
        }
    }
}

/* Points just beside and at the middle of every gap. */
static void test_gaps(void **unused)
{
    (void)unused;
    for (size_t t = 0; t < sizeof small_floats / sizeof *small_floats; t++) {
        const enum plumb_dtype dtype = small_floats[t];
        const struct plumb_float_format *format = plumb_float_format(dtype);
        const uint64_t top = dtype == PLUMB_HIF8 ? PLUMB_HIF8_LEVELS - 2 : format->max_code;
        for (uint64_t order = 0; order < top; order++) {
            uint64_t low = order, high = order + 1;
            if (dtype == PLUMB_HIF8) {
                low = plumb_hif8_order()->code_of_rank[order];
                high = plumb_hif8_order()->code_of_rank[order + 1];
            }
            const double below = value_of_bits(dtype, low), above = value_of_bits(dtype, high);
            assert_true(below < above);
            const double middle = below + (above - below) / 2;
            const double points[] = {nextafter(below, 1e300), middle, nextafter(middle, 0),
                                     nextafter(middle, 1e300), nextafter(above, 0)};
            for (size_t i = 0; i < sizeof points / sizeof *points; i++)
                check_between(dtype, low, high, order, points[i]);
        }
    }
}

static void test_overflow(void **unused)
{
    (void)unused;
    static const struct {
        enum plumb_dtype dtype;
        double value;
        enum plumb_round round;
        double wanted;
    } cases[] = {
        {PLUMB_F16, 65519, PLUMB_ROUND_NEAREST_EVEN, 65504},
        {PLUMB_F16, 65520, PLUMB_ROUND_NEAREST_EVEN, INFINITY},
        {PLUMB_F16, 1e9, PLUMB_ROUND_TO_ZERO, 65504},
        {PLUMB_F16, 1e9, PLUMB_ROUND_UP, INFINITY},
        {PLUMB_F16, 1e9, PLUMB_ROUND_DOWN, 65504},
        {PLUMB_F16, -1e9, PLUMB_ROUND_DOWN, -INFINITY},
        {PLUMB_F16, 1e9, PLUMB_ROUND_TO_ODD, 65504},
        {PLUMB_F8E4M3, 1e9, PLUMB_ROUND_NEAREST_EVEN, 448},
        {PLUMB_F8E4M3, -INFINITY, PLUMB_ROUND_NEAREST_EVEN, -448},
        {PLUMB_F8E5M2, 61440, PLUMB_ROUND_NEAREST_EVEN, INFINITY},
        {PLUMB_BF16, 0x1.ffp127, PLUMB_ROUND_NEAREST_EVEN, INFINITY},
        {PLUMB_F32, 1e300, PLUMB_ROUND_NEAREST_AWAY, INFINITY},
        {PLUMB_HIF8, 40960, PLUMB_ROUND_NEAREST_EVEN, 32768},
        {PLUMB_HIF8, 40960, PLUMB_ROUND_NEAREST_AWAY, INFINITY},
        {PLUMB_HIF8, 1e9, PLUMB_ROUND_TO_ZERO, 32768},
        {PLUMB_HIF8, 0x1p-23, PLUMB_ROUND_NEAREST_AWAY, 0x1p-22},
        {PLUMB_HIF8, 0x1p-23, PLUMB_ROUND_NEAREST_EVEN, 0},
        {PLUMB_F32, 0x1p-151, PLUMB_ROUND_UP, 0x1p-149},
        {PLUMB_F32, 0x1p-1074, PLUMB_ROUND_TO_ODD, 0x1p-149},
        {PLUMB_F32, 0x1p-150, PLUMB_ROUND_NEAREST_EVEN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t bits =
            plumb_round_to_bits(cases[i].dtype, cases[i].value, cases[i].round);
        assert_true(value_of_bits(cases[i].dtype, bits) == cases[i].wanted);
    }
    assert_int_equal(plumb_round_to_bits(PLUMB_HIF8, -0.0, PLUMB_ROUND_NEAREST_EVEN), 0);
    assert_int_equal(plumb_round_to_bits(PLUMB_F16, -0.0, PLUMB_ROUND_UP), 0x8000);
}

static void test_hif8_values(void **unused)
{
    (void)unused;
    static const struct {
        uint8_t code;
        double value;
    } cases[] = {
        {0x00, 0},         {0x08, 1},       {0x09, 1.125},   {0x0f, 1.875},   {0x10, 2},
        {0x18, 0.5},       {0x20, 4},       {0x28, 8},       {0x30, 0.25},    {0x40, 16},
        {0x4f, 224},       {0x50, 0x1p-4},  {0x60, 256},     {0x6e, 32768},   {0x6f, INFINITY},
        {0x70, 0x1p-8},    {0x7e, 0x1p-15}, {0x01, 0x1p-22}, {0x07, 0x1p-16}, {0x88, -1},
        {0xef, -INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(plumb_float8_values(PLUMB_HIF8)[cases[i].code] == cases[i].value);
    assert_true(isnan(plumb_float8_values(PLUMB_HIF8)[0x80]));
}

/* f64 to f32 is the compiler's cast; f32 to f16 and bf16 have straight loops. */
static void test_straight_loops(void **unused)
{
    (void)unused;
    for (int i = 0; i < 400000; i++) {
        uint32_t bits = (uint32_t)next_random();
        if (i & 1) /* near the range of f16, with many ties */
            bits = (bits & 0x8000ffffU & ~(i & 2 ? 0xfffU : 0U)) |
                   (0x33000000U + (uint32_t)(next_random() % 0x15000000U));
        float value;
        memcpy(&value, &bits, sizeof value);
        uint16_t half[4] = {0};
        plumb_kernel_scalar()->f16_from_f32(&value, 1, &half[0]);
        plumb_kernel()->f16_from_f32(&value, 1, &half[1]);
        half[2] =
            (uint16_t)plumb_round_to_bits(PLUMB_F16, (double)value, PLUMB_ROUND_NEAREST_EVEN);
        assert_int_equal(half[0], half[1]);
        assert_int_equal(half[0], half[2]);
        uint16_t brain;
        assert_int_equal(plumb_convert_values(PLUMB_F32, &value, PLUMB_BF16, &brain, 1,
                                              PLUMB_ROUND_NEAREST_EVEN, NULL),
                         PLUMB_OK);
        half[3] =
            (uint16_t)plumb_round_to_bits(PLUMB_BF16, (double)value, PLUMB_ROUND_NEAREST_EVEN);
        assert_int_equal(brain, half[3]);
        uint64_t wide_bits = next_random();
        if (i & 4)
            wide_bits =
                (wide_bits & 0x800fffffe0000000) | ((897ULL + next_random() % 250) << 52);
        double wide;
        memcpy(&wide, &wide_bits, sizeof wide);
        const float narrow = (float)wide;
        const uint32_t got =
            (uint32_t)plumb_round_to_bits(PLUMB_F32, wide, PLUMB_ROUND_NEAREST_EVEN);
        assert_memory_equal(&got, &narrow, sizeof got);
    }
}

/* All 65536 halves, and tails that do not fill a register. */
static void test_widening_halves(void **unused)
{
    (void)unused;
    enum { ALL = 65536 };
    uint16_t *codes = malloc(ALL * sizeof *codes);
    uint32_t *one = malloc(ALL * sizeof *one), *two = malloc(ALL * sizeof *two);
    for (unsigned i = 0; i < ALL; i++)
        codes[i] = (uint16_t)i;
    plumb_kernel_scalar()->f32_from_f16(codes, ALL, one);
    for (size_t n = ALL - 9; n <= ALL; n++) {
        memset(two, 0, ALL * sizeof *two);
        plumb_kernel()->f32_from_f16(codes, n, two);
        for (size_t i = 0; i < n; i++) {
            float x, y;
            memcpy(&x, &one[i], 4);
            memcpy(&y, &two[i], 4);
            assert_true(one[i] == two[i] || (isnan(x) && isnan(y)));
        }
    }
    free(codes);
    free(one);
    free(two);
}

static double convert_one(enum plumb_dtype from, const void *value, enum plumb_dtype to,
                          enum plumb_round round)
{
    uint64_t bits = 0;
    double result;
    assert_int_equal(plumb_convert_values(from, value, to, &bits, 1, round, NULL), PLUMB_OK);
    plumb_widen(to, &bits, 1, &result);
    return result;
}

static void test_integers(void **unused)
{
    (void)unused;
    static const struct {
        double from;
        enum plumb_dtype to;
        enum plumb_round round;
        double wanted;
    } cases[] = {
        {2.5, PLUMB_I32, PLUMB_ROUND_NEAREST_EVEN, 2},
        {2.5, PLUMB_I32, PLUMB_ROUND_NEAREST_AWAY, 3},
        {-2.5, PLUMB_I32, PLUMB_ROUND_NEAREST_AWAY, -3},
        {2.25, PLUMB_I8, PLUMB_ROUND_TO_ODD, 3},
        {3.25, PLUMB_I8, PLUMB_ROUND_TO_ODD, 3},
        {-0.5, PLUMB_I8, PLUMB_ROUND_DOWN, -1},
        {0.25, PLUMB_U8, PLUMB_ROUND_UP, 1},
        {1000, PLUMB_I8, PLUMB_ROUND_UP, 127},
        {-1000, PLUMB_I8, PLUMB_ROUND_UP, -128},
        {-1, PLUMB_U16, PLUMB_ROUND_UP, 0},
        {1e300, PLUMB_U64, PLUMB_ROUND_UP, 0x1p64},
        {-1e300, PLUMB_I64, PLUMB_ROUND_UP, -0x1p63},
        {NAN, PLUMB_I32, PLUMB_ROUND_UP, 0},
        {NAN, PLUMB_BOOL, PLUMB_ROUND_UP, 1},
        {0.1, PLUMB_BOOL, PLUMB_ROUND_TO_ZERO, 1},
        {INFINITY, PLUMB_I16, PLUMB_ROUND_UP, 32767},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(convert_one(PLUMB_F64, &cases[i].from, cases[i].to, cases[i].round) ==
                    cases[i].wanted);
    const int64_t big = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1; /* above a tie of f32 */
    assert_true(convert_one(PLUMB_I64, &big, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN) ==
                0x1p62 + 0x1p39);
    assert_true(convert_one(PLUMB_I64, &big, PLUMB_F32, PLUMB_ROUND_TO_ZERO) == 0x1p62);
    const uint64_t all = UINT64_MAX;
    assert_true(convert_one(PLUMB_U64, &all, PLUMB_F64, PLUMB_ROUND_TO_ZERO) ==
                0x1.fffffffffffffp63);
    assert_true(convert_one(PLUMB_U64, &all, PLUMB_I64, PLUMB_ROUND_TO_ZERO) == 0x1p63);
    const int8_t minus = -5;
    assert_true(convert_one(PLUMB_I8, &minus, PLUMB_I64, PLUMB_ROUND_UP) == -5);
    assert_true(convert_one(PLUMB_I8, &minus, PLUMB_U32, PLUMB_ROUND_UP) == 0);
}

static void test_complex(void **unused)
{
    (void)unused;
    const double from[4] = {1.5, -2, 1e300, 0.1};
    float parts[4];
    assert_int_equal(
        plumb_convert_values(PLUMB_C128, from, PLUMB_C64, parts, 2, PLUMB_ROUND_TO_ZERO, NULL),
        PLUMB_OK);
    assert_true(parts[0] == 1.5F && parts[1] == -2 && parts[2] == 0x1.fffffep127F);
    assert_true(parts[3] < 0.1F);
    assert_int_equal(
        plumb_convert_values(PLUMB_F64, from, PLUMB_C64, parts, 2, PLUMB_ROUND_TO_ZERO, NULL),
        PLUMB_OK);
    assert_true(parts[0] == 1.5F && parts[1] == 0 && parts[2] == -2 && parts[3] == 0);
    struct plumb_error err;
    assert_int_equal(
        plumb_convert_values(PLUMB_C64, parts, PLUMB_F32, parts, 1, PLUMB_ROUND_UP, &err),
        PLUMB_INVALID);
}

/* No pair of types reads or writes outside, whatever the count. */
static void test_every_pair(void **unused)
{
    (void)unused;
    for (unsigned f = 0; f < PLUMB_DTYPE_COUNT; f++) {
        for (unsigned t = 0; t < PLUMB_DTYPE_COUNT; t++) {
            const enum plumb_dtype from = (enum plumb_dtype)f, to = (enum plumb_dtype)t;
            if (plumb_dtype_is_complex(from) && !plumb_dtype_is_complex(to))
                continue;
            for (size_t n = 0; n < 1100; n += n < 20 ? 1 : 523) {
                unsigned char *in = malloc(n * plumb_dtype_size(from) + 1);
                unsigned char *out = malloc(n * plumb_dtype_size(to) + 1);
                for (size_t i = 0; i < n * plumb_dtype_size(from) + 1; i++)
                    in[i] = (unsigned char)next_random();
                assert_int_equal(plumb_convert_values(from, in + 1, to, out + 1, n,
                                                      (enum plumb_round)(n % 6), NULL),
                                 PLUMB_OK);
                free(in);
                free(out);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_hif8_values),
        cmocka_unit_test(test_straight_loops),
        cmocka_unit_test(test_widening_halves),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_complex),
        cmocka_unit_test(test_every_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
