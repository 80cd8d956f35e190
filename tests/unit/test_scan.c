/* test_scan.c - passes over tensors of a file: the same bits for any number of threads as for
 * the values in memory, checksums on the way, the block map, and stopping. */
#include "base/crc32.h"
#include "model/file.h"
#include "model/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LARGE = 600000, SMALL = 40, TENSORS = SMALL + 2, WIDTH = 300 };

/* A file in memory: SMALL small tensors, a large one, and a transposed view of a part of it. */
struct sample {
    float *values; /* of the large tensor */
    float small[SMALL * SMALL];
    struct plumb_file *file;
    struct plumb_summary summaries[TENSORS];
};

static uint64_t state = 88172645463325252ULL;

static float next_value(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (float)(state >> 40) * 0x1p-20F - 8;
}

static struct plumb_storage *add_storage(struct sample *sample, const void *bytes, size_t size,
                                         bool damaged)
{
    struct plumb_map *map;
    struct plumb_storage *storage;
    assert_int_equal(plumb_map_memory("sample", bytes, size, &map, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_own_map(sample->file, map, NULL), PLUMB_OK);
    assert_int_equal(
        plumb_file_add_storage(sample->file, map, 0, size, "piece", &storage, NULL), PLUMB_OK);
    storage->has_crc = true;
    storage->crc = plumb_crc32(0, bytes, size) ^ (damaged ? 1U : 0U);
    return storage;
}

static void add_tensor(struct sample *sample, const char *name, int rank, const int64_t *shape,
                       const int64_t *strides, const struct plumb_storage *storage,
                       uint64_t offset)
{
    const struct plumb_tensor_spec spec = {.name = name,
                                           .dtype = PLUMB_F32,
                                           .rank = rank,
                                           .shape = shape,
                                           .strides = strides,
                                           .storage = storage,
                                           .offset = offset};
    assert_int_equal(plumb_file_add_tensor(sample->file, &spec, NULL), PLUMB_OK);
}

/* `damage`: 1 spoils the checksum of the large storage, 2 that of the shared small one. */
static struct sample *make_sample(int damage)
{
    struct sample *sample = calloc(1, sizeof *sample);
    assert_non_null(sample);
    sample->values = malloc(LARGE * sizeof(float));
    assert_non_null(sample->values);
    for (int i = 0; i < LARGE; i++)
        sample->values[i] = next_value();
    for (int i = 0; i < SMALL * SMALL; i++)
        sample->small[i] = next_value();
    assert_int_equal(plumb_file_new("sample", &sample->file, NULL), PLUMB_OK);
    struct plumb_storage *small =
        add_storage(sample, sample->small, sizeof sample->small, damage == 2);
    for (int64_t i = 0; i < SMALL; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "small.%d", (int)i);
        add_tensor(sample, name, 1, &i, NULL, small, (uint64_t)i * SMALL * 4);
    }
    struct plumb_storage *large =
        add_storage(sample, sample->values, LARGE * sizeof(float), damage == 1);
    const int64_t shape[] = {LARGE};
    add_tensor(sample, "large", 1, shape, NULL, large, 0);
    const int64_t view[] = {WIDTH, WIDTH}, strides[] = {1, WIDTH};
    add_tensor(sample, "view", 2, view, strides, large, 0);
    return sample;
}

static void free_sample(struct sample *sample)
{
    plumb_file_close(sample->file);
    free(sample->values);
    free(sample);
}

static void summarize(struct sample *sample, int threads, enum plumb_status expected)
{
    const struct plumb_scan_options options = {.threads = threads};
    memset(sample->summaries, 0, sizeof sample->summaries);
    assert_int_equal(plumb_file_summarize(sample->file,
                                          PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_FINGERPRINT,
                                          &options, sample->summaries, NULL),
                     expected);
}

static void check_summary(const struct plumb_summary *got, const float *values, size_t count)
{
    struct plumb_stats stats;
    plumb_values_stats(PLUMB_F32, values, count, &stats);
    assert_memory_equal(&got->stats, &stats, sizeof stats);
    assert_true(got->fingerprint == plumb_values_fingerprint(PLUMB_F32, values, count));
}

static void test_threads_do_not_show(void **unused)
{
    (void)unused;
    struct sample *sample = make_sample(0);
    float *view = malloc(WIDTH * WIDTH * sizeof *view);
    for (int i = 0; i < WIDTH * WIDTH; i++)
        view[i] = sample->values[i % WIDTH * WIDTH + i / WIDTH];
    for (int threads = 1; threads <= 5; threads += 2) {
        summarize(sample, threads, PLUMB_OK);
        for (size_t i = 0; i < SMALL; i++)
            check_summary(&sample->summaries[i], sample->small + i * SMALL, i);
        check_summary(&sample->summaries[SMALL], sample->values, LARGE);
        check_summary(&sample->summaries[SMALL + 1], view, WIDTH * WIDTH);
    }
    assert_int_equal(plumb_file_warning_count(sample->file), 0);
    struct plumb_summary one;
    assert_int_equal(
        plumb_tensor_summarize(plumb_file_find(sample->file, "large"), 3, NULL, &one, NULL),
        PLUMB_OK);
    check_summary(&one, sample->values, LARGE);
    free(view);
    free_sample(sample);
}

