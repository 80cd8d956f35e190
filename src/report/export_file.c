/* export_file.c - see export_file.h. */
#include "report/export_file.h"

#include "base/error.h"

enum { ROW_LIMIT = 32 << 20 };

enum plumb_status plumb_export_file_open(struct plumb_export_file *file, const char *path,
                                         struct plumb_error *err)
{
    *file = (struct plumb_export_file){.err = err};
    plumb_buffer_init(&file->row, ROW_LIMIT);
    return plumb_output_open(path, &file->output, err);
}

bool plumb_export_file_row(struct plumb_export_file *file)
{
    if (file->status == PLUMB_OK && plumb_buffer_failed(&file->row))
        file->status = plumb_fail_memory(file->err);
    if (file->status == PLUMB_OK)
        file->status = plumb_output_write(file->output, plumb_buffer_string(&file->row),
                                          file->row.size, file->err);
    plumb_buffer_clear(&file->row);
    return file->status == PLUMB_OK;
}

enum plumb_status plumb_export_file_close(struct plumb_export_file *file,
                                          enum plumb_status filled)
{
    enum plumb_status status = filled ? filled : file->status;
    if (status == PLUMB_OK)
        status = plumb_output_commit(file->output, file->err);
    plumb_output_close(file->output);
    plumb_buffer_release(&file->row);
    return status;
}
