/* test_open.c - a file whose beginning is damaged: its name is the hint that is left. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch_group.h"

/* A small file of that format with its first bytes overwritten; returns its size. */
static size_t damaged_file(const char *format, unsigned char *bytes, size_t most)
{
    static const float data[] = {1, 2, 3, 4};
    static const int64_t shape[] = {4};
    const struct plumb_value value = {
        .name = "w", .dtype = PLUMB_F32, .rank = 1, .shape = shape, .data = data};
    const char *path = scratch_path(&scratch, "file");
    assert_int_equal(plumb_write_file(path, format, &value, 1, NULL), PLUMB_OK);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    const size_t size = fread(bytes, 1, most, in);
    (void)fclose(in);
    memcpy(bytes, "\xff\xfe\xfd", 3);
    return size;
}

/* What opening these bytes under this name says. */
static struct plumb_error refusal(const char *name, const unsigned char *bytes, size_t size)
{
    struct plumb_file *file = NULL;
    struct plumb_error error = {0};
    assert_int_not_equal(plumb_file_open_memory(name, bytes, size, NULL, &file, &error),
                         PLUMB_OK);
    return error;
}

static void the_name_helps_to_explain(void **state)
{
    (void)state;
    static const struct {
        const char *format, *name, *says;
    } cases[] = {
        {"ckpt", "d/net.ckpt", "as ckpt, which its name suggests: byte 0: "},
        {"torch", "d/net.pth", "as torch, which its name suggests: expected the header of"},
        {"npz", "d/net.npz", "as npz, which its name suggests: expected the header of"},
        {"npy", "d/net.npy", "as npy, which its name suggests: byte 0: "},
        {"npy", "d/net.ckpt", "as ckpt, which its name suggests: byte 0: "},
        {"npy", "d/net.pth", "as torch, which its name suggests: neither begins nor ends"},
        {"npy", "d/net.out", "`plumb list formats`"},
        {"npy", "d.npy/net", "`plumb list formats`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[8192];
        const size_t size = damaged_file(cases[i].format, bytes, sizeof bytes);
        const struct plumb_error error = refusal(cases[i].name, bytes, size);
        if (!strstr(error.message, cases[i].says))
            fail_msg("%s: %s", cases[i].name, error.message);
        assert_ptr_equal(strstr(error.message, cases[i].name), error.message);
        assert_null(strstr(error.message + 1, cases[i].name)); /* said once */
        assert_true(error.offset >= 0);
        assert_int_equal(error.status,
                         strstr(cases[i].says, "as ") ? PLUMB_DAMAGED : PLUMB_UNSUPPORTED);
    }
}

/* A name never decides: what could be read by it is offered, not taken. */
static void the_name_does_not_decide(void **state)
{
    (void)state;
    unsigned char bytes[8192];
    struct plumb_file *file = NULL;
    const size_t size = damaged_file("torch", bytes, sizeof bytes);
    const struct plumb_error error = refusal("net.npz", bytes, size);
    assert_int_equal(error.status, PLUMB_UNSUPPORTED);
    assert_non_null(strstr(error.message, "--format npz"));
    const struct plumb_open_options options = {.format = "npz"};
    assert_int_equal(plumb_file_open_memory("net.npz", bytes, size, &options, &file, NULL),
                     PLUMB_OK);
    plumb_file_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_helps_to_explain),
        cmocka_unit_test(the_name_does_not_decide),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
