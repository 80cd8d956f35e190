/* nan_report.h - the forms of a report about the first value that is not finite that have files of their own. */
#ifndef PLUMB_REPORT_NAN_REPORT_H
#define PLUMB_REPORT_NAN_REPORT_H

#include "base/buffer.h"
#include "diagnose/nan_origin.h"

void plumb_nan_html(const struct plumb_nan *nan, struct plumb_buffer *to);

#endif
