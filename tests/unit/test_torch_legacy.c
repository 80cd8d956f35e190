/* test_torch_legacy.c - the five pickles of torch.save before 1.6, and tar archives. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "torch_samples.h"

#define MAGIC "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define HEAD                                                                                   \
    "\x80\x02M\xe9\x03."                                                                       \
    "(d."

static size_t put_storage(char *to, uint64_t elements, size_t size, unsigned char first)
{
    plumb_store_u64(to, elements);
    for (size_t i = 0; i < size; i++)
        to[8 + i] = (char)(first + i);
    return 8 + size;
}

/* A file of two storages, "0" of six floats and "q" of three bytes. */
static size_t make_file(char *to, const char *object, const char *keys)
{
    const char magic[] = MAGIC, head[] = HEAD;
    size_t size = 0;
    memcpy(to, magic, sizeof magic - 1);
    size += sizeof magic - 1;
    memcpy(to + size, head, sizeof head - 1);
    size += sizeof head - 1;
    memcpy(to + size, object, strlen(object));
    size += strlen(object);
    memcpy(to + size, keys, strlen(keys));
    size += strlen(keys);
    size += put_storage(to + size, 3, 3, 50);
    return size + put_storage(to + size, 6, 24, 0);
}

#define BYTE_TENSOR TENSOR("Byte", "q", "3", "0", "I3\n", "I1\n")
static const char keys[] = "(lS'q'\naS'0'\na.";

static void storages_follow_in_the_order_of_the_list(void **state)
{
    (void)state;
    char bytes[2048];
    const size_t size = make_file(bytes, "(dS'w'\n" MATRIX "sS'b'\n" BYTE_TENSOR "s.", keys);
    struct plumb_file *file = NULL;
    struct plumb_error err = {0};
    if (plumb_file_open_memory("old.pt", bytes, size, NULL, &file, &err))
        fail_msg("%s", err.message);
    assert_string_equal(plumb_file_format(file), "torch-legacy");
    assert_string_equal(plumb_file_framework(file), "pytorch");
    assert_int_equal(plumb_file_warning_count(file), 0);
    unsigned char values[24];
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "w"), 0, 6, values, NULL), 0);
    assert_int_equal(values[0], 0);
    assert_int_equal(values[23], 23);
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "b"), 0, 3, values, NULL), 0);
    assert_int_equal(values[2], 52);
    assert_false(plumb_file_find(file, "b")->parameter);
    plumb_file_close(file);
}

/* ("storage", type, key, location, elements, (view's key, offset, size)) */
static void a_view_begins_inside_its_storage(void **state)
{
    (void)state;
    char bytes[2048];
    const size_t size = make_file(
        bytes,
        "(dS'v'\n" V2 "((S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nI6\n(S'x'\nI2\nI4\nttQ"
        "I1\n(I2\nt(I1\ntI00\nNtRsS'b'\n" BYTE_TENSOR "s.",
        keys);
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_file_open_memory("old.pt", bytes, size, NULL, &file, NULL), 0);
    unsigned char values[8];
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "v"), 0, 2, values, NULL), 0);
    assert_int_equal(values[0], 12); /* the third float, and one on */
    plumb_file_close(file);
}

static void damage_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *object, *keys;
        size_t cut;
        enum plumb_status status;
        const char *says;
    } cases[] = {
        {"(dS'w'\n" MATRIX "sS'b'\n" BYTE_TENSOR "s.", keys, 1, PLUMB_DAMAGED, "truncated"},
        {"(dS'w'\n" MATRIX "sS'b'\n" BYTE_TENSOR "s.", keys, 36, PLUMB_DAMAGED, "truncated"},
        {"(dS'w'\n" MATRIX "s.", keys, 0, PLUMB_UNSUPPORTED, "size is unknown"},
        {"(dS'w'\n" MATRIX "sS'b'\n" BYTE_TENSOR "s.", "(d.", 0, PLUMB_DAMAGED, "list"},
        {"(dS'w'\n" MATRIX "sS'b'\n" BYTE_TENSOR "s.", "(lS'q'\na.", 0, PLUMB_DAMAGED,
         "storage '0' is not in the file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[2048];
        const size_t size = make_file(bytes, cases[i].object, cases[i].keys);
        struct plumb_file *file = NULL;
        struct plumb_error err = {0};
        const enum plumb_status status =
            plumb_file_open_memory("old.pt", bytes, size - cases[i].cut, NULL, &file, &err);
        if (!strstr(err.message, cases[i].says))
            fail_msg("case %zu says: %s", i, err.message);
        assert_int_equal(status, cases[i].status);
    }
}

static void no_damage_leads_outside(void **state)
{
    (void)state;
    char bytes[2048];
    const size_t size = make_file(bytes, "(dS'w'\n" MATRIX "sS'b'\n" BYTE_TENSOR "s.", keys);
    for (size_t at = 0; at < size; at++) {
        const char before = bytes[at];
        for (int value = 0; value < 256; value += 15) {
            bytes[at] = (char)value;
            struct plumb_file *file = NULL;
            if (plumb_file_open_memory("old.pt", bytes, size, NULL, &file, NULL) == PLUMB_OK)
                plumb_file_close(file);
        }
        bytes[at] = before;
    }
}

static void tar_archives_are_recognised(void **state)
{
    (void)state;
    char bytes[1024] = "storages";
    memcpy(bytes + 257, "ustar", 5);
    struct plumb_file *file = NULL;
    struct plumb_error err = {0};
    assert_int_equal(plumb_file_open_memory("x.pt", bytes, sizeof bytes, NULL, &file, &err),
                     PLUMB_UNSUPPORTED);
    assert_non_null(strstr(err.message, "before 0.1.10"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storages_follow_in_the_order_of_the_list),
        cmocka_unit_test(a_view_begins_inside_its_storage),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(no_damage_leads_outside),
        cmocka_unit_test(tar_archives_are_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
