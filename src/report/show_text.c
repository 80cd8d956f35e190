/* show_text.c - a file as a table for people. */
#include "report/show.h"

#include "base/text.h"
#include "report/table_text.h"
#include "report/words.h"

#include <string.h>

enum { MOST_NOTES = 40, LONGEST_NOTE = 100 };

static void write_heading(const struct plumb_show *show, struct plumb_buffer *to)
{
    const struct plumb_file *file = show->file;
    char count[WORD_SIZE], parameters[WORD_SIZE], bytes[WORD_SIZE];
    plumb_buffer_printf(to, "%s: %s%s%s\n%s tensor%s, %s parameter%s, %s\n", file->path,
                        file->format, *file->framework ? ", " : "", file->framework,
                        plumb_word_count(show->count, count), show->count == 1 ? "" : "s",
                        plumb_word_count(show->parameters, parameters),
                        show->parameters == 1 ? "" : "s", plumb_word_bytes(show->bytes, bytes));
}

static void stats_columns(struct plumb_table_text *table)
{
    static const char *const titles[] = {"min", "max",  "mean", "std",
                                         "l2",  "zero", "nan",  "inf"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        plumb_table_text_column(table, titles[i], true);
}

static void stats_cells(struct plumb_table_text *table, const struct plumb_stats *stats)
{
    const double numbers[] = {stats->min, stats->max, stats->mean, stats->std, stats->l2};
    const uint64_t counts[] = {stats->zero, stats->nan, stats->pos_inf + stats->neg_inf};
    char text[WORD_SIZE];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        plumb_table_text_cell(table, "%s", plumb_word_number(numbers[i], text));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        plumb_table_text_cell(table, "%s", plumb_word_count(counts[i], text));
}

static void write_tensors(const struct plumb_show *show, struct plumb_buffer *to)
{
    struct plumb_table_text table;
    if (!show->count)
        return;
    plumb_table_text_init(&table);
    plumb_table_text_column(&table, "name", false);
    plumb_table_text_column(&table, "shape", false);
    plumb_table_text_column(&table, "dtype", false);
    plumb_table_text_column(&table, "bytes", true);
    if (show->summaries)
        stats_columns(&table);
    for (size_t i = 0; i < show->count; i++) {
        const struct plumb_tensor *tensor = show->tensors[i];
        char shape[SHAPE_SIZE], bytes[WORD_SIZE];
        const uint64_t size = (uint64_t)tensor->count * plumb_dtype_size(tensor->dtype);
        plumb_table_text_cell(&table, "%s", tensor->name);
        plumb_table_text_cell(&table, "%s", plumb_word_shape(tensor, shape));
        plumb_table_text_cell(&table, "%s", plumb_dtype_name(tensor->dtype));
        plumb_table_text_cell(&table, "%s", plumb_word_bytes(size, bytes));
        if (show->summaries)
            stats_cells(&table, &show->summaries[i].stats);
    }
    plumb_buffer_text(to, "\n");
    plumb_table_text_write(&table, show->options->width, to);
    plumb_table_text_release(&table);
}

static void write_ties(const struct plumb_show *show, struct plumb_buffer *to)
{
    bool any = false;
    for (size_t i = 0; i < show->count; i++) {
        if (show->tied_to[i] == i)
            continue;
        plumb_buffer_text(to, any ? "" : "\ntied (the same data under two names):\n");
        any = true;
        plumb_buffer_printf(to, "  %s = %s\n", show->tensors[i]->name,
                            show->tensors[show->tied_to[i]]->name);
    }
}

static void write_notes(const struct plumb_file *file, struct plumb_buffer *to)
{
    if (!file->note_count)
        return;
    plumb_buffer_text(to, "\nother content:\n");
    for (size_t i = 0; i < file->note_count && i < MOST_NOTES; i++) {
        const char *value = file->notes[i].json;
        const bool cut = strlen(value) > LONGEST_NOTE;
        plumb_buffer_printf(to, "  %s = %.*s%s\n", file->notes[i].key, LONGEST_NOTE, value,
                            cut ? " ..." : "");
    }
    if (file->note_count > MOST_NOTES)
        plumb_buffer_printf(to, "  ... and %zu more (--json shows all)\n",
                            file->note_count - MOST_NOTES);
}

static void write_warnings(const struct plumb_file *file, struct plumb_buffer *to)
{
    if (!file->warning_count)
        return;
    plumb_buffer_text(to, "\nwarnings:\n");
    for (size_t i = 0; i < file->warning_count; i++)
        plumb_buffer_printf(to, "  %s\n", file->warnings[i]);
    if (file->warnings_left_out)
        plumb_buffer_printf(to, "  ... and %zu more\n", file->warnings_left_out);
}

void plumb_show_text(const struct plumb_show *show, struct plumb_buffer *to)
{
    write_heading(show, to);
    write_tensors(show, to);
    write_ties(show, to);
    if (!show->options->names)
        write_notes(show->file, to);
    write_warnings(show->file, to);
}
