/* test_directory.c - directories of tensor files: names, order, what is left out. */
#include "unit/scratch.h"

#include "plumb.h"

#include <sys/resource.h>

static void put_tensor(struct scratch *scratch, const char *file, const char *name)
{
    const struct plumb_value value = {.name = name, .dtype = PLUMB_F32, .data = "1234"};
    assert_int_equal(plumb_write_file(scratch_path(scratch, file), NULL, &value, 1, NULL), 0);
}

static struct plumb_file *open_root(struct scratch *scratch)
{
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_file_open(scratch->root, NULL, &file, NULL), PLUMB_OK);
    assert_string_equal(plumb_file_format(file), "directory");
    return file;
}

static void names_say_where_tensors_are(void **state)
{
    (void)state;
    static const char *const expected[] = {"m/w", "same.ckpt/w", "same.safetensors/w",
                                           "sub/deep/x", "sub/y"};
    struct scratch scratch;
    scratch_open(&scratch);
    scratch_directory(&scratch, "sub");
    scratch_directory(&scratch, "sub/deep");
    put_tensor(&scratch, "sub/y.npy", "ignored");
    put_tensor(&scratch, "sub/deep/x.npy", "ignored");
    put_tensor(&scratch, "m.safetensors", "w");
    put_tensor(&scratch, "same.safetensors", "w");
    put_tensor(&scratch, "same.ckpt", "w");
    scratch_text(&scratch, "config.json", "{}");
    scratch_text(&scratch, ".hidden", "x");
    scratch_text(&scratch, "weights.dat", "what is this");
    struct plumb_file *file = open_root(&scratch);
    assert_int_equal(plumb_file_tensor_count(file), sizeof expected / sizeof *expected);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(plumb_file_tensor(file, i)->name, expected[i]);
    assert_int_equal(plumb_file_warning_count(file), 1);
    assert_non_null(strstr(plumb_file_warning(file, 0), "weights.dat"));
    plumb_file_close(file);
    scratch_close(&scratch);
}

static void one_file_keeps_its_names(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    put_tensor(&scratch, "m.safetensors", "w");
    scratch_text(&scratch, "readme.md", "x");
    struct plumb_file *file = open_root(&scratch);
    assert_int_equal(plumb_file_tensor_count(file), 1);
    assert_non_null(plumb_file_find(file, "w"));
    assert_int_equal(plumb_file_warning_count(file), 0);
    plumb_file_close(file);
    scratch_close(&scratch);
}

static void an_index_stands_for_its_directory(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    put_tensor(&scratch, "s1.safetensors", "w");
    put_tensor(&scratch, "s2.safetensors", "v");
    put_tensor(&scratch, "other.safetensors", "u");
    scratch_text(&scratch, "model.safetensors.index.json",
                 "{\"weight_map\": {\"w\": \"s1.safetensors\", \"v\": \"s2.safetensors\"}}");
    struct plumb_file *file = open_root(&scratch);
    assert_int_equal(plumb_file_tensor_count(file), 2);
    assert_non_null(plumb_file_find(file, "w"));
    assert_non_null(plumb_file_find(file, "v"));
    plumb_file_close(file);
    scratch_close(&scratch);
}

static void a_damaged_file_is_told_and_left_out(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    put_tensor(&scratch, "good.npy", "");
    scratch_text(&scratch, "bad.npy", "\x93NUMPY\x01");
    struct plumb_file *file = open_root(&scratch);
    assert_int_equal(plumb_file_tensor_count(file), 1);
    assert_int_equal(plumb_file_warning_count(file), 1);
    assert_non_null(strstr(plumb_file_warning(file, 0), "bad.npy"));
    plumb_file_close(file);
    scratch_close(&scratch);
}

static void a_directory_without_tensors_is_refused(void **state)
{
    (void)state;
    struct scratch scratch;
    struct plumb_file *file = NULL;
    struct plumb_error err = {0};
    scratch_open(&scratch);
    scratch_text(&scratch, "a.txt", "x");
    assert_int_equal(plumb_file_open(scratch.root, NULL, &file, &err), PLUMB_NOT_FOUND);
    assert_non_null(strstr(err.message, scratch.root));
    scratch_text(&scratch, "bad.npy", "\x93NUMPY\x01");
    assert_int_equal(plumb_file_open(scratch.root, NULL, &file, &err), PLUMB_DAMAGED);
    assert_non_null(strstr(err.message, "bad.npy"));
    scratch_close(&scratch);
}

static void links_in_circles_end(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    put_tensor(&scratch, "a.npy", "");
    assert_int_equal(symlink(".", scratch_path(&scratch, "loop")), 0);
    scratch_text(&scratch, "x.index.json", "{\"weight_map\": {\"w\": \"loop\"}}");
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_file_open(scratch.root, NULL, &file, NULL), PLUMB_UNSUPPORTED);
    scratch_close(&scratch);
}

/* More files than a process may have descriptors for, were each kept open. */
static void many_files_need_few_descriptors(void **state)
{
    (void)state;
    struct scratch scratch;
    struct rlimit limit, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = 200;
    scratch_open(&scratch);
    for (int i = 0; i < 300; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "t%04d.npy", i);
        put_tensor(&scratch, name, "");
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    struct plumb_file *file = open_root(&scratch);
    float value = 0;
    assert_int_equal(plumb_file_tensor_count(file), 300);
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "t0299"), 0, 1, &value, NULL), 0);
    assert_memory_equal(&value, "1234", 4);
    plumb_file_close(file);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    scratch_close(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_where_tensors_are),
        cmocka_unit_test(one_file_keeps_its_names),
        cmocka_unit_test(an_index_stands_for_its_directory),
        cmocka_unit_test(a_damaged_file_is_told_and_left_out),
        cmocka_unit_test(a_directory_without_tensors_is_refused),
        cmocka_unit_test(links_in_circles_end),
        cmocka_unit_test(many_files_need_few_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
