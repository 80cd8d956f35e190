/* diff_report.h - the forms a comparison of two files is written in. */
#ifndef PLUMB_REPORT_DIFF_REPORT_H
#define PLUMB_REPORT_DIFF_REPORT_H

#include "base/buffer.h"
#include "compare/diff.h"

void plumb_diff_text(const struct plumb_diff *diff,
                     const struct plumb_diff_report_options *options, struct plumb_buffer *to);
void plumb_diff_json(const struct plumb_diff *diff,
                     const struct plumb_diff_report_options *options, struct plumb_buffer *to);
void plumb_diff_html(const struct plumb_diff *diff, struct plumb_buffer *to);
void plumb_diff_csv(const struct plumb_diff *diff,
                    const struct plumb_diff_report_options *options, struct plumb_buffer *to);

/* Name of the i-th metric of a report: the chosen ones, or all; NULL past the end. */
const char *plumb_diff_metric(const struct plumb_diff_report_options *options, size_t i);

#endif
