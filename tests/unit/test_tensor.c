/* test_tensor.c - logical order out of any strides, and nothing outside the storage. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/file.h"
#include "model/tensor.h"

#include <stdio.h>
#include <stdlib.h>

static struct plumb_file *file;
static struct plumb_storage *storage; /* 24 int16: 0, 1, 2 ... */
static int16_t numbers[24];

static int set_up(void **state)
{
    (void)state;
    struct plumb_map *map = NULL;
    for (int i = 0; i < 24; i++)
        numbers[i] = (int16_t)i;
    assert_int_equal(plumb_file_new("test", &file, NULL), PLUMB_OK);
    assert_int_equal(plumb_map_memory("test", numbers, sizeof numbers, &map, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_own_map(file, map, NULL), PLUMB_OK);
    assert_int_equal(
        plumb_file_add_storage(file, map, 0, sizeof numbers, "data", &storage, NULL), PLUMB_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    plumb_file_close(file);
    return 0;
}

static enum plumb_status add(const char *name, int rank, const int64_t *shape,
                             const int64_t *strides, uint64_t offset, struct plumb_error *err)
{
    const struct plumb_tensor_spec spec = {.name = name,
                                           .dtype = PLUMB_I16,
                                           .rank = rank,
                                           .shape = shape,
                                           .strides = strides,
                                           .storage = storage,
                                           .offset = offset};
    return plumb_file_add_tensor(file, &spec, err);
}

/* Reads the tensor in runs of every length and compares with the plain formula. */
static void expect_order(const char *name)
{
    const struct plumb_tensor *tensor = plumb_file_find(file, name);
    int16_t expected[200], got[200];
    for (int64_t i = 0; i < tensor->count; i++) {
        int64_t rest = i, at = tensor->offset / 2;
        for (int dim = tensor->rank; dim-- > 0;) {
            at += rest % tensor->shape[dim] * tensor->strides[dim];
            rest /= tensor->shape[dim];
        }
        expected[i] = numbers[at];
    }
    for (int64_t run = 1; run <= tensor->count; run++)
        for (int64_t first = 0; first + run <= tensor->count; first++) {
            assert_int_equal(plumb_tensor_read(tensor, first, run, got, NULL), PLUMB_OK);
            assert_memory_equal(got, expected + first, (size_t)run * 2);
        }
}

static void any_strides_read_in_logical_order(void **state)
{
    (void)state;
    const struct {
        const char *name;
        int rank;
        int64_t shape[4], strides[4];
        uint64_t offset;
        bool contiguous;
    } cases[] = {
        {"plain", 3, {2, 3, 4}, {12, 4, 1}, 0, true},
        {"transposed", 2, {6, 4}, {1, 6}, 0, false},
        {"fortran", 3, {2, 3, 4}, {1, 2, 6}, 0, false},
        {"expanded", 2, {5, 6}, {0, 1}, 4, false},
        {"every second", 1, {12}, {2}, 0, false},
        {"backwards", 1, {24}, {-1}, 46, false},
        {"scalar", 0, {0}, {0}, 6, true},
        {"ones", 4, {1, 24, 1, 1}, {7, 1, 9, 5}, 0, true},
        {"window", 2, {3, 2}, {4, 1}, 10, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(add(cases[i].name, cases[i].rank, cases[i].shape, cases[i].strides,
                             cases[i].offset, NULL),
                         PLUMB_OK);
        const struct plumb_tensor *tensor = plumb_file_find(file, cases[i].name);
        assert_int_equal(plumb_tensor_is_contiguous(tensor), cases[i].contiguous);
        expect_order(cases[i].name);
    }
}

static void what_lies_outside_is_refused(void **state)
{
    (void)state;
    const struct {
        int rank;
        int64_t shape[3], strides[3];
        uint64_t offset;
        enum plumb_status status;
    } cases[] = {
        {1, {25}, {1}, 0, PLUMB_DAMAGED},
        {1, {24}, {1}, 2, PLUMB_DAMAGED},
        {1, {2}, {-1}, 0, PLUMB_DAMAGED},
        {2, {2, 2}, {23, 2}, 0, PLUMB_DAMAGED},
        {1, {1}, {1}, UINT64_MAX, PLUMB_LIMIT},
        {2, {INT64_MAX, 2}, {1, 1}, 0, PLUMB_LIMIT},
        {1, {-1}, {1}, 0, PLUMB_LIMIT},
        {2, {3, 3}, {INT64_MAX / 2, 1}, 0, PLUMB_LIMIT},
        {2, {3, 3}, {INT64_MIN, INT64_MIN}, 0, PLUMB_LIMIT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_error error = {.offset = -2};
        assert_int_equal(add("bad", cases[i].rank, cases[i].shape, cases[i].strides,
                             cases[i].offset, &error),
                         cases[i].status);
        assert_non_null(strstr(error.message, "'bad'"));
    }
    assert_int_equal(file->tensor_count, 0);
}

static void empty_tensors_need_no_data(void **state)
{
    (void)state;
    const int64_t shape[] = {0, INT64_MAX, INT64_MAX};
    assert_int_equal(add("empty", 3, shape, NULL, 48, NULL), PLUMB_OK);
    const struct plumb_tensor *tensor = plumb_file_find(file, "empty");
    assert_int_equal(tensor->count, 0);
    assert_true(plumb_tensor_is_contiguous(tensor));
    assert_int_equal(plumb_tensor_read(tensor, 0, 0, NULL, NULL), PLUMB_OK);
    assert_int_equal(plumb_tensor_read(tensor, 0, 1, NULL, NULL), PLUMB_INVALID);
}

static void big_endian_is_turned(void **state)
{
    (void)state;
    const int64_t shape[] = {24};
    storage->big_endian = true;
    assert_int_equal(add("big", 1, shape, NULL, 0, NULL), PLUMB_OK);
    int16_t got[2];
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "big"), 1, 2, got, NULL),
                     PLUMB_OK);
    assert_int_equal(got[0], 0x0100);
    assert_int_equal(got[1], 0x0200);
    assert_false(plumb_tensor_is_plain(plumb_file_find(file, "big")));
}

static void second_of_a_name_is_kept_and_said(void **state)
{
    (void)state;
    const int64_t shape[] = {4};
    for (int i = 0; i < 3; i++)
        assert_int_equal(add("twin", 1, shape, NULL, (uint64_t)i * 8, NULL), PLUMB_OK);
    assert_non_null(plumb_file_find(file, "twin#2"));
    assert_non_null(plumb_file_find(file, "twin#3"));
    assert_int_equal(plumb_file_warning_count(file), 2);
}

static enum plumb_status count_up(const struct plumb_storage *self, void *memory,
                                  struct plumb_error *err)
{
    (void)err;
    int *calls = (int *)(uintptr_t)self->recipe;
    ++*calls;
    for (uint64_t i = 0; i < self->size; i++)
        ((unsigned char *)memory)[i] = (unsigned char)i;
    return PLUMB_OK;
}

static void produced_content_is_made_once_and_again_after_a_drop(void **state)
{
    (void)state;
    int calls = 0;
    struct plumb_storage *made = NULL;
    assert_int_equal(plumb_file_add_produced(file, 10, count_up, &calls, "made", &made, NULL),
                     PLUMB_OK);
    unsigned char got[3];
    assert_int_equal(plumb_storage_read(made, 7, 3, got, NULL), PLUMB_OK);
    assert_memory_equal(got, "\7\10\11", 3);
    assert_int_equal(plumb_storage_read(made, 0, 1, got, NULL), PLUMB_OK);
    assert_int_equal(calls, 1);
    plumb_storage_drop(made);
    assert_int_equal(plumb_storage_read(made, 0, 1, got, NULL), PLUMB_OK);
    assert_int_equal(calls, 2);
}

static void pieces_read_as_one(void **state)
{
    (void)state;
    const struct plumb_map *map = file->maps[0];
    const struct plumb_piece pieces[] = {{map, 40, 4}, {map, 0, 0}, {map, 0, 6}};
    struct plumb_storage *joined = NULL;
    assert_int_equal(plumb_file_add_pieces(file, pieces, 3, "joined", &joined, NULL), PLUMB_OK);
    assert_int_equal(joined->size, 10);
    int16_t got[5];
    const int16_t expected[] = {20, 21, 0, 1, 2};
    assert_int_equal(plumb_storage_read(joined, 0, 10, got, NULL), PLUMB_OK);
    assert_memory_equal(got, expected, 10);
    assert_int_equal(plumb_storage_read(joined, 2, 4, got, NULL), PLUMB_OK);
    assert_memory_equal(got, expected + 1, 4);
    const unsigned char *address = NULL;
    assert_int_equal(plumb_storage_address(joined, &address, NULL), PLUMB_OK);
    assert_memory_equal(address, expected, 10);
    const struct plumb_piece outside = {map, 40, 9};
    assert_int_equal(plumb_file_add_pieces(file, &outside, 1, "outside", &joined, NULL),
                     PLUMB_DAMAGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_strides_read_in_logical_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_lies_outside_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_tensors_need_no_data, set_up, tear_down),
        cmocka_unit_test_setup_teardown(big_endian_is_turned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(second_of_a_name_is_kept_and_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(produced_content_is_made_once_and_again_after_a_drop,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(pieces_read_as_one, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
