/* run_diff_report.h - the forms a comparison of two runs is written in. */
#ifndef PLUMB_REPORT_RUN_DIFF_REPORT_H
#define PLUMB_REPORT_RUN_DIFF_REPORT_H

#include "base/buffer.h"
#include "compare/run_diff.h"

void plumb_run_diff_text(const struct plumb_run_diff *diff,
                         const struct plumb_run_diff_report_options *options,
                         struct plumb_buffer *to);
void plumb_run_diff_json(const struct plumb_run_diff *diff, struct plumb_buffer *to);
void plumb_run_diff_html(const struct plumb_run_diff *diff, struct plumb_buffer *to);
void plumb_run_diff_csv(const struct plumb_run_diff *diff, struct plumb_buffer *to);

#endif
