/* csv_field.h - text in a CSV file, quoted where RFC 4180 asks for it. */
#ifndef PLUMB_REPORT_CSV_FIELD_H
#define PLUMB_REPORT_CSV_FIELD_H

#include "base/buffer.h"

void plumb_csv_field(struct plumb_buffer *to, const char *text);

#endif
