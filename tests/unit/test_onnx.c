/* test_onnx.c - ONNX initializers: raw, typed and external values, graphs inside graphs. */
#include "base/buffer.h"
#include "base/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 1 << 16 };

static void put_message(struct plumb_buffer *out, uint32_t number, struct plumb_buffer *inner)
{
    plumb_wire_put_head(out, number, inner->size);
    plumb_buffer_append(out, inner->data, inner->size);
    plumb_buffer_release(inner);
}

static struct plumb_buffer new_tensor(const char *name, uint64_t type, uint64_t length)
{
    struct plumb_buffer tensor;
    plumb_buffer_init(&tensor, MOST);
    plumb_wire_put_number(&tensor, 1, length);
    plumb_wire_put_number(&tensor, 2, type);
    plumb_wire_put_text(&tensor, 8, name);
    return tensor;
}

static void put_external(struct plumb_buffer *tensor, const char *key, const char *value)
{
    struct plumb_buffer pair;
    plumb_buffer_init(&pair, MOST);
    plumb_wire_put_text(&pair, 1, key);
    plumb_wire_put_text(&pair, 2, value);
    put_message(tensor, 13, &pair);
}

/* A model around `graph`, which is released. */
static struct plumb_buffer new_model(struct plumb_buffer *graph)
{
    struct plumb_buffer model;
    plumb_buffer_init(&model, MOST);
    plumb_wire_put_number(&model, 1, 8);
    plumb_wire_put_text(&model, 2, "pytorch");
    put_message(&model, 7, graph);
    return model;
}

static enum plumb_status open_model(const struct plumb_buffer *model, struct plumb_file **file,
                                    struct plumb_error *err)
{
    return plumb_file_open_memory("m.onnx", model->data, model->size, NULL, file, err);
}

static void check_bytes(struct plumb_file *file, const char *name, enum plumb_dtype dtype,
                        const char *bytes)
{
    unsigned char back[64];
    const struct plumb_tensor *tensor = plumb_file_find(file, name);
    assert_non_null(tensor);
    assert_int_equal(tensor->dtype, dtype);
    assert_int_equal(plumb_tensor_read(tensor, 0, tensor->count, back, NULL), PLUMB_OK);
    assert_memory_equal(back, bytes, plumb_dtype_size(dtype) * (size_t)tensor->count);
}

static struct plumb_buffer sample_graph(void)
{
    struct plumb_buffer graph, tensor, inner, attribute, node;
    plumb_buffer_init(&graph, MOST);
    tensor = new_tensor("raw", 1, 2);
    plumb_wire_put_head(&tensor, 9, 8);
    plumb_buffer_append(&tensor, "abcdefgh", 8);
    put_message(&graph, 5, &tensor);
    tensor = new_tensor("half", 10, 2); /* one int32 each, not packed */
    plumb_wire_put_number(&tensor, 5, 0x3c00);
    plumb_wire_put_number(&tensor, 5, 0xc000);
    put_message(&graph, 5, &tensor);
    tensor = new_tensor("small", 3, 3); /* packed, the second negative: ten bytes */
    plumb_wire_put_head(&tensor, 5, 12);
    plumb_buffer_append(&tensor, "\1\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1\3", 12);
    put_message(&graph, 5, &tensor);
    tensor = new_tensor("floats", 1, 1);
    plumb_wire_put_head(&tensor, 4, 4);
    plumb_buffer_append(&tensor, "wxyz", 4);
    put_message(&graph, 5, &tensor);
    tensor = new_tensor("four_bits", 22, 2);
    put_message(&graph, 5, &tensor);
    plumb_buffer_init(&inner, MOST);
    tensor = new_tensor("inside", 2, 1);
    plumb_wire_put_text(&tensor, 9, "!");
    put_message(&inner, 5, &tensor);
    plumb_buffer_init(&attribute, MOST);
    put_message(&attribute, 6, &inner);
    plumb_buffer_init(&node, MOST);
    put_message(&node, 5, &attribute);
    put_message(&graph, 1, &node);
    return graph;
}

