/* html_page.c - see html_page.h. Light or dark is the reader's choice, made by a media query. */
#include "report/html_page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CELL_LIMIT = 1 << 20 };

static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--faint:#59636e;--line:#d1d9e0;"
    "--box:#f4f6f8;--a:#0969da;--b:#c2410c;--good:#1a7f37;--fair:#9a6700;--bad:#cf222e}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--faint:#9198a1;"
    "--line:#3d444d;--box:#161b22;--a:#58a6ff;--b:#ffa657;--good:#3fb950;--fair:#d29922;"
    "--bad:#ff7b72}}\n"
    "body{margin:2rem auto;max-width:70rem;padding:0 1rem;background:var(--paper);"
    "color:var(--ink);font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.1rem;color:var(--faint);font-weight:normal;margin:0}\n"
    "h2{font-size:1.1rem;margin:2rem 0 .5rem}\n"
    ".answer{font-size:1.35rem;border-left:.35rem solid var(--line);padding:.2rem 0 .2rem "
    "1rem}\n"
    ".identical,.rounding,.fine{color:var(--good)}.approximation,.incomplete,.note{color:var(--"
    "fair)}"
    ".different,.found{color:var(--bad)}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}"
    "dt{color:var(--faint)}dd{margin:0;overflow-wrap:anywhere}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse}"
    "th,td{border-bottom:1px solid var(--line);padding:.25rem .8rem .25rem 0;text-align:left;"
    "vertical-align:top}th{color:var(--faint);font-weight:normal}"
    "th.n,td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "details{background:var(--box);border-radius:.4rem;padding:.4rem .8rem;margin:.5rem 0}"
    "summary{cursor:pointer}\n"
    "svg{background:var(--box);border-radius:.4rem;max-width:100%;height:auto}"
    "svg text{fill:var(--faint);font:11px system-ui,sans-serif}"
    "svg .a{stroke:var(--a)}svg .b{stroke:var(--b)}svg text.a{fill:var(--a);stroke:none}"
    "svg text.b{fill:var(--b);stroke:none}svg polyline{fill:none;stroke-width:1.5}"
    "svg polyline.a{stroke-width:4;opacity:.55}"
    "svg .mark{stroke:var(--bad);stroke-dasharray:3 3}svg .frame{stroke:var(--line)}"
    "svg .lost{fill:var(--bad);stroke:none}\n"
    "figure{margin:.8rem 0}figcaption{color:var(--faint)}\n";

void plumb_html_text(struct plumb_buffer *to, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    while (text && *text) {
        const size_t plain = strcspn(text, special);
        plumb_buffer_append(to, text, plain);
        text += plain;
        if (*text)
            plumb_buffer_text(to, escaped[strchr(special, *text++) - special]);
    }
}

PLUMB_PRINTF(2, 0)
static void put_formatted(struct plumb_buffer *to, const char *format, va_list arguments)
{
    char small[512];
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(small, sizeof small, format, arguments);
    if (length >= 0 && (size_t)length < sizeof small) {
        plumb_html_text(to, small);
    } else if (length > 0 && length < CELL_LIMIT) {
        struct plumb_buffer large;
        plumb_buffer_init(&large, CELL_LIMIT + 1);
        char *room = plumb_buffer_reserve(&large, (size_t)length + 1);
        if (room)
            (void)vsnprintf(room, (size_t)length + 1, format, again);
        else
            to->failed = true;
        plumb_html_text(to, room);
        plumb_buffer_release(&large);
    }
    va_end(again);
}

void plumb_html_begin(struct plumb_buffer *to, const char *title, const char *verdict,
                      const char *answer)
{
    plumb_buffer_text(to,
                      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    plumb_html_text(to, title);
    plumb_buffer_printf(to, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
    plumb_html_text(to, title);
    plumb_buffer_printf(
        to, "</h1>\n<p class=\"answer\"><strong class=\"%s\">%s</strong>: ", verdict, verdict);
    plumb_html_text(to, answer);
    plumb_buffer_text(to, "</p>\n");
}

void plumb_html_end(struct plumb_buffer *to)
{
    plumb_buffer_printf(to, "<p><small>Plumb %s</small></p>\n</body>\n</html>\n",
                        plumb_version());
}

void plumb_html_heading(struct plumb_buffer *to, const char *text)
{
    plumb_buffer_text(to, "<h2>");
    plumb_html_text(to, text);
    plumb_buffer_text(to, "</h2>\n");
}

void plumb_html_paragraph(struct plumb_buffer *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plumb_buffer_text(to, "<p>");
    put_formatted(to, format, arguments);
    plumb_buffer_text(to, "</p>\n");
    va_end(arguments);
}

void plumb_html_facts_begin(struct plumb_buffer *to)
{
    plumb_buffer_text(to, "<dl>\n");
}

void plumb_html_fact(struct plumb_buffer *to, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plumb_buffer_text(to, "<dt>");
    plumb_html_text(to, name);
    plumb_buffer_text(to, "</dt><dd>");
    put_formatted(to, format, arguments);
    plumb_buffer_text(to, "</dd>\n");
    va_end(arguments);
}

void plumb_html_facts_end(struct plumb_buffer *to)
{
    plumb_buffer_text(to, "</dl>\n");
}

/* ---- tables -------------------------------------------------------------------------------------- */

void plumb_html_table_begin(struct plumb_html_table *table, struct plumb_buffer *to,
                            const char *columns)
{
    *table = (struct plumb_html_table){.to = to};
    plumb_buffer_text(to, "<div class=\"wide\"><table>\n<thead><tr>");
    while (*columns) {
        const size_t length = strcspn(columns, "|");
        const bool number = *columns == '#';
        table->numbers |= (unsigned)number << table->columns++;
        plumb_buffer_text(to, number ? "<th class=\"n\">" : "<th>");
        plumb_buffer_append(to, columns + number, length - number);
        plumb_buffer_text(to, "</th>");
        columns += length + (columns[length] == '|');
    }
    plumb_buffer_text(to, "</tr></thead>\n<tbody>\n");
}

static void cell_begin(struct plumb_html_table *table, const char *kind)
{
    plumb_buffer_printf(table->to, "%s<td%s%s%s>", table->next ? "" : "<tr>",
                        kind ? " class=\"" : "", kind ? kind : "", kind ? "\"" : "");
}

static void cell_end(struct plumb_html_table *table)
{
    table->next = (table->next + 1) % table->columns;
    plumb_buffer_text(table->to, table->next ? "</td>" : "</td></tr>\n");
}

void plumb_html_cell(struct plumb_html_table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cell_begin(table, table->numbers >> table->next & 1 ? "n" : NULL);
    put_formatted(table->to, format, arguments);
    cell_end(table);
    va_end(arguments);
}

void plumb_html_verdict(struct plumb_html_table *table, const char *verdict)
{
    cell_begin(table, verdict);
    plumb_buffer_text(table->to, verdict ? verdict : "-");
    cell_end(table);
}

void plumb_html_table_end(struct plumb_html_table *table)
{
    plumb_buffer_text(table->to, "</tbody></table></div>\n");
}

void plumb_html_fold_begin(struct plumb_buffer *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plumb_buffer_text(to, "<details>\n<summary>");
    put_formatted(to, format, arguments);
    plumb_buffer_text(to, "</summary>\n");
    va_end(arguments);
}

void plumb_html_fold_end(struct plumb_buffer *to)
{
    plumb_buffer_text(to, "</details>\n");
}
