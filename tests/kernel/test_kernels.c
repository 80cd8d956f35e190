/*
 * test_kernels.c - the vector kernels against the scalar reference, bit for bit.
 *
 * Block kernels are called side by side. What the library makes of them (statistics,
 * comparisons, fingerprints of every type) is computed by two child processes, one for each
 * variant, into shared memory. Data end at a page that may not be touched, and begin at odd
 * addresses.
 */
#include "kernel/kernel.h"
#include "kernel/kernel_lanes.h"
#include "model/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGE = 4096, ROOM = 256 * PAGE };
enum sort { ORDINARY, CLOSE, TINY, HUGE_ONES, SPRINKLED, SPARSE, ANY_BITS, SORTS };

static uint64_t state;

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

/* Memory whose last byte is followed by a page that faults. */
static unsigned char *guarded(void)
{
    unsigned char *memory =
        mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + ROOM, PAGE, PROT_NONE), 0);
    return memory + ROOM;
}

static double draw(enum plumb_dtype part, enum sort sort, double reference)
{
    const double top = plumb_dtype_max(part);
    switch (sort) {
    case CLOSE:
        return reference * (1 + (uniform() - 0.5) * pow(10, -8 * uniform()));
    case TINY:
        return (uniform() - 0.5) * 8 * plumb_dtype_min_normal(part);
    case HUGE_ONES:
        return (uniform() - 0.5) * 1.99 * top;
    case SPRINKLED:
        if (next_random() % 40 == 0)
            return next_random() % 3 ? copysign((double)INFINITY, uniform() - 0.5)
                                     : (double)NAN;
        break;
    case SPARSE:
        if (next_random() % 2)
            return next_random() % 2 ? 0.0 : -0.0;
        break;
    case ORDINARY:
    case ANY_BITS:
    case SORTS:
        break;
    }
    return (uniform() - 0.5) * (plumb_dtype_is_float(part) ? 4 : 250);
}

static void fill(enum plumb_dtype dtype, unsigned char *to, const unsigned char *near,
                 size_t count, enum sort sort)
{
    const enum plumb_dtype part = plumb_dtype_part(dtype);
    const size_t size = plumb_dtype_size(part);
    for (size_t i = 0; i < count * (size_t)plumb_dtype_parts(dtype); i++) {
        double reference = uniform();
        if (near)
            (void)plumb_convert_values(part, near + i * size, PLUMB_F64, &reference, 1,
                                       PLUMB_ROUND_NEAREST_EVEN, NULL);
        const double value = draw(part, sort, reference);
        const uint64_t bits = next_random();
        if (sort == ANY_BITS)
            memcpy(to + i * size, &bits, size);
        else
            (void)plumb_convert_values(PLUMB_F64, &value, part, to + i * size, 1,
                                       PLUMB_ROUND_NEAREST_EVEN, NULL);
    }
}

/* ---- block kernels side by side ------------------------------------------------------- */

static void compare_bits(const struct plumb_kernel *one, const struct plumb_kernel *two,
                         enum plumb_dtype direct, const void *a, const void *b, size_t n)
{
    uint16_t index[2][PLUMB_BLOCK + 64];
    const size_t size = plumb_dtype_size(direct);
    struct plumb_block_norm norm[2];
    struct plumb_block_sums sums;
    one->norm(direct, a, n, &norm[0]);
    two->norm(direct, a, n, &norm[1]);
    one->sums(direct, a, n, 0, &sums);
    if (isfinite(norm[0].square)) {
        assert_memory_equal(&norm[0], &norm[1], sizeof norm[0]);
        assert_memory_equal(&norm[0].square, &sums.square, sizeof sums.square);
    } else {
        assert_true(!isfinite(norm[1].square));
    }
    for (size_t most = 0; most <= n; most += n / 4 + 1) {
        const size_t found = one->unequal(size, a, b, n, most, index[0]);
        const size_t again = two->unequal(size, a, b, n, most, index[1]);
        if (found <= most) {
            assert_int_equal(found, again);
            assert_memory_equal(index[0], index[1], found * sizeof *index[0]);
        } else {
            assert_true(again > most);
        }
    }
}

/* Sums in two pieces are the sums of the whole; and with what is not finite left out, both variants agree
 * whatever there is. */
