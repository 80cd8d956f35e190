/* test_npy.c - numpy files: every header numpy writes or wrote, and the ones nobody should. */
#include "format/npy_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 4096 };

/* Magic, version, length and `text`, followed by `data`. Returns the size. */
static size_t make_npy(unsigned char *out, int major, const char *text, const void *data,
                       size_t size)
{
    const size_t length = strlen(text), prefix = major == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)major;
    memset(out + 7, 0, 5);
    out[8] = (unsigned char)(length & 255);
    out[9] = (unsigned char)(length >> 8);
    memcpy(out + prefix, text, length);
    if (size)
        memcpy(out + prefix + length, data, size);
    return prefix + length + size;
}

static enum plumb_status open_npy(const unsigned char *bytes, size_t size,
                                  struct plumb_file **file, struct plumb_error *err)
{
    return plumb_file_open_memory("a.npy", bytes, size, NULL, file, err);
}

static const struct {
    int major;
    const char *text;
    enum plumb_dtype dtype;
    int rank;
    int64_t shape[3];
    size_t bytes;
    size_t warnings;
} understood[] = {
    {1,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
     PLUMB_F32,
     2,
     {2, 3},
     24,
     0},
    {2,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
     PLUMB_F32,
     2,
     {2, 3},
     24,
     0},
    {3,
     "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }   \n",
     PLUMB_F64,
     1,
     {3},
     24,
     0},
    {1,
     "{\"shape\":(3L,2L),\"fortran_order\":True,\"descr\":\">i2\"}",
     PLUMB_I16,
     2,
     {3, 2},
     12,
     0},
    {1, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}", PLUMB_BOOL, 0, {0}, 1, 0},
    {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 5)}", PLUMB_U8, 2, {0, 5}, 0, 0},
    {1,
     "{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1, 2,)}",
     PLUMB_C64,
     3,
     {1, 1, 2},
     16,
     0},
    {1, "{'descr': '<V2', 'fortran_order': False, 'shape': (4,)}", PLUMB_BF16, 1, {4}, 8, 1},
    {1, "{'descr': '|V1', 'fortran_order': False, 'shape': (4,)}", PLUMB_U8, 1, {4}, 4, 1},
    {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (4,)}", PLUMB_F16, 1, {4}, 9, 1},
};

static void headers_are_understood(void **state)
{
    (void)state;
    static const unsigned char data[64];
    for (size_t i = 0; i < sizeof understood / sizeof *understood; i++) {
        unsigned char bytes[MOST];
        struct plumb_file *file = NULL;
        const size_t size =
            make_npy(bytes, understood[i].major, understood[i].text, data, understood[i].bytes);
        assert_int_equal(open_npy(bytes, size, &file, NULL), PLUMB_OK);
        const struct plumb_tensor *tensor = plumb_file_find(file, "array");
        assert_non_null(tensor);
        assert_int_equal(tensor->dtype, understood[i].dtype);
        assert_int_equal(tensor->rank, understood[i].rank);
        for (int d = 0; d < tensor->rank; d++)
            assert_int_equal(tensor->shape[d], understood[i].shape[d]);
        assert_int_equal(plumb_file_warning_count(file), understood[i].warnings);
        plumb_file_close(file);
    }
}

static void bad_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum plumb_status status;
        const char *word; /* the message has it */
    } cases[] = {
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", PLUMB_UNSUPPORTED, "pickle"},
        {"{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}", PLUMB_UNSUPPORTED, "text"},
        {"{'descr': '|S3', 'fortran_order': False, 'shape': (1,)}", PLUMB_UNSUPPORTED,
         "strings"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", PLUMB_UNSUPPORTED,
         "64 bits"},
        {"{'descr': '<q7', 'fortran_order': False, 'shape': (1,)}", PLUMB_UNSUPPORTED, "q7"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", PLUMB_UNSUPPORTED,
         "fields"},
        {"{'descr': '<f4', 'fortran_order': False}", PLUMB_DAMAGED, "'shape'"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", PLUMB_DAMAGED, "once"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", PLUMB_DAMAGED, "True"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", PLUMB_DAMAGED, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", PLUMB_DAMAGED, "digits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", PLUMB_DAMAGED, "','"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
         PLUMB_LIMIT, "2^63"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}",
         PLUMB_LIMIT, "2^63"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", PLUMB_DAMAGED, "spaces"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (100,)}", PLUMB_DAMAGED,
         "400 bytes"},
        {"{'descr: '<f4'}", PLUMB_DAMAGED, "':'"},
        {"['descr']", PLUMB_DAMAGED, "'{'"},
        {"", PLUMB_DAMAGED, "'{'"},
        {"{'descr'", PLUMB_DAMAGED, "':'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[MOST];
        struct plumb_file *file = NULL;
        struct plumb_error err = {0};
        const size_t size = make_npy(bytes, 1, cases[i].text, "abcd", 4);
        assert_int_equal(open_npy(bytes, size, &file, &err), cases[i].status);
        assert_non_null(strstr(err.message, "a.npy"));
        assert_non_null(strstr(err.message, cases[i].word));
        assert_null(file);
    }
}

