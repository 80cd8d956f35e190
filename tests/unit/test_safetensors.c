/* test_safetensors.c - safetensors: the header's rules, MindSpore's checksum, writing. */
#include "plumb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 4096 };

static size_t make_file(unsigned char *out, const char *header, size_t data)
{
    const size_t length = strlen(header);
    memset(out, 0, MOST);
    out[0] = (unsigned char)(length & 255);
    out[1] = (unsigned char)(length >> 8);
    memcpy(out + 8, header, length);
    for (size_t i = 0; i < data; i++)
        out[8 + length + i] = (unsigned char)(i + 1);
    return 8 + length + data;
}

static enum plumb_status open_bytes(const unsigned char *bytes, size_t size,
                                    struct plumb_file **file, struct plumb_error *err)
{
    return plumb_file_open_memory("m.safetensors", bytes, size, NULL, file, err);
}

static const char good[] =
    "{\"__metadata__\":{\"format\":\"pt\",\"k\":\"a\\\"b\"},"
    "\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
    "\"e\":{\"dtype\":\"F16\",\"shape\":[0,4],\"data_offsets\":[16,16]},"
    "\"s\":{\"dtype\":\"I8\",\"shape\":[],\"data_offsets\":[16,17]},"
    "\"q\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[17,18]}}   ";

static void a_good_file_is_read(void **state)
{
    (void)state;
    unsigned char bytes[MOST];
    struct plumb_file *file = NULL;
    assert_int_equal(open_bytes(bytes, make_file(bytes, good, 18), &file, NULL), PLUMB_OK);
    assert_string_equal(plumb_file_format(file), "safetensors");
    assert_string_equal(plumb_file_framework(file), "pytorch");
    assert_int_equal(plumb_file_tensor_count(file), 3);
    const struct plumb_tensor *w = plumb_file_find(file, "w");
    assert_int_equal(w->dtype, PLUMB_F32);
    assert_int_equal(w->count, 4);
    assert_int_equal(plumb_file_find(file, "e")->count, 0);
    assert_int_equal(plumb_file_find(file, "s")->rank, 0);
    unsigned char value = 0;
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "s"), 0, 1, &value, NULL), 0);
    assert_int_equal(value, 17);
    assert_int_equal(plumb_file_note_count(file), 3);
    assert_string_equal(plumb_file_note(file, 0)->key, "__metadata__.format");
    assert_string_equal(plumb_file_note(file, 1)->json, "\"a\\\"b\"");
    assert_string_equal(plumb_file_note(file, 2)->key, "q");
    assert_int_equal(plumb_file_warning_count(file), 1); /* F4 is only listed */
    plumb_file_close(file);
}

static void bad_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum plumb_status status;
        const char *word;
    } cases[] = {
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9]}}", PLUMB_DAMAGED,
         "'w'"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", PLUMB_DAMAGED,
         "number of bytes"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", PLUMB_DAMAGED,
         "cut off"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", PLUMB_DAMAGED,
         "data_offsets"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", PLUMB_DAMAGED,
         "dimension"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", PLUMB_DAMAGED,
         "dimension"},
        {"{\"w\":{\"shape\":[2],\"data_offsets\":[0,8]}}", PLUMB_DAMAGED, "dtype"},
        {"{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", PLUMB_DAMAGED, "shape"},
        {"{\"w\":3}", PLUMB_DAMAGED, "object"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
         PLUMB_DAMAGED, "overlaps"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
         PLUMB_DAMAGED, "twice"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,8]}}",
         PLUMB_DAMAGED, "'w'"},
        {"{\"w\":}", PLUMB_DAMAGED, "JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[MOST];
        struct plumb_file *file = NULL;
        struct plumb_error err = {0};
        const size_t size = make_file(bytes, cases[i].header, 8);
        assert_int_equal(open_bytes(bytes, size, &file, &err), cases[i].status);
        assert_non_null(strstr(err.message, cases[i].word));
        assert_null(file);
    }
}

static void holes_are_told(void **state)
{
    (void)state;
    unsigned char bytes[MOST];
    struct plumb_file *file = NULL;
    const size_t size =
        make_file(bytes, "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]}}", 8);
    assert_int_equal(open_bytes(bytes, size, &file, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_warning_count(file), 1);
    assert_non_null(strstr(plumb_file_warning(file, 0), "6 bytes"));
    plumb_file_close(file);
}

static void a_cut_file_is_refused_at_every_byte(void **state)
{
    (void)state;
    unsigned char bytes[MOST];
    const size_t size = make_file(bytes, good, 18);
    for (size_t cut = 0; cut < size; cut++) {
        struct plumb_file *file = NULL;
        struct plumb_error err = {0};
        assert_true(open_bytes(bytes, cut, &file, &err) != PLUMB_OK);
        assert_non_null(strstr(err.message, "m.safetensors"));
    }
}

/* crc32("a" 01 02 "b" 03), computed with zlib. */
static void mindspore_checksum_is_verified(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{\"__metadata__\":{\"format\":\"ms\",\"crc_num\":\"394936948\"},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]},"
        "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
        "{\"__metadata__\":{\"format\":\"ms\",\"crc_num\":\"17\"},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]},"
        "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
    };
    for (size_t bad = 0; bad < 2; bad++) {
        unsigned char bytes[MOST];
        struct plumb_file *file = NULL;
        assert_int_equal(open_bytes(bytes, make_file(bytes, headers[bad], 3), &file, NULL), 0);
        assert_string_equal(plumb_file_framework(file), "mindspore");
        assert_int_equal(plumb_file_warning_count(file), bad);
        if (bad)
            assert_non_null(strstr(plumb_file_warning(file, 0), "crc_num"));
        plumb_file_close(file);
    }
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static const int64_t shape[] = {3};
    static const unsigned char data[48] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct plumb_value values[PLUMB_DTYPE_COUNT];
    size_t count = 0;
    for (int dtype = PLUMB_DTYPE_COUNT; dtype-- > 0;)
        if (dtype != PLUMB_HIF8 && dtype != PLUMB_C128)
            values[count++] =
                (struct plumb_value){.name = plumb_dtype_name((enum plumb_dtype)dtype),
                                     .dtype = (enum plumb_dtype)dtype,
                                     .rank = 1,
                                     .shape = shape,
                                     .data = data};
    char path[] = "/tmp/plumb-test-XXXXXX.safetensors";
    const int fd = mkstemps(path, 12);
    assert_true(fd >= 0);
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_write_file(path, NULL, values, count, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_open(path, NULL, &file, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_tensor_count(file), count);
    assert_int_equal(plumb_file_warning_count(file), 0);
    for (size_t i = 0; i < count; i++) {
        unsigned char back[sizeof data];
        const struct plumb_tensor *tensor = plumb_file_find(file, values[i].name);
        assert_non_null(tensor);
        assert_int_equal(tensor->dtype, values[i].dtype);
        assert_int_equal(plumb_tensor_read(tensor, 0, 3, back, NULL), PLUMB_OK);
        assert_memory_equal(back, data, 3 * plumb_dtype_size(tensor->dtype));
    }
    plumb_file_close(file);
    struct plumb_error err = {0};
    values[0].dtype = PLUMB_HIF8;
    assert_int_equal(plumb_write_file(path, NULL, values, count, &err), PLUMB_UNSUPPORTED);
    assert_non_null(strstr(err.message, values[0].name));
    (void)close(fd);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_is_read),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(holes_are_told),
        cmocka_unit_test(a_cut_file_is_refused_at_every_byte),
        cmocka_unit_test(mindspore_checksum_is_verified),
        cmocka_unit_test(what_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