static void compare_pieces(const struct plumb_kernel *one, const struct plumb_kernel *two,
                           enum plumb_dtype direct, const unsigned char *a, size_t n)
{
    const size_t first = n / 2 / 8 * 8;
    for (int centred = 0; centred < 2; centred++) {
        const double pivot = centred ? 0.25 : 0;
        struct plumb_sum_lanes lanes[2];
        struct plumb_block_sums whole, finite[2];
        struct plumb_block_special special[2];
        one->sums(direct, a, n, pivot, &whole);
        memset(lanes, 0, sizeof lanes);
        sum_lanes_clear(&lanes[0]);
        sum_lanes_clear(&lanes[1]);
        for (int variant = 0; variant < 2; variant++) {
            const struct plumb_kernel *kernel = variant ? two : one;
            kernel->add_sums(direct, a, first, pivot, &lanes[variant]);
            kernel->add_sums(direct, a + first * plumb_dtype_size(direct), n - first, pivot,
                             &lanes[variant]);
        }
        if (isfinite(whole.absolute)) {
            struct plumb_block_sums folded;
            assert_memory_equal(&lanes[0], &lanes[1], sizeof lanes[0]);
            sum_lanes_fold(&lanes[1], &folded);
            assert_memory_equal(&folded, &whole, sizeof whole);
        }
        if (direct == PLUMB_F64)
            continue;
        one->finite_sums(direct, a, n, pivot, &finite[0], &special[0]);
        two->finite_sums(direct, a, n, pivot, &finite[1], &special[1]);
        assert_memory_equal(&finite[0], &finite[1], sizeof finite[0]);
        assert_memory_equal(&special[0], &special[1], sizeof special[0]);
        if (isfinite(whole.absolute))
            assert_memory_equal(&finite[1], &whole, sizeof whole);
    }
}

static void compare_block(enum plumb_dtype direct, const void *a, const void *b, size_t n)
{
    const struct plumb_kernel *one = plumb_kernel_scalar(), *two = plumb_kernel_avx2();
    struct plumb_block_sums sums[2];
    one->sums(direct, a, n, 0.25, &sums[0]);
    two->sums(direct, a, n, 0.25, &sums[1]);
    if (isfinite(sums[0].absolute))
        assert_memory_equal(&sums[0], &sums[1], sizeof sums[0]);
    else
        assert_true(!isfinite(sums[1].absolute));
    compare_pieces(one, two, direct, a, n);
    struct plumb_block_counts counts[2];
    one->counts(direct, a, n, 0x1p-14, 1.5, &counts[0]);
    two->counts(direct, a, n, 0x1p-14, 1.5, &counts[1]);
    assert_memory_equal(&counts[0], &counts[1], sizeof counts[0]);
    static const double tolerance[] = {1e-5, 1e-8};
    struct plumb_block_pair pair[2];
    for (int brief = 0; brief < 2; brief++) {
        one->pair(direct, a, b, n, brief ? NULL : tolerance, &pair[0]);
        two->pair(direct, a, b, n, brief ? NULL : tolerance, &pair[1]);
        if (isfinite(pair[0].d_absolute) && isfinite(pair[0].a_square))
            assert_memory_equal(&pair[0], &pair[1], sizeof pair[0]);
    }
    compare_bits(one, two, direct, a, b, n);
    double products[4];
    one->products(direct, a, b, n, &products[0], &products[1]);
    two->products(direct, a, b, n, &products[2], &products[3]);
    if (isfinite(products[0]) && isfinite(products[1]))
        assert_memory_equal(&products[0], &products[2], 2 * sizeof products[0]);
    struct plumb_block_ulp ulp[2];
    const int bits = 8 * (int)plumb_dtype_size(direct);
    one->ulp(bits, a, b, n, &ulp[0]);
    two->ulp(bits, a, b, n, &ulp[1]);
    assert_memory_equal(&ulp[0], &ulp[1], sizeof ulp[0]);
}

static void test_blocks(void **unused)
{
    (void)unused;
    if (!plumb_kernel_avx2())
        skip();
    unsigned char *end_a = guarded(), *end_b = guarded();
    state = 88172645463325252U;
    for (unsigned d = PLUMB_F64; d <= PLUMB_BF16; d++) {
        const enum plumb_dtype direct = (enum plumb_dtype)d;
        const size_t size = plumb_dtype_size(direct);
        for (size_t n = 0; n <= PLUMB_BLOCK; n = n < 200                ? n + 1
                                                 : n < PLUMB_BLOCK - 24 ? PLUMB_BLOCK - 24
                                                                        : n + 1) {
            for (unsigned s = 0; s < SORTS - 1; s++) {
                const size_t odd = next_random() % 3;
                unsigned char *a = end_a - n * size - odd, *b = end_b - n * size;
                fill(direct, a, NULL, n, (enum sort)s);
                fill(direct, b, a, n, next_random() % 2 ? CLOSE : (enum sort)s);
                compare_block(direct, a, b, n);
            }
        }
    }
}