static void fortran_and_big_endian_values_are_in_order(void **state)
{
    (void)state;
    static const unsigned char data[] = {0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6};
    static const uint16_t expected[] = {1, 2, 3, 4, 5, 6};
    unsigned char bytes[MOST];
    uint16_t values[6];
    struct plumb_file *file = NULL;
    const size_t size =
        make_npy(bytes, 1, "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3)}", data,
                 sizeof data);
    assert_int_equal(open_npy(bytes, size, &file, NULL), PLUMB_OK);
    assert_int_equal(plumb_tensor_read(plumb_file_tensor(file, 0), 0, 6, values, NULL),
                     PLUMB_OK);
    assert_memory_equal(values, expected, sizeof expected);
    plumb_file_close(file);
}

static void a_cut_file_is_refused_at_every_byte(void **state)
{
    (void)state;
    unsigned char bytes[MOST];
    const size_t size = make_npy(
        bytes, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", "12345678", 8);
    for (size_t cut = 0; cut < size; cut++) {
        struct plumb_file *file = NULL;
        struct plumb_error err = {0};
        assert_true(open_npy(bytes, cut, &file, &err) != PLUMB_OK);
        assert_non_null(strstr(err.message, "a.npy"));
    }
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 3};
    static const unsigned char data[6 * 16] = {1, 2, 3, 4, 5, 6, 7};
    char path[] = "/tmp/plumb-test-XXXXXX.npy";
    const int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    for (int dtype = 0; dtype < PLUMB_DTYPE_COUNT; dtype++)
        for (int rank = 0; rank <= 2; rank++) {
            const struct plumb_value value = {.name = "w",
                                              .dtype = (enum plumb_dtype)dtype,
                                              .rank = rank,
                                              .shape = shape,
                                              .data = data};
            struct plumb_file *file = NULL;
            assert_int_equal(plumb_write_file(path, NULL, &value, 1, NULL), PLUMB_OK);
            assert_int_equal(plumb_file_open(path, NULL, &file, NULL), PLUMB_OK);
            const struct plumb_tensor *tensor = plumb_file_tensor(file, 0);
            unsigned char back[sizeof data];
            assert_int_equal(tensor->rank, rank);
            assert_int_equal(tensor->count, rank == 0 ? 1 : rank == 1 ? 2 : 6);
            assert_int_equal(tensor->offset % 64, 0);
            assert_int_equal(plumb_tensor_read(tensor, 0, tensor->count, back, NULL), PLUMB_OK);
            assert_memory_equal(back, data,
                                plumb_dtype_size(value.dtype) * (size_t)tensor->count);
            plumb_file_close(file);
        }
    (void)close(fd);
    (void)unlink(path);
}

static void one_file_holds_one_array(void **state)
{
    (void)state;
    static const struct plumb_value values[2] = {{.name = "a", .data = "12345678"},
                                                 {.name = "b", .data = "12345678"}};
    struct plumb_error err = {0};
    assert_int_equal(plumb_write_file("/tmp/plumb-test-two.npy", NULL, values, 2, &err),
                     PLUMB_UNSUPPORTED);
    assert_non_null(strstr(err.message, "npz"));
    assert_int_not_equal(access("/tmp/plumb-test-two.npy", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_understood),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(fortran_and_big_endian_values_are_in_order),
        cmocka_unit_test(a_cut_file_is_refused_at_every_byte),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(one_file_holds_one_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
