/* test_words.c - numbers, shapes and tables as people read them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "report/table_text.h"
#include "report/words.h"

#include <math.h>

static void counts_and_bytes(void **state)
{
    (void)state;
    char text[WORD_SIZE];
    assert_string_equal(plumb_word_count(0, text), "0");
    assert_string_equal(plumb_word_count(999, text), "999");
    assert_string_equal(plumb_word_count(1000, text), "1,000");
    assert_string_equal(plumb_word_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
    assert_string_equal(plumb_word_bytes(0, text), "0 B");
    assert_string_equal(plumb_word_bytes(999, text), "999 B");
    assert_string_equal(plumb_word_bytes(1000, text), "1.00 kB");
    assert_string_equal(plumb_word_bytes(999499, text), "999 kB");
    assert_string_equal(plumb_word_bytes(999500, text), "1.00 MB");
    assert_string_equal(plumb_word_bytes(1419303936, text), "1.42 GB");
    assert_string_equal(plumb_word_number((double)NAN, text), "-");
    assert_string_equal(plumb_word_number((double)-INFINITY, text), "-inf");
}

static void shapes(void **state)
{
    (void)state;
    char text[SHAPE_SIZE];
    int64_t dims[64];
    for (int i = 0; i < 64; i++)
        dims[i] = INT64_MAX;
    struct plumb_tensor tensor = {.shape = dims};
    assert_string_equal(plumb_word_shape(&tensor, text), "[]");
    tensor.rank = 64;
    assert_true(strlen(plumb_word_shape(&tensor, text)) < SHAPE_SIZE);
    assert_non_null(strstr(text, "...]"));
}

static void columns_line_up_in_any_script(void **state)
{
    (void)state;
    struct plumb_table_text table;
    struct plumb_buffer out;
    plumb_table_text_init(&table);
    plumb_buffer_init(&out, 1000);
    plumb_table_text_column(&table, "name", false);
    plumb_table_text_column(&table, "n", true);
    plumb_table_text_cell(&table, "%s", "\xe6\x9d\x83\xe9\x87\x8d"); /* two wide characters */
    plumb_table_text_cell(&table, "%d", 7);
    plumb_table_text_cell(&table, "%s", "w\xc3\xa4");
    plumb_table_text_cell(&table, "%d", 123);
    plumb_table_text_write(&table, 0, &out);
    assert_string_equal(plumb_buffer_string(&out),
                        "  name    n\n  \xe6\x9d\x83\xe9\x87\x8d    7\n  w\xc3\xa4    123\n");
    plumb_buffer_clear(&out);
    plumb_table_text_write(&table, 5, &out);
    assert_string_equal(plumb_buffer_string(&out), "  nam\n  \xe6\x9d\x83\n  w\xc3\xa4\n");
    plumb_buffer_release(&out);
    plumb_table_text_release(&table);
}

static void broken_utf8_is_counted_not_trusted(void **state)
{
    (void)state;
    assert_int_equal(plumb_display_width("\xe6"), 1);
    assert_int_equal(plumb_display_width("\xf0\x9f"), 1);
    assert_int_equal(plumb_display_width("a\xff"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_bytes),
        cmocka_unit_test(shapes),
        cmocka_unit_test(columns_line_up_in_any_script),
        cmocka_unit_test(broken_utf8_is_counted_not_trusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