static void fill_keys(struct plumb_print_keys *keys)
{
    for (size_t i = 0; i < PLUMB_FINGERPRINT_WORDS; i++)
        keys->word[i] = (uint32_t)next_random();
}

static void test_fingerprint_blocks(void **unused)
{
    (void)unused;
    if (!plumb_kernel_avx2())
        skip();
    unsigned char *end = guarded();
    struct plumb_print_keys keys;
    fill_keys(&keys);
    for (size_t n = 0; n <= PLUMB_FINGERPRINT_WORDS; n++) {
        unsigned char *words = end - 4 * n - n % 3;
        fill(PLUMB_U32, words, NULL, n, ANY_BITS);
        const size_t first = next_random() % (PLUMB_FINGERPRINT_WORDS - n + 1) / 2 * 2;
        assert_true(plumb_kernel_scalar()->fingerprint(words, n, &keys, first) ==
                    plumb_kernel_avx2()->fingerprint(words, n, &keys, first));
    }
}

/* What was computed in one go is what it is one after the other. */
static void check_printed(const unsigned char *values, size_t n, double pivot,
                          const struct plumb_print_keys *keys,
                          const struct plumb_kernel *kernel, bool zeros)
{
    struct plumb_block_sums apart, sums;
    struct plumb_block_counts counts;
    uint64_t prints[PLUMB_BLOCK_PRINTS], zero = 0;
    plumb_kernel_scalar()->sums(PLUMB_F32, values, n, pivot, &apart);
    plumb_kernel_scalar()->counts(PLUMB_F32, values, n, 0, 1, &counts);
    kernel->sums_printed(values, n, pivot, keys, &sums, prints, zeros ? &zero : NULL);
    if (zeros) {
        assert_int_equal(zero, counts.zero);
        assert_true(sums.min_absolute > 0);
        assert_true(counts.zero || sums.min_absolute == apart.min_absolute);
        assert_true(isinf(sums.min_absolute) == (counts.zero == n));
        apart.min_absolute = sums.min_absolute;
    }
    assert_memory_equal(&apart, &sums, sizeof apart);
    for (size_t at = 0, words, k = 0; at < n; at += words, k++) {
        words = n - at < PLUMB_FINGERPRINT_WORDS ? n - at : PLUMB_FINGERPRINT_WORDS;
        assert_true(prints[k] ==
                    plumb_kernel_scalar()->fingerprint(values + 4 * at, words, keys, 0));
    }
}

static void test_printed_sums(void **unused)
{
    (void)unused;
    unsigned char *end = guarded();
    struct plumb_print_keys keys;
    fill_keys(&keys);
    for (size_t n = 0; n <= PLUMB_BLOCK; n += n < 1100 ? 1 : 1 + next_random() % 40) {
        unsigned char *values = end - 4 * n - n % 3;
        fill(PLUMB_F32, values, NULL, n, n % 2 ? ORDINARY : SPARSE);
        if (n % 37 == 0)
            memset(values, 0, 4 * n);
        const double pivot = n % 4 < 2 ? 0 : 0.25;
        for (int zeros = 0; zeros < 2; zeros++) {
            check_printed(values, n, pivot, &keys, plumb_kernel_scalar(), zeros);
            if (plumb_kernel_avx2())
                check_printed(values, n, pivot, &keys, plumb_kernel_avx2(), zeros);
        }
        struct plumb_block_sums sums[2];
        uint64_t prints[PLUMB_BLOCK_PRINTS], zero[2];
        if (!plumb_kernel_avx2())
            continue;
        plumb_kernel_scalar()->sums_printed(values, n, pivot, &keys, &sums[0], prints,
                                            &zero[0]);
        plumb_kernel_avx2()->sums_printed(values, n, pivot, &keys, &sums[1], prints, &zero[1]);
        assert_memory_equal(&sums[0], &sums[1], sizeof sums[0]);
    }
}

