/* registry_report.c - `plumb list` and `plumb explain`, as text and as JSON. */
#include "base/error.h"
#include "base/json_write.h"
#include "report/show.h"

#include <string.h>

static void put_entry(struct plumb_json_writer *json, enum plumb_list list,
                      const struct plumb_entry *entry, bool detail)
{
    const char *kind = plumb_list_name(list);
    plumb_json_new_line(json);
    plumb_json_open_object(json);
    plumb_json_put_key(json, "name");
    plumb_json_put_string(json, entry->name);
    plumb_json_put_key(json, "summary");
    plumb_json_put_string(json, entry->summary);
    if (detail) {
        plumb_json_put_key(json, "kind"); /* "formats" is a list of "format"s */
        plumb_json_put_text(json, kind, strlen(kind) - 1);
        plumb_json_put_key(json, "detail");
        plumb_json_put_string(json, entry->detail);
    }
    plumb_json_close_object(json);
}

enum plumb_status plumb_report_list(enum plumb_list list, bool json,
                                    const struct plumb_sink *sink, struct plumb_error *err)
{
    const struct plumb_entry *entry;
    struct plumb_buffer report;
    plumb_buffer_init(&report, REPORT_LIMIT);
    struct plumb_json_writer writer = plumb_json_writer_of(&report);
    if (json) {
        plumb_json_open_object(&writer);
        plumb_json_put_key(&writer, plumb_list_name(list));
        plumb_json_open_array(&writer);
    }
    for (size_t i = 0; (entry = plumb_list_entry(list, i)); i++) {
        if (json)
            put_entry(&writer, list, entry, false);
        else
            plumb_buffer_printf(&report, "%-18s %s\n", entry->name, entry->summary);
    }
    if (json) {
        plumb_json_close_array(&writer);
        plumb_json_close_object(&writer);
        plumb_buffer_text(&report, "\n");
    }
    enum plumb_status status = plumb_report_send(&report, sink, err);
    plumb_buffer_release(&report);
    return status;
}

static void write_entry(struct plumb_buffer *to, enum plumb_list list,
                        const struct plumb_entry *entry)
{
    const char *kind = plumb_list_name(list);
    plumb_buffer_printf(to, "%s (%.*s): %s\n\n%s\n", entry->name, (int)strlen(kind) - 1, kind,
                        entry->summary, entry->detail);
}

enum plumb_status plumb_report_entry(const char *name, bool json, const struct plumb_sink *sink,
                                     struct plumb_error *err)
{
    struct plumb_buffer report;
    size_t found = 0;
    plumb_buffer_init(&report, REPORT_LIMIT);
    struct plumb_json_writer writer = plumb_json_writer_of(&report);
    if (json)
        plumb_json_open_array(&writer);
    for (int list = 0; list < PLUMB_LIST_COUNT; list++) {
        const struct plumb_entry *entry;
        for (size_t i = 0; (entry = plumb_list_entry((enum plumb_list)list, i)); i++) {
            if (strcmp(entry->name, name) != 0)
                continue;
            found++;
            if (json)
                put_entry(&writer, (enum plumb_list)list, entry, true);
            else
                write_entry(&report, (enum plumb_list)list, entry);
        }
    }
    if (json) {
        plumb_json_close_array(&writer);
        plumb_buffer_text(&report, "\n");
    }
    enum plumb_status status =
        found
            ? plumb_report_send(&report, sink, err)
            : plumb_fail(err, PLUMB_NOT_FOUND, -1,
                         "nothing is called '%s'; `plumb list formats`, `metrics`, `verdicts` "
                         "and `patterns` show the names",
                         name);
    plumb_buffer_release(&report);
    return status;
}
