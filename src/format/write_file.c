/* write_file.c - tensors from memory, or from other files, into a new file. */
#include "format/write_file.h"

#include "base/error.h"
#include "base/memory.h"

enum plumb_status plumb_write_request_to(const char *path, const char *format_name,
                                         const struct plumb_write_request *request,
                                         struct plumb_error *err)
{
    const struct plumb_format *format =
        format_name ? plumb_format_named(format_name) : plumb_format_for_writing(path);
    if (!format || !format->write)
        return plumb_fail(
            err, PLUMB_UNSUPPORTED, -1,
            "%s: %s%s%s; end the name in .npy, .npz, .pth, .ckpt or .safetensors, "
            "or give a format",
            path, format_name ? "format '" : "its name does not say a format that ",
            format_name ? format_name : "Plumb writes",
            format_name ? "' cannot be written" : "");
    struct plumb_output *output = NULL;
    enum plumb_status status = plumb_output_open(path, &output, err);
    if (status)
        return status;
    status = format->write(request, output, err);
    if (status == PLUMB_OK)
        status = plumb_output_commit(output, err);
    plumb_output_close(output);
    return status;
}

static enum plumb_status add_value(struct plumb_file *file, const struct plumb_value *value,
                                   struct plumb_error *err)
{
    int64_t count = 0, bytes = 0;
    if (value->rank < 0 || value->rank > PLUMB_MAX_RANK ||
        !plumb_shape_count(value->rank, value->shape, &count) ||
        __builtin_mul_overflow(count, (int64_t)plumb_dtype_size(value->dtype), &bytes))
        return plumb_fail(err, PLUMB_INVALID, -1, "tensor '%s' has an impossible shape",
                          value->name);
    struct plumb_map *map = NULL;
    enum plumb_status status =
        plumb_map_memory(value->name, value->data, (size_t)bytes, &map, err);
    if (status == PLUMB_OK)
        status = plumb_file_own_map(file, map, err);
    struct plumb_storage *storage = NULL;
    if (status == PLUMB_OK)
        status =
            plumb_file_add_storage(file, map, 0, (uint64_t)bytes, value->name, &storage, err);
    if (status)
        return status;
    const struct plumb_tensor_spec spec = {
        .name = value->name,
        .dtype = value->dtype,
        .rank = value->rank,
        .shape = value->shape,
        .storage = storage,
    };
    return plumb_file_add_tensor(file, &spec, err);
}

static enum plumb_status write_all(const struct plumb_file *file, const char *path,
                                   const char *format, struct plumb_error *err)
{
    struct plumb_write_item *items = plumb_alloc_array(file->tensor_count, sizeof *items);
    if (!items)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < file->tensor_count; i++) {
        const struct plumb_tensor *tensor = file->tensors[i];
        items[i] = (struct plumb_write_item){.name = tensor->name,
                                             .dtype = tensor->dtype,
                                             .rank = tensor->rank,
                                             .shape = tensor->shape,
                                             .source = tensor};
    }
    const struct plumb_write_request request = {
        .items = items, .count = file->tensor_count, .framework = ""};
    enum plumb_status status = plumb_write_request_to(path, format, &request, err);
    plumb_free(items);
    return status;
}

enum plumb_status plumb_write_file(const char *path, const char *format,
                                   const struct plumb_value *values, size_t count,
                                   struct plumb_error *err)
{
    struct plumb_file *file = NULL;
    enum plumb_status status = plumb_file_new(path, &file, err);
    for (size_t i = 0; i < count && status == PLUMB_OK; i++)
        status = add_value(file, &values[i], err);
    if (status == PLUMB_OK)
        status = write_all(file, path, format, err);
    plumb_file_close(file);
    return status;
}