/* Each group's lanes in single precision: what they may be off is a rounding for each of 32 additions. */
static void check_quick(const unsigned char *values, size_t n, float pivot,
                        const struct plumb_print_keys *keys, const struct plumb_kernel *kernel,
                        bool zeros)
{
    struct plumb_block_sums exact, sums, apart;
    uint64_t prints[PLUMB_BLOCK_PRINTS], wanted[PLUMB_BLOCK_PRINTS], zero = 0, wanted_zero = 0;
    uint64_t *count = zeros ? &zero : NULL;
    plumb_kernel_scalar()->sums_printed(values, n, (double)pivot, keys, &exact, wanted,
                                        zeros ? &wanted_zero : NULL);
    kernel->quick_sums(values, n, pivot, keys, &sums, prints, count);
    assert_memory_equal(prints, wanted, n / PLUMB_FINGERPRINT_WORDS * sizeof *prints);
    assert_int_equal(zero, wanted_zero);
    kernel->quick_sums(values, n, pivot, NULL, &apart, NULL, count);
    assert_memory_equal(&sums, &apart, sizeof sums);
    assert_int_equal(zero, wanted_zero);
    if (!zeros) { /* all finite: nothing to pass over */
        struct plumb_block_special special;
        kernel->quick_finite_sums(values, n, pivot, keys, &apart, prints, &special);
        assert_memory_equal(&sums, &apart, sizeof sums);
        assert_memory_equal(prints, wanted, n / PLUMB_FINGERPRINT_WORDS * sizeof *prints);
        assert_int_equal(special.nan + special.pos_inf + special.neg_inf, 0);
    }
    assert_true(sums.min == exact.min && sums.max == exact.max);
    assert_true(sums.min_absolute == exact.min_absolute);
    if (isfinite(exact.square)) {
        const double distance = exact.absolute + fabs((double)pivot) * (double)n;
        const double unit = 33 * 0x1p-24;
        assert_true(fabs(sums.sum - exact.sum) <= unit * distance);
        assert_true(fabs(sums.square - exact.square) <= (unit + 0x1p-22) * exact.square);
        assert_true(fabs(sums.absolute - exact.absolute) <= unit * exact.absolute);
    } else {
        assert_true(!isfinite(sums.square));
    }
}

/* As the reference, which is checked on the way. */
static void compare_quick(const unsigned char *values, size_t n, float pivot,
                          const struct plumb_print_keys *keys,
                          const struct plumb_kernel *kernel, bool zeros)
{
    struct plumb_block_sums sums[2];
    uint64_t zero[2] = {0, 0};
    check_quick(values, n, pivot, keys, kernel, zeros);
    plumb_kernel_scalar()->quick_sums(values, n, pivot, NULL, &sums[0], NULL,
                                      zeros ? &zero[0] : NULL);
    kernel->quick_sums(values, n, pivot, NULL, &sums[1], NULL, zeros ? &zero[1] : NULL);
    assert_memory_equal(&sums[0], &sums[1], sizeof sums[0]);
    assert_int_equal(zero[0], zero[1]);
}

/* So far apart that it matters in which order groups are added up: of two small ones and a large one the small
 * ones come first, and lose their last digits together or one by one. */
static void set_pieces_apart(unsigned char *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float value;
        memcpy(&value, values + 4 * i, sizeof value);
        value = ldexpf(value, i / PLUMB_FINGERPRINT_WORDS % 2 ? 14 : -14);
        memcpy(values + 4 * i, &value, sizeof value);
    }
}

static void test_quick_sums(void **unused)
{
    (void)unused;
    const struct plumb_kernel *const kernels[] = {plumb_kernel_scalar(), plumb_kernel_avx2(),
                                                  plumb_kernel_avx512()};
    unsigned char *end = guarded();
    struct plumb_print_keys keys;
    fill_keys(&keys);
    for (unsigned round = 0; round < 200; round++) {
        const size_t n = PLUMB_FINGERPRINT_WORDS * (1 + next_random() % PLUMB_BLOCK_PRINTS);
        unsigned char *values = end - 4 * n - round % 3;
        fill(PLUMB_F32, values, NULL, n, round % 2 ? ORDINARY : SPARSE);
        if (round % 37 == 0)
            memset(values, 0, 4 * n);
        if (round % 3 == 0)
            set_pieces_apart(values, n);
        const float pivot = round % 4 < 2 ? 0 : 0.25F;
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
            for (int zeros = 0; zeros < 2 && kernels[k]; zeros++)
                compare_quick(values, n, pivot, &keys, kernels[k], zeros);
    }
}

