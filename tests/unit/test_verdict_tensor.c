/* test_verdict_tensor.c - tensors of files: complex numbers, other dtypes, strides, no memory. */
#include "unit/scratch.h"
#include "unit/verdict_lab.h"

#include "base/memory.h"

enum { ROWS = 40, COLUMNS = 60, COUNT = ROWS * COLUMNS };
static const int64_t shape[] = {ROWS, COLUMNS};

/* Writes two arrays to a file of tensors "a" and "b" and has them judged. */
static struct plumb_judgement judge_file(enum plumb_dtype dtype_a, const void *a,
                                         enum plumb_dtype dtype_b, const void *b,
                                         struct plumb_comparison *comparison)
{
    struct scratch scratch;
    struct plumb_error err = {.message = ""};
    struct plumb_file *file = NULL;
    struct plumb_judgement judgement = {.verdict = PLUMB_DIFFERENT};
    const struct plumb_value values[] = {
        {.name = "a", .dtype = dtype_a, .rank = 2, .shape = shape, .data = a},
        {.name = "b", .dtype = dtype_b, .rank = 2, .shape = shape, .data = b}};
    char path[128];
    scratch_open(&scratch);
    (void)snprintf(path, sizeof path, "%s/pair.npz", scratch.root);
    if (plumb_write_file(path, NULL, values, 2, &err) ||
        plumb_file_open(path, NULL, &file, &err) ||
        plumb_tensor_judge(plumb_file_find(file, "a"), plumb_file_find(file, "b"), NULL,
                           comparison, &judgement, &err))
        fail_msg("%s", err.message);
    plumb_file_close(file);
    scratch_close(&scratch);
    return judgement;
}

static void fill(float *values, size_t count)
{
    struct random_state r = {11};
    for (size_t i = 0; i < count; i++)
        values[i] = (float)random_normal(&r);
}

static void test_complex(void **state)
{
    (void)state;
    static float a[2 * COUNT], b[2 * COUNT];
    struct plumb_comparison c;
    fill(a, 2 * COUNT);
    memcpy(b, a, sizeof b);
    expect(judge_file(PLUMB_C64, a, PLUMB_C64, b, &c), PLUMB_IDENTICAL, PLUMB_PATTERN_NONE,
           "complex", 0);
    b[2 * (3 * COLUMNS + 7) + 1] += 1; /* the imaginary part of [3, 7] */
    struct plumb_judgement got = judge_file(PLUMB_C64, a, PLUMB_C64, b, &c);
    expect(got, PLUMB_DIFFERENT, PLUMB_PATTERN_FEW_ELEMENTS, "one part", 0);
    assert_non_null(strstr(got.reason, "[3, 7, 1]"));
    memcpy(b, a, sizeof b);
    for (size_t i = 1; i < 2 * COUNT; i += 2)
        b[i] = -a[i];
    got = judge_file(PLUMB_C64, a, PLUMB_C64, b, &c);
    expect(got, PLUMB_DIFFERENT, PLUMB_PATTERN_SLICE, "conjugate", 0);
    assert_non_null(strstr(got.reason, "-1 times A"));
}

static void test_complex_against_real(void **state)
{
    (void)state;
    static float a[2 * COUNT];
    struct plumb_comparison c;
    fill(a, 2 * COUNT);
    assert_int_equal(judge_file(PLUMB_C64, a, PLUMB_F32, a, &c).verdict, PLUMB_DIFFERENT);
}

static void test_other_dtypes(void **state)
{
    (void)state;
    static float a[COUNT];
    static double wide[COUNT];
    static int32_t whole[COUNT];
    struct plumb_comparison c;
    fill(a, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        wide[i] = (double)a[i];
    expect(judge_file(PLUMB_F32, a, PLUMB_F64, wide, &c), PLUMB_IDENTICAL, PLUMB_PATTERN_NONE,
           "f32 and f64", 0);
    for (size_t i = 0; i < COUNT; i++)
        whole[i] = (int32_t)(a[i] = truncf(20 * a[i]));
    expect(judge_file(PLUMB_F32, a, PLUMB_I32, whole, &c), PLUMB_IDENTICAL, PLUMB_PATTERN_NONE,
           "f32 and i32", 0);
    whole[100] += 1;
    assert_int_equal(judge_file(PLUMB_F32, a, PLUMB_I32, whole, &c).verdict, PLUMB_DIFFERENT);
}

/* Each allocation of a judgement fails in turn; all are reported and none leaks. */
static void test_without_memory(void **state)
{
    (void)state;
    static double a[COUNT], b[COUNT];
    struct random_state r = {6};
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = random_normal(&r);
        b[i] = i % 2 ? a[i] * 1.001 + 0.001 * random_normal(&r) : a[i];
    }
    struct lab_tensor x, y;
    lab_store(&x, PLUMB_F32, PLUMB_ROUND_NEAREST_EVEN, 2, shape, a);
    lab_store(&y, PLUMB_BF16, PLUMB_ROUND_NEAREST_EVEN, 2, shape, b);
    struct plumb_comparison comparison;
    struct plumb_operand p, q;
    plumb_values_compare(x.dtype, x.raw, y.dtype, y.raw, x.count, 0, 0, &comparison);
    plumb_operand_of_array(&p, x.dtype, x.rank, x.shape, x.raw);
    plumb_operand_of_array(&q, y.dtype, y.rank, y.shape, y.raw);
    size_t failures = 0;
    enum plumb_status status = PLUMB_NO_MEMORY;
    for (size_t n = 1; status && n < 100; n++) {
        struct plumb_judgement judgement;
        struct plumb_error err = {.message = ""};
        (void)plumb_memory_fail_at(n);
        status = plumb_judge_pair(&p, &q, &comparison, NULL, &judgement, &err);
        (void)plumb_memory_fail_at(0);
        failures += status != PLUMB_OK;
        assert_true(status == PLUMB_OK || status == PLUMB_NO_MEMORY);
    }
    assert_int_equal(status, PLUMB_OK);
    assert_true(failures >= 5);
    lab_free(&x);
    lab_free(&y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complex),
        cmocka_unit_test(test_complex_against_real),
        cmocka_unit_test(test_other_dtypes),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
