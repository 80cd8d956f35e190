/* diff_report.c - chooses the form of a report about two files. */
#include "report/diff_report.h"

#include "base/utf8.h"
#include "compare/metric.h"
#include "report/show.h"

const char *plumb_diff_metric(const struct plumb_diff_report_options *options, size_t i)
{
    if (options->metrics)
        return i < options->metric_count ? options->metrics[i] : NULL;
    const struct plumb_entry *entry = plumb_metric_entry(i);
    return entry ? entry->name : NULL;
}

enum plumb_status plumb_report_diff(const struct plumb_diff *diff,
                                    const struct plumb_diff_report_options *options,
                                    const struct plumb_sink *sink, struct plumb_error *err)
{
    struct plumb_buffer report;
    plumb_buffer_init(&report, REPORT_LIMIT);
    switch (options->form) {
    case PLUMB_REPORT_TEXT:
        plumb_diff_text(diff, options, &report);
        break;
    case PLUMB_REPORT_JSON:
        plumb_diff_json(diff, options, &report);
        break;
    case PLUMB_REPORT_CSV:
        plumb_diff_csv(diff, options, &report);
        break;
    case PLUMB_REPORT_HTML:
        plumb_diff_html(diff, &report);
        if (report.data)
            plumb_utf8_make_printable(report.data, true);
        break;
    }
    enum plumb_status status = plumb_report_send(&report, sink, err);
    plumb_buffer_release(&report);
    return status;
}