/* ---- the library on top of them ------------------------------------------------------- */

struct result {
    struct plumb_stats stats;
    struct plumb_comparison comparison;
    uint64_t fingerprint;
    struct plumb_summary quick;
};

enum { LENGTHS = 30, RESULTS = PLUMB_DTYPE_COUNT * SORTS * LENGTHS };

static size_t length_of(size_t i)
{
    static const size_t longer[] = {1023, 1024,  1025,  2047,  4095, 4096,
                                    4097, 12288, 12513, 16384, 20513};
    const size_t first = LENGTHS - sizeof longer / sizeof *longer;
    return i < first ? i * i * 200 / (first * first) : longer[i - first];
}

static void compute(const char *variant, struct result *results)
{
    setenv("PLUMB_CPU", variant, 1);
    if (strcmp(plumb_cpu(), variant) != 0)
        _exit(1);
    unsigned char *end_a = guarded(), *end_b = guarded();
    state = 88172645463325252U;
    for (unsigned d = 0; d < PLUMB_DTYPE_COUNT; d++) {
        const enum plumb_dtype dtype = (enum plumb_dtype)d;
        for (unsigned s = 0; s < SORTS; s++) {
            for (size_t l = 0; l < LENGTHS; l++, results++) {
                const size_t n = length_of(l), bytes = n * plumb_dtype_size(dtype);
                unsigned char *a = end_a - bytes - next_random() % 2, *b = end_b - bytes;
                fill(dtype, a, NULL, n, (enum sort)s);
                fill(dtype, b, a, n, next_random() % 2 ? CLOSE : (enum sort)s);
                plumb_values_stats(dtype, a, n, &results->stats);
                plumb_values_compare(dtype, a, dtype, b, n, 0, 0, &results->comparison);
                results->fingerprint = plumb_values_fingerprint(dtype, a, n);
                plumb_values_summarize(dtype, a, n,
                                       PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_FINGERPRINT |
                                           PLUMB_SUMMARY_QUICK,
                                       &results->quick);
            }
        }
    }
    _exit(0);
}

static bool is_near(double value, double exact, double unit)
{
    return value == exact || fabs(value - exact) <= 2e-6 * unit;
}

/* Quick statistics are nearly the exact ones, whatever the values; all that is counted is the same. */
static void check_quick_stats(const struct result *result)
{
    struct plumb_stats exact = result->stats, quick = result->quick.stats;
    assert_true(result->quick.fingerprint == result->fingerprint);
    if (exact.count > exact.nan + exact.pos_inf + exact.neg_inf) {
        assert_true(is_near(quick.mean, exact.mean, exact.abs_mean));
        assert_true(is_near(quick.abs_mean, exact.abs_mean, exact.abs_mean));
        assert_true(is_near(quick.std, exact.std, exact.l2 / sqrt((double)exact.count)));
        assert_true(is_near(quick.l2, exact.l2, exact.l2));
    }
    quick.mean = exact.mean;
    quick.abs_mean = exact.abs_mean;
    quick.std = exact.std;
    quick.l2 = exact.l2;
    assert_memory_equal(&quick, &exact, sizeof exact);
}

static void test_library(void **unused)
{
    (void)unused;
    if (!plumb_kernel_avx2())
        skip();
    static const char *const variants[] = {"scalar", "avx2", "avx512"};
    const int count = plumb_kernel_avx512() ? 3 : 2;
    const size_t size = (size_t)count * RESULTS * sizeof(struct result);
    struct result *results =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(results != MAP_FAILED);
    for (int v = 0; v < count; v++) {
        int status = 1;
        const pid_t child = fork();
        if (child == 0)
            compute(variants[v], results + v * RESULTS);
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        assert_int_equal(status, 0);
    }
    for (size_t i = 0; i < RESULTS; i++)
        check_quick_stats(&results[i]);
    for (int v = 1; v < count; v++)
        for (size_t i = 0; i < RESULTS; i++)
            assert_memory_equal(&results[i], &results[(size_t)v * RESULTS + i],
                                sizeof *results);
    assert_int_equal(munmap(results, size), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library), /* first: its children choose their own kernels */
        cmocka_unit_test(test_blocks),       cmocka_unit_test(test_fingerprint_blocks),
        cmocka_unit_test(test_printed_sums), cmocka_unit_test(test_quick_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
