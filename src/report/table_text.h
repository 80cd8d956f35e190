/*
 * table_text.h - rows of cells laid out in columns for a terminal.
 *
 * Cells are added row by row; widths are found at the end. Column widths count characters on
 * the screen, not bytes, so that Chinese names line up.
 */
#ifndef PLUMB_REPORT_TABLE_TEXT_H
#define PLUMB_REPORT_TABLE_TEXT_H

#include "base/arena.h"
#include "base/buffer.h"

enum { TABLE_MOST_COLUMNS = 32 };

struct plumb_table_text {
    struct plumb_arena arena;
    size_t columns;
    bool right[TABLE_MOST_COLUMNS]; /* aligned to the right: numbers */
    const char **cells;             /* row after row */
    size_t count, capacity;
    bool failed;
};

void plumb_table_text_init(struct plumb_table_text *table);
void plumb_table_text_release(struct plumb_table_text *table);
/* Columns are made before the first cell; their titles are the first row. */
void plumb_table_text_column(struct plumb_table_text *table, const char *title, bool right);
void plumb_table_text_cell(struct plumb_table_text *table, const char *format, ...)
    PLUMB_PRINTF(2, 3);
/* Appends the table, each line indented by two; lines are cut at `width` if it is not 0. */
void plumb_table_text_write(const struct plumb_table_text *table, int width,
                            struct plumb_buffer *to);

/* How many columns of a terminal a UTF-8 text takes. */
size_t plumb_display_width(const char *text);

#endif
