/* test_torch_dcp.c - directories of torch.distributed.checkpoint, made by hand. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "torch_samples.h"

static char directory[64];

/* Pickles of the classes in torch.distributed.checkpoint.metadata. */
#define OBJECT(name, state) "(itorch.distributed.checkpoint.metadata\n" name "\n(d" state "b"
#define SIZE(dims) "ctorch\nSize\n((" dims "ttR"
#define TENSOR_ENTRY(name, dims)                                                               \
    "S'" name "'\n" OBJECT("TensorStorageMetadata", "S'size'\n" SIZE(dims) "s") "s"
#define BYTES_ENTRY(name) "S'" name "'\n" OBJECT("BytesStorageMetadata", "") "s"
#define SLICE(name, offsets, file, length, more)                                               \
    OBJECT("MetadataIndex", "S'fqn'\nS'" name "'\nsS'offset'\n" offsets "s")                   \
    OBJECT("_StorageInfo",                                                                     \
           "S'relative_path'\nS'" file "'\nsS'offset'\nI0\nsS'length'\nI" length "\ns" more)   \
    "s"
#define METADATA(entries, slices)                                                              \
    OBJECT("Metadata", "S'state_dict_metadata'\n(d" entries "sS'storage_data'\n(d" slices "s") \
    "."

static void path_in(char *path, size_t size, const char *name)
{
    (void)snprintf(path, size, "%s/%s", directory, name);
}

static long file_size(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (long)info.st_size;
}

/* Puts the true length of each slice where the text says LEN. */
static void write_metadata(const char *text)
{
    char path[128];
    path_in(path, sizeof path, "a.distcp");
    const long length = file_size(path);
    path_in(path, sizeof path, ".metadata");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (const char *at = text; *at;) {
        const char *mark = strstr(at, "LEN");
        const size_t plain = mark ? (size_t)(mark - at) : strlen(at);
        assert_int_equal(fwrite(at, 1, plain, file), plain);
        if (mark)
            (void)fprintf(file, "%ld", length);
        at += plain + (mark ? 3 : 0);
    }
    assert_int_equal(fclose(file), 0);
}

/* Every slice is a file of its own with values 0 to 5 in two rows, or a number. */
static void make_directory(const char *metadata)
{
    char path[128];
    (void)mkdir(directory, 0700);
    static const char *const names[] = {"a.distcp", "b.distcp", "c.distcp", "d.distcp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_in(path, sizeof path, names[i]);
        write_sample(path, MATRIX ".", NULL, 0);
    }
    write_metadata(metadata);
}

