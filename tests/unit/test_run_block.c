/* test_run_block.c - blocks of a recording: written and read again. */
#include "format/run_block.h"

#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 3 };

static void write_tensors(struct plumb_buffer *to, const struct plumb_block_tensor *rows)
{
    const struct plumb_block_header header = {.kind = PLUMB_BLOCK_TENSORS, .rows = ROWS};
    plumb_buffer_init(to, 1 << 20);
    plumb_block_write(to, header, rows, "", 1);
    assert_false(plumb_buffer_failed(to));
}

static const char *parse(const struct plumb_buffer *bytes, struct plumb_block *block)
{
    struct plumb_block_header header;
    assert_true(plumb_block_header_parse(bytes->data, &header));
    return plumb_block_parse(&header, bytes->data + PLUMB_BLOCK_HEADER, block);
}

static uint32_t column_count(const struct plumb_buffer *bytes)
{
    return plumb_load_u32((const unsigned char *)bytes->data + PLUMB_BLOCK_HEADER);
}

static void test_columns_of_zeros_are_left_out(void **unused)
{
    (void)unused;
    struct plumb_block_tensor rows[ROWS] = {{.step = 0}};
    struct plumb_buffer one, two;
    struct plumb_block block;
    write_tensors(&one, rows);
    assert_int_equal(column_count(&one), 1); /* the text */
    rows[0].step = 7;
    rows[1].flags = 3;
    rows[1].element = -1;
    rows[2].stats.mean = -0.0; /* is not nothing: it has a sign */
    rows[2].stats.nan = UINT64_C(1) << 63;
    write_tensors(&two, rows);
    assert_int_equal(column_count(&two), 6);
    assert_true(two.size > one.size);
    assert_null(parse(&two, &block));
    for (size_t i = 0; i < ROWS; i++) {
        struct plumb_block_tensor row;
        plumb_block_row(&block, i, &row);
        assert_memory_equal(&row, &rows[i], sizeof row);
    }
    plumb_buffer_release(&one);
    plumb_buffer_release(&two);
}

/* Of every kind, each column where only the last byte of its only row is set. */
static void test_no_column_is_lost(void **unused)
{
    (void)unused;
    for (unsigned kind = 0; kind < PLUMB_BLOCK_KINDS; kind++) {
        const struct plumb_block_layout *layout = plumb_block_layout(kind);
        for (size_t c = 0; layout && c < layout->count; c++) {
            const struct plumb_block_header header = {.kind = kind, .rows = 1};
            const struct plumb_column *column = &layout->columns[c];
            unsigned char row[256] = {0}, read[256] = {0};
            struct plumb_buffer bytes;
            struct plumb_block block;
            assert_true(layout->row_size <= sizeof row);
            row[column->offset + plumb_column_size(column->type) - 1] = 1;
            plumb_buffer_init(&bytes, 1 << 20);
            plumb_block_write(&bytes, header, row, "", 1);
            assert_int_equal(column_count(&bytes), 2); /* with the text */
            assert_null(parse(&bytes, &block));
            plumb_block_row(&block, 0, read);
            assert_memory_equal(read, row, layout->row_size);
            plumb_buffer_release(&bytes);
        }
    }
}

static void test_rows_without_columns_are_not_without_end(void **unused)
{
    (void)unused;
    const struct plumb_block_tensor rows[ROWS] = {{.step = 0}};
    struct plumb_block_header header;
    struct plumb_block block;
    struct plumb_buffer bytes;
    write_tensors(&bytes, rows);
    assert_true(plumb_block_header_parse(bytes.data, &header));
    header.rows = PLUMB_BLOCK_MOST_ROWS;
    assert_null(plumb_block_parse(&header, bytes.data + PLUMB_BLOCK_HEADER, &block));
    header.rows++;
    const char *problem = plumb_block_parse(&header, bytes.data + PLUMB_BLOCK_HEADER, &block);
    assert_non_null(problem);
    assert_non_null(strstr(problem, "rows"));
    plumb_buffer_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_of_zeros_are_left_out),
        cmocka_unit_test(test_no_column_is_lost),
        cmocka_unit_test(test_rows_without_columns_are_not_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