static void initializers_are_read(void **state)
{
    (void)state;
    struct plumb_buffer graph = sample_graph();
    struct plumb_buffer model = new_model(&graph);
    struct plumb_file *file = NULL;
    assert_int_equal(open_model(&model, &file, NULL), PLUMB_OK);
    assert_string_equal(plumb_file_format(file), "onnx");
    assert_string_equal(plumb_file_framework(file), "pytorch");
    assert_int_equal(plumb_file_tensor_count(file), 5);
    check_bytes(file, "raw", PLUMB_F32, "abcdefgh");
    check_bytes(file, "half", PLUMB_F16, "\0\x3c\0\xc0");
    check_bytes(file, "small", PLUMB_I8, "\1\xfe\3");
    check_bytes(file, "floats", PLUMB_F32, "wxyz");
    check_bytes(file, "inside", PLUMB_U8, "!");
    assert_int_equal(plumb_file_warning_count(file), 1);
    assert_non_null(strstr(plumb_file_warning(file, 0), "four_bits"));
    plumb_file_close(file);
    plumb_buffer_release(&model);
}

static void a_cut_model_is_refused(void **state)
{
    (void)state;
    struct plumb_buffer graph = sample_graph();
    struct plumb_buffer model = new_model(&graph);
    for (size_t cut = 0; cut < model.size; cut++) {
        struct plumb_file *file = NULL;
        char *part = malloc(cut + 1);
        assert_non_null(part);
        memcpy(part, model.data, cut);
        assert_true(plumb_file_open_memory("m.onnx", part, cut, NULL, &file, NULL) != PLUMB_OK);
        free(part);
    }
    plumb_buffer_release(&model);
}

static void values_that_do_not_fit_the_shape_are_refused(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct plumb_buffer graph,
            tensor = new_tensor("layer.w", 6, which == 2 ? UINT64_MAX : 3);
        struct plumb_file *file = NULL;
        struct plumb_error err = {0};
        plumb_buffer_init(&graph, MOST);
        if (which)
            plumb_wire_put_text(&tensor, 9, "not twelve");
        else
            plumb_wire_put_number(&tensor, 5, 1);
        put_message(&graph, 5, &tensor);
        struct plumb_buffer model = new_model(&graph);
        assert_int_equal(open_model(&model, &file, &err), PLUMB_DAMAGED);
        if (which < 2)
            assert_non_null(strstr(err.message, "layer.w"));
        plumb_buffer_release(&model);
    }
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

/* Opens a model whose one tensor, "w", lies at `location`. */
static struct plumb_file *open_external(const char *directory, const char *location)
{
    char path[256];
    struct plumb_buffer graph, tensor = new_tensor("w", 2, 4);
    struct plumb_file *file = NULL;
    plumb_buffer_init(&graph, MOST);
    put_external(&tensor, "location", location);
    put_external(&tensor, "offset", "2");
    put_external(&tensor, "length", "4");
    plumb_wire_put_number(&tensor, 14, 1);
    put_message(&graph, 5, &tensor);
    struct plumb_buffer model = new_model(&graph);
    (void)snprintf(path, sizeof path, "%s/m.onnx", directory);
    write_bytes(path, model.data, model.size);
    plumb_buffer_release(&model);
    assert_int_equal(plumb_file_open(path, NULL, &file, NULL), PLUMB_OK);
    (void)unlink(path);
    return file;
}

static void external_data_is_found_or_named(void **state)
{
    (void)state;
    static const struct {
        const char *location;
        const char *warning; /* NULL: the tensor is there */
    } cases[] = {
        {"w.bin", NULL},
        {"./w.bin", NULL},
        {"missing.bin", "copy"},
        {"short.bin", "too short"},
        {"/etc/hosts", "outside"},
        {"../w.bin", "outside"},
        {"a/../../w.bin", "outside"},
        {"a/..", "outside"},
        {"", "outside"},
    };
    char directory[] = "/tmp/plumb-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/w.bin", directory);
    write_bytes(path, "..abcd..", 8);
    (void)snprintf(path, sizeof path, "%s/short.bin", directory);
    write_bytes(path, "..abc", 5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_file *file = open_external(directory, cases[i].location);
        assert_int_equal(plumb_file_tensor_count(file), cases[i].warning ? 0 : 1);
        if (cases[i].warning) {
            assert_non_null(strstr(plumb_file_warning(file, 0), "'w'"));
            assert_non_null(strstr(plumb_file_warning(file, 0), cases[i].warning));
        } else {
            check_bytes(file, "w", PLUMB_U8, "abcd");
        }
        plumb_file_close(file);
    }
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/w.bin", directory);
    (void)unlink(path);
    (void)rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initializers_are_read),
        cmocka_unit_test(a_cut_model_is_refused),
        cmocka_unit_test(values_that_do_not_fit_the_shape_are_refused),
        cmocka_unit_test(external_data_is_found_or_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
