/* test_torch.c - archives of torch.save: names, layouts, notes, and what cannot be read. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "torch_samples.h"

static char path[64];

static struct plumb_file *open_pickle(const char *pickle, const struct sample_member *more,
                                      size_t count)
{
    struct plumb_file *file = NULL;
    struct plumb_error err = {0};
    write_sample(path, pickle, more, count);
    if (plumb_file_open(path, NULL, &file, &err))
        fail_msg("%s", err.message);
    assert_int_equal(unlink(path), 0);
    assert_string_equal(plumb_file_format(file), "torch");
    assert_string_equal(plumb_file_framework(file), "pytorch");
    return file;
}

static const char *note_of(const struct plumb_file *file, const char *key)
{
    for (size_t i = 0; i < plumb_file_note_count(file); i++)
        if (strcmp(plumb_file_note(file, i)->key, key) == 0)
            return plumb_file_note(file, i)->json;
    return "absent";
}

static const struct {
    const char *what, *pickle, *name;
    int rank;
    int64_t count;
    float first, last;
    bool parameter;
} tensors[] = {
    {"at the top", MATRIX ".", "tensor", 2, 6, 0, 5, true},
    {"state dict", "(dS'fc.weight'\n" MATRIX "s.", "fc.weight", 2, 6, 0, 5, true},
    {"ordered", "ccollections\nOrderedDict\n(tRS'w'\n" MATRIX "s.", "w", 2, 6, 0, 5, true},
    {"python 2", "ccollections\nOrderedDict\n((l(lS'w'\na" MATRIX "aatR.", "w", 2, 6, 0, 5,
     true},
    {"nested", "(dS'a'\n(dI7\n(l" MATRIX "ass.", "a.7.0", 2, 6, 0, 5, true},
    {"transposed", "(dS'w'\n" TENSOR("Float", "0", "6", "0", "I3\nI2\n", "I1\nI3\n") "s.", "w",
     2, 6, 0, 5, true},
    {"slice", "(dS'w'\n" TENSOR("Float", "0", "6", "1", "I2\nI2\n", "I3\nI1\n") "s.", "w", 2, 4,
     1, 5, true},
    {"expanded", "(dS'w'\n" TENSOR("Float", "0", "6", "2", "I4\n", "I0\n") "s.", "w", 1, 4, 2,
     2, true},
    {"scalar", "(dS'w'\n" TENSOR("Float", "0", "6", "5", "", "") "s.", "w", 0, 1, 5, 5, true},
    {"parameter", "(dS'w'\nctorch._utils\n_rebuild_parameter\n(" MATRIX "I01\nNtRs.", "w", 2, 6,
     0, 5, true},
    {"subclass",
     "(dS'w'\nctorch._tensor\n_rebuild_from_type_v2\n(" V2
     "cmy\nTensor\n" STORAGE("Float", "0", "6") "I0\n(I6\nt(I1\ntI00\nNt(dtRs.",
     "w", 1, 6, 0, 5, true},
    {"npu",
     "(dS'w'\nctorch_npu.utils.storage\n_rebuild_npu_tensor\n" STORAGE(
         "Float", "0", "6") "I0\n(I6\nt(I1\ntI00\nNI2\ntRs.",
     "w", 1, 6, 0, 5, true},
    {"v3",
     "(dS'w'\nctorch._utils\n_rebuild_tensor_v3\n((S'storage'\nctorch.storage\nUntypedStorage\n"
     "S'0'\nS'cpu'\nI24\ntQI1\n(I5\nt(I1\ntI00\nNctorch\nfloat32\ntRs.",
     "w", 1, 5, 1, 5, true},
    {"optimizer", "(dS'optimizer'\n(dS'x'\n" MATRIX "ss.", "optimizer.x", 2, 6, 0, 5, false},
    {"optimizer alone", "(dS'state'\n(dI0\n(dS'anything'\n" MATRIX "sssS'param_groups'\n(ls.",
     "state.0.anything", 2, 6, 0, 5, false},
    {"module",
     "(imy\nNet\n(dS'_parameters'\n(dS'w'\n" MATRIX "sS'none'\nNssS'_buffers'\n(dsS'_modules'\n"
     "(dsS'other'\nI1\nsb.",
     "w", 2, 6, 0, 5, true},
    {"namespace", "(iargparse\nNamespace\n(dS'w'\n" MATRIX "sb.", "w", 2, 6, 0, 5, true},
};

static void tensors_are_found_and_laid_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        struct plumb_file *file = open_pickle(tensors[i].pickle, NULL, 0);
        const struct plumb_tensor *tensor = plumb_file_find(file, tensors[i].name);
        if (!tensor || plumb_file_tensor_count(file) != 1)
            fail_msg("%s: no '%s', or others", tensors[i].what, tensors[i].name);
        assert_int_equal(tensor->dtype, PLUMB_F32);
        assert_int_equal(tensor->rank, tensors[i].rank);
        assert_int_equal(tensor->count, tensors[i].count);
        assert_int_equal(tensor->parameter, tensors[i].parameter);
        float values[6] = {0};
        assert_int_equal(plumb_tensor_read(tensor, 0, tensor->count, values, NULL), PLUMB_OK);
        assert_true(values[0] == tensors[i].first);
        assert_true(values[tensor->count - 1] == tensors[i].last);
        plumb_file_close(file);
    }
}

static const struct {
    const char *pickle, *key, *json;
} notes[] = {
    {"I3\n.", "value", "3"},
    {"(dS'epoch'\nI3\ns.", "epoch", "3"},
    {"(dS'a'\n(dS'lr'\nF0.001\nss.", "a.lr", "0.001"},
    {"(dS'betas'\n(F0.9\nF0.999\nts.", "betas", "[0.9,0.999]"},
    {"(dS'x'\nNs.", "x", "null"},
    {"(dS'x'\nFnan\ns.", "x", "\"nan\""},
    {"(dS'x'\nL1180591620717411303424L\ns.", "x", "\"1180591620717411303424\""},
    {"(dS'x'\n(ds.", "x", "{}"},
    {"(dS'x'\n(ls.", "x", "[]"},
    {"(dS'x'\nctorch\nSize\n((I1\nI2\nttRs.", "x", "[1,2]"},
    {"(dS'x'\nctorch\ndevice\n(S'cpu'\ntRs.", "x", "\"cpu\""},
    {"(dS'x'\nctorch\nfloat16\ns.", "x", "\"torch.float16\""},
    {"(dS'x'\nc__builtin__\nset\n((lI1\natRs.", "x", "[1]"},
    {"(dS'x'\nc_codecs\nencode\n(V\xe9 b\nS'latin1'\ntRs.", "x", "\"3 bytes\""},
    {"(dS'x'\ncnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(S'i2'\ntRc_codecs\nencode\n"
     "(V\xfe\xff\nS'latin1'\ntRtRs.",
     "x", "-2"},
    {"(dS'x'\ncpathlib\nPosixPath\n(S'/'\nS'a'\nS'b'\ntRs.", "x", "\"/a/b\""},
    {"(dS'args'\n(iargparse\nNamespace\n(dS'layers'\nI2\nsbs.", "args.layers", "2"},
    {"(dS'x'\nctorch._utils\n_rebuild_qtensor\n(tRs.", "x",
     "\"opaque: torch._utils._rebuild_qtensor\""},
    {"(dS'x'\nctorch._utils\n_rebuild_tensor_v2\n(tRs.", "x",
     "\"opaque: a tensor whose description is not understood\""},
    {"(dS'x'\n" V2
     "((S'storage'\nctorch\nUntypedStorage\nS'0'\nS'cpu'\nI24\ntQI0\n(I6\nt(I1\ntI00\n"
     "NtRs.",
     "x", "\"opaque: a tensor whose description is not understood\""},
    {"(dS'x'\ncos\nsystem\n(S'true'\ntRs.", "x", "\"opaque: os.system\""},
    {"(dS'x'\n(lp0\ng0\nas.", "x.0", "\"opaque: contains itself or is nested too deep\""},
    {"(d(I1\nI2\ntI5\ns.", "[1,2]", "5"},
    {"(dS'_metadata'\nI1\ns.", "_metadata", "absent"},
};

static void the_rest_becomes_notes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        struct plumb_file *file = open_pickle(notes[i].pickle, NULL, 0);
        assert_string_equal(note_of(file, notes[i].key), notes[i].json);
        plumb_file_close(file);
    }
}

static const struct {
    const char *pickle;
    enum plumb_status status;
    const char *says;
} refused[] = {
    {"(dS'w'\n" TENSOR("Float", "9", "6", "0", "I6\n", "I1\n") "s.", PLUMB_DAMAGED,
     "storage '9' is not in the archive"},
    {"(dS'w'\n" TENSOR("Float", "0", "6", "1", "I6\n", "I1\n") "s.", PLUMB_DAMAGED, "'w'"},
    {"(dS'w'\n" TENSOR("Double", "0", "6", "0", "I6\n", "I1\n") "s.", PLUMB_DAMAGED, "'w'"},
    {"(dS'w'\n" TENSOR("Float", "0", "6", "9223372036854775807", "I6\n", "I1\n") "s.",
     PLUMB_DAMAGED, "begins beyond"},
    {"(dS'w'\n" TENSOR("Float", "0", "6", "0", "I6\n", "I9223372036854775807\n") "s.",
     PLUMB_LIMIT, "'w'"},
    {"(dS'w'\n", PLUMB_DAMAGED, "ends before its end mark"},
};

static void damage_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct plumb_file *file = NULL;
        struct plumb_error err = {0};
        write_sample(path, refused[i].pickle, NULL, 0);
        assert_int_equal(plumb_file_open(path, NULL, &file, &err), refused[i].status);
        assert_non_null(strstr(err.message, refused[i].says));
        assert_int_equal(unlink(path), 0);
    }
}

/* One list holds the next twice, sixty times over: 2^60 entries in 300 bytes. */
static void a_small_file_cannot_ask_for_a_large_tree(void **state)
{
    (void)state;
    struct plumb_buffer pickle;
    plumb_buffer_init(&pickle, 1 << 16);
    plumb_buffer_text(&pickle, "(dp0\n");
    for (int i = 1; i <= 60; i++)
        plumb_buffer_printf(&pickle, "0(lp%d\ng%d\nag%d\na", i, i - 1, i - 1);
    plumb_buffer_text(&pickle, ".");
    struct plumb_file *file = NULL;
    struct plumb_error err = {0};
    write_sample(path, plumb_buffer_string(&pickle), NULL, 0);
    assert_int_equal(plumb_file_open(path, NULL, &file, &err), PLUMB_LIMIT);
    assert_int_equal(unlink(path), 0);
    plumb_buffer_release(&pickle);
}

