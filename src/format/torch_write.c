/*
 * torch_write.c - a flat dict of tensors, as torch.save() would write it.
 *
 * The pickle is protocol 2 and uses only globals that torch.load(weights_only=True) allows:
 *
 *   { "name": _rebuild_tensor_v2(("storage", FloatStorage, "0", "cpu", n), 0, size, stride,
 *                                False, OrderedDict()), ... }
 *
 * or, if asked for, the one tensor alone. Types without a storage class of their own (float8, uint16 and wider) are an UntypedStorage
 * of bytes and _rebuild_tensor_v3, which has the dtype as one more argument.
 */
#include "format/torch_write.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/zip_writer.h"
#include "format/torch_tensor.h"

#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* 4 Mi tensors of 256 bytes each. */
static const size_t pickle_limit = (size_t)1 << 30;

static void put_global(struct plumb_buffer *out, const char *module, const char *name)
{
    plumb_buffer_printf(out, "c%s\n%s\n", module, name);
}

static void put_string(struct plumb_buffer *out, const char *text)
{
    const size_t length = strlen(text);
    unsigned char head[5] = {'X'};
    plumb_store_u32(head + 1, (uint32_t)length);
    plumb_buffer_append(out, head, sizeof head);
    plumb_buffer_append(out, text, length);
}

static void put_int(struct plumb_buffer *out, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX) {
        unsigned char bytes[5] = {'J'};
        plumb_store_u32(bytes + 1, (uint32_t)(int32_t)value);
        plumb_buffer_append(out, bytes, sizeof bytes);
        return;
    }
    unsigned char bytes[10] = {0x8a, 8};
    plumb_store_u64(bytes + 2, (uint64_t)value);
    plumb_buffer_append(out, bytes, sizeof bytes);
}

static void put_storage(struct plumb_buffer *out, const struct plumb_write_item *item,
                        size_t key)
{
    const char *storage_class = plumb_torch_storage_class(item->dtype);
    char key_text[32];
    (void)snprintf(key_text, sizeof key_text, "%zu", key);
    plumb_buffer_text(out, "(");
    put_string(out, "storage");
    if (storage_class)
        put_global(out, "torch", storage_class);
    else
        put_global(out, "torch.storage", "UntypedStorage");
    put_string(out, key_text);
    put_string(out, "cpu");
    const int64_t size = (int64_t)plumb_dtype_size(item->dtype);
    put_int(out, storage_class ? item->source->count : item->source->count * size);
    plumb_buffer_text(out, "tQ"); /* TUPLE, BINPERSID */
}

/* Size and strides of a tensor in C order, as two tuples. */
static void put_layout(struct plumb_buffer *out, const struct plumb_write_item *item)
{
    int64_t strides[PLUMB_MAX_RANK];
    uint64_t step = 1;
    for (int i = item->rank; i-- > 0;) {
        strides[i] = (int64_t)step;
        step *= item->shape[i] > 1 ? (uint64_t)item->shape[i] : 1;
    }
    plumb_buffer_text(out, "(");
    for (int i = 0; i < item->rank; i++)
        put_int(out, item->shape[i]);
    plumb_buffer_text(out, "t(");
    for (int i = 0; i < item->rank; i++)
        put_int(out, strides[i]);
    plumb_buffer_text(out, "t");
}

static void put_item(struct plumb_buffer *out, const struct plumb_write_item *item, size_t key)
{
    const bool typed = plumb_torch_storage_class(item->dtype) != NULL;
    put_global(out, "torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    plumb_buffer_text(out, "(");
    put_storage(out, item, key);
    put_int(out, 0);
    put_layout(out, item);
    plumb_buffer_append(out, "\x89", 1); /* requires_grad = False */
    put_global(out, "collections", "OrderedDict");
    plumb_buffer_text(out, ")R"); /* backward hooks: OrderedDict() */
    if (!typed)
        put_global(out, "torch", plumb_torch_dtype_name(item->dtype));
    plumb_buffer_text(out, "tR");
}

static enum plumb_status make_pickle(const struct plumb_write_request *request,
                                     struct plumb_output *output, struct plumb_buffer *pickle,
                                     struct plumb_error *err)
{
    plumb_buffer_append(pickle, "\x80\x02}(", request->bare ? 2 : 4);
    for (size_t i = 0; i < request->count; i++) {
        const struct plumb_write_item *item = &request->items[i];
        if (!plumb_torch_dtype_name(item->dtype))
            return plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                              "%s: tensor '%s' is of type %s, which PyTorch does not have; "
                              "convert it with --dtype, for example to f8e4m3 or bf16",
                              plumb_output_path(output), item->name,
                              plumb_dtype_name(item->dtype));
        if (!request->bare)
            put_string(pickle, item->name);
        put_item(pickle, item, i);
    }
    plumb_buffer_text(pickle, request->bare ? "." : "u.");
    return plumb_buffer_failed(pickle) ? plumb_fail_memory(err) : PLUMB_OK;
}

static enum plumb_status write_text(struct plumb_zip_writer *writer, const char *name,
                                    const char *text, struct plumb_error *err)
{
    return plumb_zip_writer_add(writer, name, text, strlen(text), err);
}

static enum plumb_status write_data(struct plumb_zip_writer *writer,
                                    const struct plumb_write_request *request,
                                    struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < request->count && status == PLUMB_OK; i++) {
        const struct plumb_write_item *item = &request->items[i];
        char name[48];
        (void)snprintf(name, sizeof name, "archive/data/%zu", i);
        const uint64_t size = (uint64_t)item->source->count * plumb_dtype_size(item->dtype);
        uint32_t crc = 0;
        status = plumb_zip_writer_begin(writer, name, size, err);
        if (status == PLUMB_OK)
            status =
                plumb_write_item_stream(item, writer->output, &crc, request->progress, err);
        if (status == PLUMB_OK)
            status = plumb_zip_writer_end(writer, crc, err);
    }
    return status;
}

static enum plumb_status write_members(struct plumb_zip_writer *writer,
                                       const struct plumb_write_request *request,
                                       const struct plumb_buffer *pickle,
                                       struct plumb_error *err)
{
    enum plumb_status status = plumb_zip_writer_add(
        writer, "archive/data.pkl", plumb_buffer_string(pickle), pickle->size, err);
    if (status == PLUMB_OK)
        status = write_text(writer, "archive/.format_version", "1", err);
    if (status == PLUMB_OK)
        status = write_text(writer, "archive/.storage_alignment", "64", err);
    if (status == PLUMB_OK)
        status = write_text(writer, "archive/byteorder", "little", err);
    if (status == PLUMB_OK)
        status = write_data(writer, request, err);
    if (status == PLUMB_OK)
        status = write_text(writer, "archive/version", "3\n", err);
    return status ? status : plumb_zip_writer_finish(writer, err);
}

enum plumb_status plumb_torch_write(const struct plumb_write_request *request,
                                    struct plumb_output *output, struct plumb_error *err)
{
    struct plumb_buffer pickle;
    struct plumb_zip_writer writer;
    plumb_buffer_init(&pickle, pickle_limit);
    plumb_zip_writer_init(&writer, output, ALIGNMENT);
    enum plumb_status status = make_pickle(request, output, &pickle, err);
    if (status == PLUMB_OK)
        status = write_members(&writer, request, &pickle, err);
    plumb_zip_writer_release(&writer);
    plumb_buffer_release(&pickle);
    return status;
}