static void remove_directory(void)
{
    static const char *const names[] = {"a.distcp",      "b.distcp",  "c.distcp", "d.distcp",
                                        "number.distcp", ".metadata", "common.pt"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_in(path, sizeof path, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(directory);
}

#define AT(row, column) SIZE("I" row "\nI" column "\n")

static const struct {
    const char *metadata;
    int64_t shape[2];
    float values[24];
} sound[] = {
    {METADATA(TENSOR_ENTRY("w", "I2\nI3\n"), SLICE("w", AT("0", "0"), "a.distcp", "LEN", "")),
     {2, 3},
     {0, 1, 2, 3, 4, 5}},
    {METADATA(TENSOR_ENTRY("w", "I4\nI3\n"),
              SLICE("w", AT("2", "0"), "b.distcp", "LEN", "")
                  SLICE("w", AT("0", "0"), "a.distcp", "LEN", "")),
     {4, 3},
     {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}},
    {METADATA(TENSOR_ENTRY("w", "I2\nI6\n"),
              SLICE("w", AT("0", "0"), "a.distcp", "LEN", "")
                  SLICE("w", AT("0", "3"), "b.distcp", "LEN", "")),
     {2, 6},
     {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
    {METADATA(TENSOR_ENTRY("w", "I4\nI6\n"),
              SLICE("w", AT("0", "0"), "a.distcp", "LEN", "")
                  SLICE("w", AT("2", "3"), "b.distcp", "LEN", "")
                      SLICE("w", AT("0", "3"), "c.distcp", "LEN", "")
                          SLICE("w", AT("2", "0"), "d.distcp", "LEN", "")),
     {4, 6},
     {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
};

static void parts_are_put_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        struct plumb_file *file = NULL;
        struct plumb_error err = {0};
        make_directory(sound[i].metadata);
        if (plumb_file_open(directory, NULL, &file, &err))
            fail_msg("%s", err.message);
        remove_directory();
        assert_string_equal(plumb_file_format(file), "torch-dcp");
        assert_string_equal(plumb_file_framework(file), "pytorch");
        const struct plumb_tensor *tensor = plumb_file_find(file, "w");
        assert_non_null(tensor);
        assert_memory_equal(tensor->shape, sound[i].shape, sizeof sound[i].shape);
        float values[24];
        assert_int_equal(plumb_tensor_read(tensor, 0, tensor->count, values, NULL), PLUMB_OK);
        assert_memory_equal(values, sound[i].values, (size_t)tensor->count * sizeof(float));
        plumb_file_close(file);
    }
}

static void values_and_oddities_are_notes(void **state)
{
    (void)state;
    char path[128];
    (void)mkdir(directory, 0700);
    path_in(path, sizeof path, "number.distcp");
    write_sample(path, "F0.5\n.", NULL, 0);
    char metadata[2048];
    (void)snprintf(metadata, sizeof metadata,
                   METADATA(BYTES_ENTRY("lr") TENSOR_ENTRY("w", "I2\nI3\n")
                                TENSOR_ENTRY("nowhere", "I2\nI3\n"),
                            SLICE("lr", "N", "number.distcp", "%ld", "")
                                SLICE("w", AT("0", "0"), "a.distcp", "LEN",
                                      "S'transform_descriptors'\n(lS'zstd'\nas")),
                   file_size(path));
    make_directory(metadata);
    path_in(path, sizeof path, "common.pt");
    write_sample(path, "(dS'iteration'\nI7\ns.", NULL, 0);
    struct plumb_file *file = NULL;
    struct plumb_error err = {0};
    if (plumb_file_open(directory, NULL, &file, &err))
        fail_msg("%s", err.message);
    remove_directory();
    assert_int_equal(plumb_file_tensor_count(file), 0);
    assert_int_equal(plumb_file_note_count(file), 4);
    assert_string_equal(plumb_file_note(file, 0)->key, "lr");
    assert_string_equal(plumb_file_note(file, 0)->json, "0.5");
    assert_string_equal(plumb_file_note(file, 1)->json,
                        "\"opaque: stored in transformed form\"");
    assert_string_equal(plumb_file_note(file, 2)->json, "\"opaque: nothing in the files\"");
    assert_string_equal(plumb_file_note(file, 3)->key, "iteration");
    plumb_file_close(file);
}

static const struct {
    const char *metadata;
    enum plumb_status status;
    const char *says;
} refused[] = {
    {METADATA(TENSOR_ENTRY("w", "I4\nI3\n"), SLICE("w", AT("0", "0"), "a.distcp", "LEN", "")),
     PLUMB_DAMAGED, "has 12 values but its parts hold 6"},
    {METADATA(TENSOR_ENTRY("w", "I2\nI3\n"), SLICE("w", AT("1", "0"), "a.distcp", "LEN", "")),
     PLUMB_DAMAGED, "does not fit"},
    {METADATA(TENSOR_ENTRY("w", "I4\nI3\n"),
              SLICE("w", AT("0", "0"), "a.distcp", "LEN", "")
                  SLICE("w", AT("1", "0"), "b.distcp", "LEN", "")),
     PLUMB_DAMAGED, "overlap"},
    {METADATA(TENSOR_ENTRY("w", "I2\nI3\n"), SLICE("w", SIZE("I0\n"), "a.distcp", "LEN", "")),
     PLUMB_DAMAGED, "expected one part"},
    {METADATA(TENSOR_ENTRY("w", "I2\nI3\n"), SLICE("w", AT("0", "0"), "../a", "LEN", "")),
     PLUMB_DAMAGED, "outside of the directory"},
    {METADATA(TENSOR_ENTRY("w", "I2\nI3\n"), SLICE("w", AT("0", "0"), "gone", "LEN", "")),
     PLUMB_IO, "gone"},
    {METADATA(TENSOR_ENTRY("w", "I2\nI3\n"),
              SLICE("w", AT("0", "0"), "a.distcp", "999999", "")),
     PLUMB_DAMAGED, "a.distcp"},
    {METADATA(TENSOR_ENTRY("w", "I2\nI3\n"), SLICE("v", AT("0", "0"), "a.distcp", "LEN", "")),
     PLUMB_DAMAGED, "not understood"},
    {"(d.", PLUMB_UNSUPPORTED, "state_dict_metadata"},
};

static void damage_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct plumb_file *file = NULL;
        struct plumb_error err = {0};
        make_directory(refused[i].metadata);
        const enum plumb_status status = plumb_file_open(directory, NULL, &file, &err);
        remove_directory();
        if (!strstr(err.message, refused[i].says))
            fail_msg("case %zu says: %s", i, err.message);
        assert_int_equal(status, refused[i].status);
    }
}

static void unfinished_save_is_told(void **state)
{
    (void)state;
    char path[128];
    make_directory("(d.");
    path_in(path, sizeof path, ".metadata");
    assert_int_equal(unlink(path), 0);
    struct plumb_file *file = NULL;
    struct plumb_error err = {0};
    assert_int_equal(plumb_file_open(directory, NULL, &file, &err), PLUMB_DAMAGED);
    remove_directory();
    assert_non_null(strstr(err.message, "did not finish"));
}

int main(void)
{
    (void)snprintf(directory, sizeof directory, "/tmp/plumb-test-dcp-%d", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_put_together),
        cmocka_unit_test(values_and_oddities_are_notes),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(unfinished_save_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
