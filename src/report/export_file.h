/* export_file.h - a file of an export, written row by row; it appears whole or not at all. */
#ifndef PLUMB_REPORT_EXPORT_FILE_H
#define PLUMB_REPORT_EXPORT_FILE_H

#include "base/buffer.h"
#include "base/output.h"

/* A row is put together in `row`, then passed on. The first failure stays in `status`. */
struct plumb_export_file {
    struct plumb_output *output;
    struct plumb_buffer row;
    enum plumb_status status;
    struct plumb_error *err;
};

enum plumb_status plumb_export_file_open(struct plumb_export_file *file, const char *path,
                                         struct plumb_error *err);
/* Writes `row` and empties it. False after a failure: there is no point in going on. */
bool plumb_export_file_row(struct plumb_export_file *file);
/* Puts the file in its place if all went well, which `status` and the caller's `filled` say. */
enum plumb_status plumb_export_file_close(struct plumb_export_file *file,
                                          enum plumb_status filled);

#endif
