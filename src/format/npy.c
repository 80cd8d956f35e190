/*
 * npy.c - numpy's .npy: one array. For the layout see npy_header.h.
 *
 * An npy file has no name for its array. It is called "array", so that two such files pair by
 * name when they are compared.
 */
#include "format/format.h"

#include "base/error.h"
#include "format/npy_header.h"

static enum plumb_probe probe(const struct plumb_map *map)
{
    return plumb_npy_has_magic(map->base, map->size) ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_NO;
}

static enum plumb_status read(struct plumb_file *file, const struct plumb_map *map,
                              struct plumb_error *err)
{
    struct plumb_npy_header header;
    struct plumb_storage *storage = NULL;
    enum plumb_status status =
        plumb_npy_header_parse(map->base, map->size, map->path, &header, err);
    if (status == PLUMB_OK)
        status = plumb_file_add_storage(file, map, 0, map->size, "data", &storage, err);
    if (status == PLUMB_OK)
        status = plumb_npy_add_tensor(file, storage, header.data_offset, &header, "array", err);
    return status;
}

static enum plumb_status write(const struct plumb_write_request *request,
                               struct plumb_output *output, struct plumb_error *err)
{
    if (request->count != 1)
        return plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                          "%s: an npy file holds one array, not %zu; write .npz, or choose one",
                          plumb_output_path(output), request->count);
    const struct plumb_write_item *item = &request->items[0];
    struct plumb_buffer header;
    plumb_buffer_init(&header, PLUMB_NPY_MAX_HEADER);
    plumb_npy_header_write(item->dtype, item->rank, item->shape, &header);
    enum plumb_status status = plumb_buffer_failed(&header)
                                   ? plumb_fail_memory(err)
                                   : plumb_output_write(output, header.data, header.size, err);
    plumb_buffer_release(&header);
    if (status == PLUMB_OK)
        status = plumb_write_item_stream(item, output, NULL, request->progress, err);
    return status;
}

const struct plumb_format plumb_format_npy = {
    .entry =
        {
            .name = "npy",
            .summary = "one numpy array (.npy, versions 1 to 3)",
            .detail =
                "Written by numpy.save. C and Fortran order, both byte orders. The array is\n"
                "called \"array\", as the file has no name for it. Python objects (pickles),\n"
                "text and structured types are refused. numpy lacks bf16 and the 8-bit "
                "floats:\n"
                "they are written as their bits (|V2, |V1); |V2 is read as bf16 and |V1 as "
                "u8,\n"
                "with a warning.",
        },
    .extensions = "npy",
    .probe = probe,
    .read = read,
    .write = write,
};
