/* write_file.h - a list of tensors becomes a file of some format, whole or not at all. */
#ifndef PLUMB_FORMAT_WRITE_FILE_H
#define PLUMB_FORMAT_WRITE_FILE_H

#include "format/format.h"

/* `format_name` NULL: from the extension of `path`. */
enum plumb_status plumb_write_request_to(const char *path, const char *format_name,
                                         const struct plumb_write_request *request,
                                         struct plumb_error *err);

#endif
