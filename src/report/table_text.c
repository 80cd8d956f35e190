/* table_text.c - see table_text.h. */
#include "report/table_text.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void plumb_table_text_init(struct plumb_table_text *table)
{
    *table = (struct plumb_table_text){0};
}

void plumb_table_text_release(struct plumb_table_text *table)
{
    plumb_free(table->cells);
    plumb_arena_release(&table->arena);
    *table = (struct plumb_table_text){0};
}

static void add_cell(struct plumb_table_text *table, const char *text)
{
    if (table->count == table->capacity && !table->failed) {
        const size_t capacity = table->capacity ? table->capacity * 2 : 64;
        const char **cells = plumb_realloc_array(table->cells, capacity, sizeof *cells);
        if (cells) {
            table->cells = cells;
            table->capacity = capacity;
        }
    }
    if (!text || table->count == table->capacity)
        table->failed = true;
    else
        table->cells[table->count++] = text;
}

void plumb_table_text_column(struct plumb_table_text *table, const char *title, bool right)
{
    if (table->columns == TABLE_MOST_COLUMNS) {
        table->failed = true;
        return;
    }
    table->right[table->columns++] = right;
    add_cell(table, plumb_arena_text(&table->arena, title, strlen(title)));
}

void plumb_table_text_cell(struct plumb_table_text *table, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        text[0] = '\0';
    plumb_utf8_make_printable(text, false);
    add_cell(table, plumb_arena_text(&table->arena, text, strlen(text)));
}

/* East Asian wide and full-width forms take two columns; the ranges that names are made of. */
static bool is_wide(uint32_t code)
{
    return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
           (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
           (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
           (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x3fffd);
}

/* The next code point; a byte that is no UTF-8 counts as one character. */
static uint32_t next_code(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    const int more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    uint32_t code = more == 0 ? *p : *p & (0x3fU >> more);
    int i = 1;
    for (; i <= more && (p[i] & 0xc0) == 0x80; i++)
        code = code << 6 | (p[i] & 0x3f);
    *text += i;
    return code;
}

size_t plumb_display_width(const char *text)
{
    size_t width = 0;
    while (*text)
        width += is_wide(next_code(&text)) ? 2 : 1;
    return width;
}

static void measure(const struct plumb_table_text *table, size_t *widths)
{
    for (size_t i = 0; i < table->count; i++) {
        const size_t width = plumb_display_width(table->cells[i]);
        if (width > widths[i % table->columns])
            widths[i % table->columns] = width;
    }
}

static void write_row(const struct plumb_table_text *table, size_t row, const size_t *widths,
                      struct plumb_buffer *line)
{
    for (size_t column = 0; column < table->columns; column++) {
        const char *cell = table->cells[row * table->columns + column];
        const size_t blank = widths[column] - plumb_display_width(cell);
        plumb_buffer_text(line, "  ");
        if (table->right[column])
            plumb_buffer_fill(line, ' ', blank);
        plumb_buffer_text(line, cell);
        if (!table->right[column] && column + 1 < table->columns)
            plumb_buffer_fill(line, ' ', blank);
    }
}

/* The bytes of `line` that fit into `width` columns, without blanks at the end. */
static size_t fitting(const char *line, int width)
{
    const char *at = line;
    size_t used = 0, end = 0;
    while (*at) {
        const uint32_t code = next_code(&at);
        used += is_wide(code) ? 2 : 1;
        if (width && used > (size_t)width)
            break;
        if (code != ' ')
            end = (size_t)(at - line);
    }
    return end;
}

void plumb_table_text_write(const struct plumb_table_text *table, int width,
                            struct plumb_buffer *to)
{
    size_t widths[TABLE_MOST_COLUMNS] = {0};
    struct plumb_buffer line;
    if (table->failed || !table->columns) {
        to->failed = to->failed || table->failed;
        return;
    }
    plumb_buffer_init(&line, 1 << 20);
    measure(table, widths);
    for (size_t row = 0; row < table->count / table->columns; row++) {
        plumb_buffer_clear(&line);
        write_row(table, row, widths, &line);
        const char *text = plumb_buffer_string(&line);
        plumb_buffer_append(to, text, fitting(text, width));
        plumb_buffer_text(to, "\n");
    }
    to->failed = to->failed || plumb_buffer_failed(&line);
    plumb_buffer_release(&line);
}
