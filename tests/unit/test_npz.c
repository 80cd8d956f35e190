/* test_npz.c - archives of numpy arrays: stored, deflated, odd members, and writing. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/zip_writer.h"
#include "plumb.h"

static char path[64];

/* numpy.savez_compressed(w=numpy.arange(6, dtype="<f4")) by numpy 1.26. */
static const unsigned char compressed[] = {
    0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xf9,
    0xe5, 0x57, 0x94, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x05, 0x00, 0x14, 0x00,
    0x77, 0x2e, 0x6e, 0x70, 0x79, 0x01, 0x00, 0x10, 0x00, 0x98, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x53, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b,
    0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5,
    0xa0, 0x6e, 0x93, 0x66, 0xa2, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52, 0x94, 0x98,
    0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05, 0x8a, 0x17,
    0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0x66, 0x3a, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0x14,
    0x00, 0x2e, 0x06, 0x30, 0x68, 0xb0, 0x07, 0x12, 0x0e, 0x40, 0x04, 0xc4, 0x0d, 0x40, 0xbc,
    0xc0, 0x01, 0x00, 0x50, 0x4b, 0x01, 0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00,
    0x00, 0x00, 0x21, 0x00, 0xf9, 0xe5, 0x57, 0x94, 0x53, 0x00, 0x00, 0x00, 0x98, 0x00, 0x00,
    0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01,
    0x00, 0x00, 0x00, 0x00, 0x77, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x05, 0x06, 0x00, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x33, 0x00, 0x00, 0x00, 0x8a, 0x00, 0x00, 0x00, 0x00,
    0x00};

static void write_members(const char *const *names, const char *const *headers, size_t count)
{
    struct plumb_output *output = NULL;
    struct plumb_zip_writer writer;
    assert_int_equal(plumb_output_open(path, &output, NULL), PLUMB_OK);
    plumb_zip_writer_init(&writer, output, 1);
    for (size_t i = 0; i < count; i++) {
        char member[256] = "\x93NUMPY\1";
        const size_t length = strlen(headers[i]);
        member[8] = (char)length;
        memcpy(member + 10, headers[i], length);
        memset(member + 10 + length, 7, 24);
        assert_int_equal(
            plumb_zip_writer_add(&writer, names[i], member, 10 + length + 24, NULL), PLUMB_OK);
    }
    assert_int_equal(plumb_zip_writer_finish(&writer, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_commit(output, NULL), PLUMB_OK);
    plumb_zip_writer_release(&writer);
    plumb_output_close(output);
}

#define HEADER(type, shape)                                                                    \
    "{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }\n"

static void members_become_tensors(void **state)
{
    (void)state;
    const char *const names[] = {"w.npy", "a/b.c.npy", "objects.npy", "readme.txt"};
    const char *const headers[] = {HEADER("<f4", "(2, 3)"), HEADER("|u1", "(24,)"),
                                   HEADER("|O", "(3,)"), "x"};
    write_members(names, headers, 4);
    struct plumb_file *file = NULL;
    struct plumb_error err = {0};
    if (plumb_file_open(path, NULL, &file, &err))
        fail_msg("%s", err.message);
    assert_string_equal(plumb_file_format(file), "npz");
    assert_int_equal(plumb_file_tensor_count(file), 2);
    assert_int_equal(plumb_file_find(file, "w")->rank, 2);
    unsigned char values[24];
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "a/b.c"), 0, 24, values, NULL), 0);
    assert_int_equal(values[23], 7);
    assert_int_equal(plumb_file_warning_count(file), 2);
    assert_non_null(strstr(plumb_file_warning(file, 0), "objects.npy"));
    assert_non_null(strstr(plumb_file_warning(file, 1), "readme.txt"));
    plumb_file_close(file);
    assert_int_equal(unlink(path), 0);
}

static void deflated_members_are_unpacked(void **state)
{
    (void)state;
    struct plumb_file *file = NULL;
    assert_int_equal(
        plumb_file_open_memory("c.npz", compressed, sizeof compressed, NULL, &file, NULL),
        PLUMB_OK);
    float values[6] = {0};
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "w"), 0, 6, values, NULL), 0);
    for (int i = 0; i < 6; i++)
        assert_true(values[i] == (float)i);
    plumb_file_close(file);
}

static void no_damage_leads_outside(void **state)
{
    (void)state;
    unsigned char bytes[sizeof compressed];
    for (size_t at = 0; at < sizeof bytes; at++) {
        for (int value = 0; value < 256; value += 17) {
            memcpy(bytes, compressed, sizeof bytes);
            bytes[at] = (unsigned char)value;
            struct plumb_file *file = NULL;
            if (plumb_file_open_memory("c.npz", bytes, sizeof bytes, NULL, &file, NULL))
                continue;
            for (size_t i = 0; i < plumb_file_tensor_count(file); i++) {
                unsigned char values[256];
                const struct plumb_tensor *tensor = plumb_file_tensor(file, i);
                if ((size_t)tensor->count * plumb_dtype_size(tensor->dtype) <= sizeof values)
                    (void)plumb_tensor_read(tensor, 0, tensor->count, values, NULL);
            }
            plumb_file_close(file);
        }
    }
}

static void too_short_member_is_damage(void **state)
{
    (void)state;
    const char *const names[] = {"w.npy"};
    const char *const headers[] = {HEADER("<f4", "(7,)")};
    write_members(names, headers, 1);
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_file_open(path, NULL, &file, NULL), PLUMB_DAMAGED);
    assert_int_equal(unlink(path), 0);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    const int64_t shape[2] = {2, 3};
    const float data[6] = {1, 2, 3, 4, 5, 6};
    const struct plumb_value values[] = {{"layer.weight", PLUMB_F32, 2, shape, data},
                                         {"half", PLUMB_BF16, 1, shape, data},
                                         {"scalar", PLUMB_F64, 0, NULL, data}};
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_write_file(path, "npz", values, 3, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_open(path, NULL, &file, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_tensor_count(file), 3);
    float back[6];
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "layer.weight"), 0, 6, back, NULL),
                     PLUMB_OK);
    assert_memory_equal(back, data, sizeof data);
    assert_int_equal(plumb_file_find(file, "half")->dtype, PLUMB_BF16);
    assert_int_equal(plumb_file_find(file, "scalar")->rank, 0);
    plumb_file_close(file);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    (void)snprintf(path, sizeof path, "/tmp/plumb-test-npz-%d.npz", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_become_tensors),
        cmocka_unit_test(deflated_members_are_unpacked),
        cmocka_unit_test(no_damage_leads_outside),
        cmocka_unit_test(too_short_member_is_damage),
        cmocka_unit_test(what_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
