/* test_shard_index.c - checkpoints in several files: whole, with gaps, and misleading ones. */
#include "unit/scratch.h"

#include "plumb.h"

/* A safetensors file with the tensors a and b, or others of one letter each. */
static void put_shard(struct scratch *scratch, const char *file, const char *letters)
{
    static const int64_t shape[] = {2};
    struct plumb_value values[8];
    char names[8][2];
    size_t count = 0;
    for (; letters[count]; count++) {
        names[count][0] = letters[count];
        names[count][1] = '\0';
        values[count] = (struct plumb_value){.name = names[count],
                                             .dtype = PLUMB_F32,
                                             .rank = 1,
                                             .shape = shape,
                                             .data = "12345678"};
    }
    assert_int_equal(
        plumb_write_file(scratch_path(scratch, file), "safetensors", values, count, NULL), 0);
}

static struct plumb_file *open_index(struct scratch *scratch, const char *text,
                                     enum plumb_status expected, struct plumb_error *err)
{
    struct plumb_file *file = NULL;
    scratch_text(scratch, "m.index.json", text);
    assert_int_equal(plumb_file_open(scratch_path(scratch, "m.index.json"), NULL, &file, err),
                     expected);
    return file;
}

static void shards_become_one(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    put_shard(&scratch, "1.safetensors", "abx");
    put_shard(&scratch, "2.bin", "cx");
    struct plumb_file *file = open_index(
        &scratch,
        "{\"metadata\": {\"total_size\": 24}, \"weight_map\": {\"a\": \"1.safetensors\","
        " \"b\": \"1.safetensors\", \"c\": \"2.bin\"}}",
        PLUMB_OK, NULL);
    assert_string_equal(plumb_file_format(file), "shard-index");
    assert_int_equal(plumb_file_tensor_count(file), 3); /* x is nobody's */
    assert_non_null(plumb_file_find(file, "a"));
    assert_non_null(plumb_file_find(file, "c"));
    assert_int_equal(plumb_file_warning_count(file), 2);
    assert_non_null(strstr(plumb_file_warning(file, 0), "1 tensor in it that the index"));
    float values[2];
    assert_int_equal(plumb_tensor_read(plumb_file_find(file, "c"), 0, 2, values, NULL), 0);
    assert_memory_equal(values, "12345678", 8);
    plumb_file_close(file);
    scratch_close(&scratch);
}

static void gaps_are_told(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    put_shard(&scratch, "1.safetensors", "ab");
    struct plumb_file *file =
        open_index(&scratch,
                   "{\"weight_map\": {\"a\": \"1.safetensors\", \"q\": \"1.safetensors\","
                   " \"c\": \"gone.bin\", \"d\": \"gone.bin\"}}",
                   PLUMB_OK, NULL);
    assert_int_equal(plumb_file_tensor_count(file), 1);
    assert_int_equal(plumb_file_warning_count(file), 3);
    assert_non_null(strstr(plumb_file_warning(file, 0), "does not name")); /* b */
    assert_non_null(strstr(plumb_file_warning(file, 1), "'q'"));
    assert_non_null(strstr(plumb_file_warning(file, 2), "gone.bin"));
    assert_non_null(strstr(plumb_file_warning(file, 2), "2 tensors"));
    plumb_file_close(file);
    scratch_close(&scratch);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum plumb_status status;
        const char *word;
    } cases[] = {
        {"{\"weight_map\": {\"a\": \"gone.bin\"}}", PLUMB_IO, "gone.bin"},
        {"{\"weight_map\": {\"a\": \"../1.safetensors\"}}", PLUMB_DAMAGED, "refused"},
        {"{\"weight_map\": {\"a\": \"/etc/passwd\"}}", PLUMB_DAMAGED, "refused"},
        {"{\"weight_map\": {\"a\": 3}}", PLUMB_DAMAGED, "text"},
        {"{\"weight_map\": []}", PLUMB_DAMAGED, "weight_map"},
        {"{\"weight_map\": {\"a\": \"x\", \"a\": \"y\"}}", PLUMB_DAMAGED, "twice"},
        {"{\"weight_map\": {\"a\": \"x\"", PLUMB_DAMAGED, "JSON"},
        {"{\"weight_map\": {\"a\": \".\"}}", PLUMB_UNSUPPORTED, "not a file"},
        {"{\"weight_map\": {\"a\": \"m.index.json\"}}", PLUMB_UNSUPPORTED, "another"},
    };
    struct scratch scratch;
    scratch_open(&scratch);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_error err = {0};
        assert_null(open_index(&scratch, cases[i].text, cases[i].status, &err));
        assert_non_null(strstr(err.message, cases[i].word));
        assert_non_null(strstr(err.message, "m.index.json"));
    }
    scratch_close(&scratch);
}

static void an_index_in_memory_has_no_neighbours(void **state)
{
    (void)state;
    static const char text[] = "{\"weight_map\": {\"a\": \"x\"}}";
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_file_open_memory("i.json", text, strlen(text), NULL, &file, NULL),
                     PLUMB_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_become_one),
        cmocka_unit_test(gaps_are_told),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(an_index_in_memory_has_no_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
