/* step_values.c - see step_values.h. */
#include "record/step_values.h"

#include "base/crc32.h"
#include "base/error.h"
#include "base/memory.h"
#include "format/npy_header.h"

#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 64, NPY_HEADER_LIMIT = 1 << 16 };

void plumb_step_values_init(struct plumb_step_values *values, const char *directory)
{
    *values = (struct plumb_step_values){.directory = directory, .last = INT64_MIN};
}

static enum plumb_status open_step(struct plumb_step_values *values, int64_t step,
                                   struct plumb_error *err)
{
    const size_t size = strlen(values->directory) + 40;
    char *path = plumb_alloc(size);
    if (!path)
        return plumb_fail_memory(err);
    (void)snprintf(path, size, "%s/step%06lld.npz", values->directory, (long long)step);
    enum plumb_status status = plumb_output_open(path, &values->output, err);
    plumb_free(path);
    if (status)
        return status;
    plumb_zip_writer_init(&values->zip, values->output, ALIGNMENT);
    values->step = step;
    return PLUMB_OK;
}

static enum plumb_status write_member(struct plumb_step_values *values, const char *name,
                                      const struct plumb_buffer *header, const void *data,
                                      size_t size, struct plumb_error *err)
{
    struct plumb_zip_writer *zip = &values->zip;
    enum plumb_status status = plumb_zip_writer_begin(zip, name, header->size + size, err);
    if (status == PLUMB_OK)
        status = plumb_output_write(values->output, header->data, header->size, err);
    if (status == PLUMB_OK)
        status = plumb_output_write(values->output, data, size, err);
    const uint32_t crc = plumb_crc32(0, header->data, header->size);
    return status ? status : plumb_zip_writer_end(zip, plumb_crc32(crc, data, size), err);
}

enum plumb_status plumb_step_values_add(struct plumb_step_values *values, int64_t step,
                                        const struct plumb_value *value,
                                        struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    if (values->output && values->step != step)
        status = plumb_step_values_finish(values, err);
    if (status == PLUMB_OK && !values->output)
        status = open_step(values, step, err);
    if (status)
        return status;
    size_t size = plumb_dtype_size(value->dtype);
    for (int i = 0; i < value->rank; i++)
        size *= (size_t)value->shape[i];
    struct plumb_buffer name, header;
    plumb_buffer_init(&name, UINT16_MAX);
    plumb_buffer_init(&header, NPY_HEADER_LIMIT);
    plumb_buffer_printf(&name, "%s.npy", value->name);
    plumb_npy_header_write(value->dtype, value->rank, value->shape, &header);
    status = plumb_buffer_failed(&name) || plumb_buffer_failed(&header)
                 ? plumb_fail_memory(err)
                 : write_member(values, name.data, &header, value->data, size, err);
    plumb_buffer_release(&name);
    plumb_buffer_release(&header);
    return status;
}

enum plumb_status plumb_step_values_finish(struct plumb_step_values *values,
                                           struct plumb_error *err)
{
    if (!values->output)
        return PLUMB_OK;
    enum plumb_status status = plumb_zip_writer_finish(&values->zip, err);
    if (status == PLUMB_OK)
        status = plumb_output_publish(values->output, err);
    if (status == PLUMB_OK)
        values->last = values->step;
    plumb_step_values_abandon(values);
    return status;
}

void plumb_step_values_abandon(struct plumb_step_values *values)
{
    if (!values->output)
        return;
    plumb_zip_writer_release(&values->zip);
    plumb_output_close(values->output);
    values->output = NULL;
}
