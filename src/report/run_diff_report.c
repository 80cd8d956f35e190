/* run_diff_report.c - chooses the form of a report about two runs. */
#include "report/run_diff_report.h"

#include "base/utf8.h"
#include "report/show.h"

enum plumb_status plumb_report_run_diff(const struct plumb_run_diff *diff,
                                        const struct plumb_run_diff_report_options *options,
                                        const struct plumb_sink *sink, struct plumb_error *err)
{
    static const struct plumb_run_diff_report_options usual = {.form = PLUMB_REPORT_TEXT};
    struct plumb_buffer report;
    if (!options)
        options = &usual;
    plumb_buffer_init(&report, REPORT_LIMIT);
    switch (options->form) {
    case PLUMB_REPORT_TEXT:
        plumb_run_diff_text(diff, options, &report);
        if (report.data)
            plumb_utf8_make_printable(report.data, true);
        break;
    case PLUMB_REPORT_JSON:
        plumb_run_diff_json(diff, &report);
        break;
    case PLUMB_REPORT_CSV:
        plumb_run_diff_csv(diff, &report);
        break;
    case PLUMB_REPORT_HTML:
        plumb_run_diff_html(diff, &report);
        if (report.data)
            plumb_utf8_make_printable(report.data, true);
        break;
    }
    const enum plumb_status status = plumb_report_send(&report, sink, err);
    plumb_buffer_release(&report);
    return status;
}
