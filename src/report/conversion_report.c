/* conversion_report.c - what a conversion did, in a line or as JSON. */
#include "base/json_write.h"
#include "report/show.h"

enum { COUNTS = 5 };

struct count {
    const char *key, *word;
    size_t value;
};

static void write_text(struct plumb_buffer *to, const char *path, const struct count *counts,
                       const char *note)
{
    plumb_buffer_printf(to, "%s: %zu tensor%s", path, counts[0].value,
                        counts[0].value == 1 ? "" : "s");
    for (int i = 1; i < COUNTS; i++)
        if (counts[i].value)
            plumb_buffer_printf(to, ", %zu %s", counts[i].value, counts[i].word);
    plumb_buffer_printf(to, "\n%s%s", note, *note ? "\n" : "");
}

static void write_json(struct plumb_buffer *to, const char *path, const struct count *counts,
                       const char *note)
{
    struct plumb_json_writer json = plumb_json_writer_of(to);
    plumb_json_open_object(&json);
    plumb_json_put_key(&json, "path");
    plumb_json_put_string(&json, path);
    for (int i = 0; i < COUNTS; i++) {
        plumb_json_put_key(&json, counts[i].key);
        plumb_json_put_uint(&json, counts[i].value);
    }
    plumb_json_put_key(&json, "note");
    plumb_json_put_string(&json, note);
    plumb_json_close_object(&json);
    plumb_buffer_text(to, "\n");
}

enum plumb_status plumb_report_conversion(const char *out_path,
                                          const struct plumb_convert_result *result, bool json,
                                          const struct plumb_sink *sink,
                                          struct plumb_error *err)
{
    const struct count counts[COUNTS] = {
        {"tensors", "", result->tensors},           {"renamed", "renamed", result->renamed},
        {"reshaped", "reshaped", result->reshaped}, {"cast", "cast", result->cast},
        {"dropped", "left out", result->dropped},
    };
    struct plumb_buffer report;
    plumb_buffer_init(&report, REPORT_LIMIT);
    if (json)
        write_json(&report, out_path, counts, result->note);
    else
        write_text(&report, out_path, counts, result->note);
    enum plumb_status status = plumb_report_send(&report, sink, err);
    plumb_buffer_release(&report);
    return status;
}
