/*
 * html_page.h - the parts of a page that can be sent to a colleague: one file, no network, no script.
 *
 * Everything that comes from a run goes through plumb_html_text() or a cell, which escape it.
 */
#ifndef PLUMB_REPORT_HTML_PAGE_H
#define PLUMB_REPORT_HTML_PAGE_H

#include "base/buffer.h"

/* The head, the title and the answer. `verdict` is the class that colours it. */
void plumb_html_begin(struct plumb_buffer *to, const char *title, const char *verdict,
                      const char *answer);
void plumb_html_end(struct plumb_buffer *to);
/* Escaped: & < > " ' */
void plumb_html_text(struct plumb_buffer *to, const char *text);
void plumb_html_heading(struct plumb_buffer *to, const char *text);
void plumb_html_paragraph(struct plumb_buffer *to, const char *format, ...) PLUMB_PRINTF(2, 3);

/* A list of names and what they are: begin, any number of facts, end. */
void plumb_html_facts_begin(struct plumb_buffer *to);
void plumb_html_fact(struct plumb_buffer *to, const char *name, const char *format, ...)
    PLUMB_PRINTF(3, 4);
void plumb_html_facts_end(struct plumb_buffer *to);

/* Cells fill the rows from left to right. */
struct plumb_html_table {
    struct plumb_buffer *to;
    unsigned numbers; /* a bit a column: of numbers */
    unsigned columns, next;
};

/* Column names are separated by '|'; one that begins with '#' is of numbers. At most 32. */
void plumb_html_table_begin(struct plumb_html_table *table, struct plumb_buffer *to,
                            const char *columns);
void plumb_html_cell(struct plumb_html_table *table, const char *format, ...)
    PLUMB_PRINTF(2, 3);
/* A verdict with its colour; NULL: a dash. */
void plumb_html_verdict(struct plumb_html_table *table, const char *verdict);
void plumb_html_table_end(struct plumb_html_table *table);

/* What is folded until it is asked for. */
void plumb_html_fold_begin(struct plumb_buffer *to, const char *format, ...) PLUMB_PRINTF(2, 3);
void plumb_html_fold_end(struct plumb_buffer *to);

/* One series of two runs as a chart; `b` may be NULL. A line marks step `marked` if `has_mark`. */
struct plumb_html_chart {
    const char *title;
    const struct plumb_series *a, *b;
    bool has_mark;
    int64_t marked;
};
void plumb_html_chart(struct plumb_buffer *to, const struct plumb_html_chart *chart);

#endif