static void shared_storage_is_one(void **state)
{
    (void)state;
    struct plumb_file *file = open_pickle("(dS'a'\n" MATRIX "sS'b'\n" MATRIX "s.", NULL, 0);
    assert_true(
        plumb_tensor_same_storage(plumb_file_find(file, "a"), plumb_file_find(file, "b")));
    plumb_file_close(file);
}

static void big_endian_and_torchscript_are_seen(void **state)
{
    (void)state;
    const struct sample_member more[] = {{"any/byteorder", "big", 3},
                                         {"any/constants.pkl", "N.", 2}};
    struct plumb_file *file = open_pickle("(dS'w'\n" MATRIX "s.", more, 2);
    float values[6] = {0};
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "w"), 0, 6, values, NULL), 0);
    unsigned char bytes[4];
    memcpy(bytes, &values[1], sizeof bytes); /* 1.0f is 3f800000 */
    assert_int_equal(bytes[0], 0x3f);
    assert_string_equal(note_of(file, "torchscript"), "true");
    plumb_file_close(file);
}

static void a_tensor_stored_as_its_conjugate_is_a_note(void **state)
{
    (void)state;
    struct plumb_file *file =
        open_pickle("(dS'w'\n" V2 STORAGE("ComplexFloat", "0",
                                          "3") "I0\n(I3\nt(I1\ntI00\nN(dS'conj'\nI01\nstRs.",
                    NULL, 0);
    assert_null(plumb_file_find(file, "w"));
    assert_string_equal(note_of(file, "w"), "\"opaque: a tensor stored as its conjugate\"");
    plumb_file_close(file);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    const int64_t shape[2] = {2, 3}, empty[2] = {0, 3};
    unsigned char bytes[96];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i % 2);
    struct plumb_value values[PLUMB_DTYPE_COUNT + 2];
    size_t count = 0;
    for (int dtype = 0; dtype < PLUMB_DTYPE_COUNT; dtype++)
        if (dtype != PLUMB_HIF8)
            values[count++] = (struct plumb_value){plumb_dtype_name((enum plumb_dtype)dtype),
                                                   (enum plumb_dtype)dtype, 2, shape, bytes};
    values[count++] = (struct plumb_value){"a.scalar", PLUMB_F32, 0, NULL, bytes};
    values[count++] = (struct plumb_value){"empty", PLUMB_F32, 2, empty, bytes};
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_write_file(path, "torch", values, count, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_open(path, NULL, &file, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_tensor_count(file), count);
    for (size_t i = 0; i < count; i++) {
        const struct plumb_tensor *tensor = plumb_file_tensor(file, i);
        unsigned char back[96];
        assert_string_equal(tensor->name, values[i].name);
        assert_int_equal(tensor->dtype, values[i].dtype);
        assert_int_equal(plumb_tensor_read(tensor, 0, tensor->count, back, NULL), PLUMB_OK);
        assert_memory_equal(back, bytes,
                            (size_t)tensor->count * plumb_dtype_size(tensor->dtype));
    }
    plumb_file_close(file);
    assert_int_equal(unlink(path), 0);
}

static void hif8_cannot_be_written(void **state)
{
    (void)state;
    struct plumb_error err = {0};
    const struct plumb_value value = {"w", PLUMB_HIF8, 0, NULL, "x"};
    assert_int_equal(plumb_write_file(path, "torch", &value, 1, &err), PLUMB_UNSUPPORTED);
    assert_non_null(strstr(err.message, "hif8"));
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    (void)snprintf(path, sizeof path, "/tmp/plumb-test-torch-%d.pt", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_found_and_laid_out),
        cmocka_unit_test(the_rest_becomes_notes),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(a_small_file_cannot_ask_for_a_large_tree),
        cmocka_unit_test(shared_storage_is_one),
        cmocka_unit_test(big_endian_and_torchscript_are_seen),
        cmocka_unit_test(a_tensor_stored_as_its_conjugate_is_a_note),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(hif8_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