static void test_checksums(void **unused)
{
    (void)unused;
    static const char *const named[] = {"'large'", "'small.0'"};
    for (int damage = 1; damage <= 2; damage++) {
        struct sample *sample = make_sample(damage);
        summarize(sample, 2, PLUMB_OK);
        assert_int_equal(plumb_file_warning_count(sample->file), 1);
        assert_non_null(strstr(plumb_file_warning(sample->file, 0), named[damage - 1]));
        free_sample(sample);
    }
}

static void test_comparison_and_map(void **unused)
{
    (void)unused;
    struct sample *one = make_sample(0), *two = make_sample(0);
    memcpy(two->values, one->values, LARGE * sizeof(float));
    static const int changed[] = {5, 4100, 4101, 300000, LARGE - 1};
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        two->values[changed[i]] += (float)(i + 1);
    const struct plumb_tensor *a = plumb_file_find(one->file, "large");
    const struct plumb_tensor *b = plumb_file_find(two->file, "large");
    struct plumb_comparison want, got;
    plumb_values_compare(PLUMB_F32, one->values, PLUMB_F32, two->values, LARGE, 0, 0, &want);
    assert_int_equal(want.count - want.equal, 5);
    assert_int_equal(want.first_index, 5);
    assert_int_equal(want.worst_index, LARGE - 1);
    for (int threads = 1; threads <= 3; threads++) {
        struct plumb_block_map *map;
        const struct plumb_compare_options options = {.scan = {.threads = threads}};
        assert_int_equal(plumb_block_map_new(LARGE, &map, NULL), PLUMB_OK);
        assert_int_equal(plumb_scan_compare(a, b, &options, &got, map, NULL), PLUMB_OK);
        assert_memory_equal(&got, &want, sizeof got);
        assert_int_equal(map->block, 4096);
        assert_int_equal(map->count, 147);
        uint32_t total = 0;
        for (size_t i = 0; i < map->count; i++)
            total += map->unequal[i];
        assert_int_equal(total, 5);
        assert_int_equal(map->unequal[0], 1);
        assert_int_equal(map->unequal[1], 2);
        assert_int_equal(map->unequal[300000 / 4096], 1);
        assert_int_equal(map->unequal[map->count - 1], 1);
        plumb_block_map_free(map);
    }
    struct plumb_error err;
    assert_int_equal(
        plumb_tensor_compare(a, plumb_file_find(two->file, "view"), NULL, &got, &err),
        PLUMB_INVALID);
    free_sample(one);
    free_sample(two);
}

static bool refuse(void *context, const char *what, uint64_t done, uint64_t total)
{
    int *calls = context;
    (*calls)++;
    assert_non_null(what);
    assert_true(done <= total);
    return false;
}

static void test_stopping(void **unused)
{
    (void)unused;
    struct sample *sample = make_sample(0);
    int calls = 0;
    const struct plumb_progress progress = {refuse, &calls};
    /* One thread: of two, the one that asks may find nothing left to do. */
    const struct plumb_compare_options options = {.scan = {1, &progress}};
    const struct plumb_tensor *large = plumb_file_find(sample->file, "large");
    struct plumb_comparison comparison;
    assert_int_equal(plumb_tensor_compare(large, large, &options, &comparison, NULL),
                     PLUMB_STOPPED);
    assert_int_equal(
        plumb_file_summarize(sample->file, 3, &options.scan, sample->summaries, NULL),
        PLUMB_STOPPED);
    assert_true(calls >= 2);
    free_sample(sample);
}

static void test_histogram(void **unused)
{
    (void)unused;
    struct sample *sample = make_sample(0);
    const float values[] = {1, 1.5F, -2, 0, 0x1p-149F, -0x1.8p-149F};
    memcpy(sample->small + SMALL * 6, values, sizeof values);
    static struct plumb_histogram histogram;
    assert_int_equal(
        plumb_tensor_histogram(plumb_file_find(sample->file, "small.6"), &histogram, NULL),
        PLUMB_OK);
    assert_int_equal(histogram.positive[0 - PLUMB_EXPONENT_MIN], 2);
    assert_int_equal(histogram.negative[1 - PLUMB_EXPONENT_MIN], 1);
    assert_int_equal(histogram.positive[-149 - PLUMB_EXPONENT_MIN], 1);
    uint64_t total = 0;
    for (int i = 0; i < PLUMB_EXPONENT_COUNT; i++)
        total += histogram.positive[i] + histogram.negative[i];
    assert_int_equal(total, 5); /* all but the zero */
    free_sample(sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_do_not_show), cmocka_unit_test(test_checksums),
        cmocka_unit_test(test_comparison_and_map),  cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_histogram),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
