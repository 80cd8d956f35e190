/* check_report.c - what `plumb check` found, as text and JSON. */
#include "base/utf8.h"
#include "diagnose/run_check.h"
#include "report/show.h"
#include "report/table_text.h"

static void write_json(const struct plumb_check *check, struct plumb_buffer *to)
{
    struct plumb_json_writer writer = plumb_json_writer_of(to), *json = &writer;
    plumb_json_open_object(json);
    plumb_json_put_key(json, "worst");
    plumb_json_put_string(json, plumb_check_status_name(plumb_check_worst(check)));
    plumb_json_put_key(json, "rows");
    plumb_json_open_array(json);
    for (size_t i = 0; i < check->row_count; i++) {
        const struct plumb_check_row *row = &check->rows[i];
        const struct {
            const char *key, *text;
        } texts[] = {{"status", plumb_check_status_name(row->status)},
                     {"what", row->what},
                     {"a", row->a},
                     {"b", row->b},
                     {"why", row->why}};
        plumb_json_new_line(json);
        plumb_json_open_object(json);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            plumb_json_put_key(json, texts[k].key);
            plumb_json_put_string(json, texts[k].text);
        }
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
    plumb_json_put_key(json, "left_out");
    plumb_json_put_uint(json, check->left_out);
    plumb_json_close_object(json);
    plumb_buffer_text(to, "\n");
}

static void write_text(const struct plumb_check *check, int width, struct plumb_buffer *to)
{
    struct plumb_table_text table;
    plumb_table_text_init(&table);
    plumb_table_text_column(&table, "status", false);
    plumb_table_text_column(&table, "what", false);
    plumb_table_text_column(&table, "A", false);
    if (check->two)
        plumb_table_text_column(&table, "B", false);
    plumb_table_text_column(&table, "why", false);
    for (int status = PLUMB_CHECK_ERROR; status >= PLUMB_CHECK_FINE; status--)
        for (size_t i = 0; i < check->row_count; i++) {
            const struct plumb_check_row *row = &check->rows[i];
            if ((int)row->status != status)
                continue;
            plumb_table_text_cell(&table, "%s", plumb_check_status_name(row->status));
            plumb_table_text_cell(&table, "%s", row->what);
            plumb_table_text_cell(&table, "%s", row->a);
            if (check->two)
                plumb_table_text_cell(&table, "%s", row->b ? row->b : "-");
            plumb_table_text_cell(&table, "%s", row->why ? row->why : "");
        }
    plumb_table_text_write(&table, width, to);
    plumb_table_text_release(&table);
    if (check->left_out)
        plumb_buffer_printf(to, "and %zu more\n", check->left_out);
}

enum plumb_status plumb_report_check(const struct plumb_check *check, bool json, int width,
                                     const struct plumb_sink *sink, struct plumb_error *err)
{
    struct plumb_buffer report;
    plumb_buffer_init(&report, REPORT_LIMIT);
    if (json)
        write_json(check, &report);
    else
        write_text(check, width, &report);
    if (!json && report.data)
        plumb_utf8_make_printable(report.data, true);
    const enum plumb_status status = plumb_report_send(&report, sink, err);
    plumb_buffer_release(&report);
    return status;
}
