/* report_file.h - a report that goes to a file beside what is printed. */
#ifndef REPORT_FILE_H
#define REPORT_FILE_H

#include <plumb.h>

#include <stdbool.h>

/* `write` puts the report into the sink. False after saying on stderr why there is no whole file;
 * `option` is the one that named the path: "--html". */
bool report_file_write(const char *verb, const char *option, const char *path,
                       enum plumb_status (*write)(void *context, const struct plumb_sink *sink),
                       void *context);

#endif
