/* zip_writer.c - archives of stored members; see zip_writer.h, and zip.c for the layout. */
#include "base/zip_writer.h"

#include "base/bytes.h"
#include "base/crc32.h"
#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum {
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    LOCATOR_SIZE = 20,
    END64_SIZE = 56,
    LOCAL_CRC_AT = 14,
    VERSION_PLAIN = 20,
    VERSION_64 = 45,
    FLAG_UTF8 = 0x0800,
    DOS_DATE = 0x0021,       /* 1 January 1980: the same tensors give the same file */
    EXTRA_ZIP64 = 0x0001,    /* sizes or an offset of 64 bits */
    EXTRA_PADDING = 0x4246,  /* "FB", as torch does it */
    WIDE_FIELDS_MAX = 4 + 24 /* header and three numbers */
};

/* 4 Mi members of 250 bytes each. */
static const size_t directory_limit = (size_t)1 << 30;

void plumb_zip_writer_init(struct plumb_zip_writer *writer, struct plumb_output *output,
                           size_t alignment)
{
    *writer = (struct plumb_zip_writer){.output = output, .alignment = alignment};
    plumb_buffer_init(&writer->directory, directory_limit);
}

void plumb_zip_writer_release(struct plumb_zip_writer *writer)
{
    plumb_buffer_release(&writer->directory);
    plumb_free(writer->name);
    writer->name = NULL;
}

/* A number that does not fit 32 bits is all ones there and stands in an extra field. */
static uint32_t narrow(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* The zip64 extra field with those of `numbers` that are too wide; returns its size or 0. */
static size_t put_wide(unsigned char *to, const uint64_t *numbers, size_t count)
{
    size_t size = 4;
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] < UINT32_MAX)
            continue;
        plumb_store_u64(to + size, numbers[i]);
        size += 8;
    }
    if (size == 4)
        return 0;
    plumb_store_u16(to, EXTRA_ZIP64);
    plumb_store_u16(to + 2, (uint16_t)(size - 4));
    return size;
}

/* Bytes of padding field that bring data written at `at` to the alignment; at least 4 or 0. */
static size_t padding_for(uint64_t at, size_t alignment)
{
    if (alignment <= 1)
        return 0;
    const size_t past = (size_t)((at + 4) % alignment);
    return 4 + (past ? alignment - past : 0);
}

static enum plumb_status write_padding(struct plumb_output *output, size_t padding,
                                       struct plumb_error *err)
{
    if (!padding)
        return PLUMB_OK;
    unsigned char field[4];
    plumb_store_u16(field, EXTRA_PADDING);
    plumb_store_u16(field + 2, (uint16_t)(padding - 4));
    enum plumb_status status = plumb_output_write(output, field, sizeof field, err);
    return status ? status : plumb_output_fill(output, 'Z', padding - 4, err);
}

enum plumb_status plumb_zip_writer_begin(struct plumb_zip_writer *writer, const char *name,
                                         uint64_t size, struct plumb_error *err)
{
    const size_t name_length = strlen(name);
    if (name_length > UINT16_MAX)
        return plumb_fail(err, PLUMB_LIMIT, -1,
                          "%s: a zip archive cannot hold a name of %zu bytes; shorten it",
                          plumb_output_path(writer->output), name_length);
    plumb_free(writer->name);
    writer->name = plumb_copy_string(name);
    if (!writer->name)
        return plumb_fail_memory(err);
    writer->header = plumb_output_size(writer->output);
    writer->size = size;

    /* The local header needs both sizes in its wide field or none. */
    unsigned char wide[WIDE_FIELDS_MAX];
    const size_t wide_size = put_wide(wide, (const uint64_t[]){size, size}, 2);
    const size_t padding =
        padding_for(writer->header + LOCAL_SIZE + name_length + wide_size, writer->alignment);
    unsigned char head[LOCAL_SIZE] = {'P', 'K', 3, 4};
    plumb_store_u16(head + 4, wide_size ? VERSION_64 : VERSION_PLAIN);
    plumb_store_u16(head + 6, FLAG_UTF8);
    plumb_store_u16(head + 12, DOS_DATE);
    plumb_store_u32(head + 18, narrow(size));
    plumb_store_u32(head + 22, narrow(size));
    plumb_store_u16(head + 26, (uint16_t)name_length);
    plumb_store_u16(head + 28, (uint16_t)(wide_size + padding));
    enum plumb_status status = plumb_output_write(writer->output, head, sizeof head, err);
    if (status == PLUMB_OK)
        status = plumb_output_write(writer->output, name, name_length, err);
    if (status == PLUMB_OK)
        status = plumb_output_write(writer->output, wide, wide_size, err);
    if (status == PLUMB_OK)
        status = write_padding(writer->output, padding, err);
    writer->begin = plumb_output_size(writer->output);
    return status;
}

static void add_to_directory(struct plumb_zip_writer *writer, uint32_t crc)
{
    const size_t name_length = strlen(writer->name);
    unsigned char wide[WIDE_FIELDS_MAX];
    const size_t wide_size =
        put_wide(wide, (const uint64_t[]){writer->size, writer->size, writer->header}, 3);
    unsigned char head[CENTRAL_SIZE] = {'P', 'K', 1, 2};
    const uint16_t version = wide_size ? VERSION_64 : VERSION_PLAIN;
    plumb_store_u16(head + 4, version);
    plumb_store_u16(head + 6, version);
    plumb_store_u16(head + 8, FLAG_UTF8);
    plumb_store_u16(head + 14, DOS_DATE);
    plumb_store_u32(head + 16, crc);
    plumb_store_u32(head + 20, narrow(writer->size));
    plumb_store_u32(head + 24, narrow(writer->size));
    plumb_store_u16(head + 28, (uint16_t)name_length);
    plumb_store_u16(head + 30, (uint16_t)wide_size);
    plumb_store_u32(head + 42, narrow(writer->header));
    plumb_buffer_append(&writer->directory, head, sizeof head);
    plumb_buffer_append(&writer->directory, writer->name, name_length);
    plumb_buffer_append(&writer->directory, wide, wide_size);
    writer->count++;
}

enum plumb_status plumb_zip_writer_end(struct plumb_zip_writer *writer, uint32_t crc,
                                       struct plumb_error *err)
{
    const uint64_t written = plumb_output_size(writer->output) - writer->begin;
    if (written != writer->size)
        return plumb_fail(err, PLUMB_INVALID, -1,
                          "%s: member %s was to have %llu bytes and got %llu",
                          plumb_output_path(writer->output), writer->name,
                          (unsigned long long)writer->size, (unsigned long long)written);
    add_to_directory(writer, crc);
    if (plumb_buffer_failed(&writer->directory))
        return plumb_fail_memory(err);
    if (crc == 0)
        return PLUMB_OK;
    unsigned char field[4];
    plumb_store_u32(field, crc);
    return plumb_output_patch(writer->output, writer->header + LOCAL_CRC_AT, field,
                              sizeof field, err);
}

enum plumb_status plumb_zip_writer_add(struct plumb_zip_writer *writer, const char *name,
                                       const void *bytes, size_t size, struct plumb_error *err)
{
    enum plumb_status status = plumb_zip_writer_begin(writer, name, size, err);
    if (status == PLUMB_OK)
        status = plumb_output_write(writer->output, bytes, size, err);
    if (status == PLUMB_OK)
        status = plumb_zip_writer_end(writer, plumb_crc32(0, bytes, size), err);
    return status;
}

enum plumb_status plumb_zip_writer_finish(struct plumb_zip_writer *writer,
                                          struct plumb_error *err)
{
    const uint64_t start = plumb_output_size(writer->output), size = writer->directory.size;
    unsigned char end64[END64_SIZE] = {'P', 'K', 6, 6};
    plumb_store_u64(end64 + 4, END64_SIZE - 12);
    plumb_store_u16(end64 + 12, VERSION_64);
    plumb_store_u16(end64 + 14, VERSION_64);
    plumb_store_u64(end64 + 24, writer->count);
    plumb_store_u64(end64 + 32, writer->count);
    plumb_store_u64(end64 + 40, size);
    plumb_store_u64(end64 + 48, start);
    unsigned char locator[LOCATOR_SIZE] = {'P', 'K', 6, 7};
    plumb_store_u64(locator + 8, start + size);
    plumb_store_u32(locator + 16, 1);
    unsigned char end[END_SIZE] = {'P', 'K', 5, 6};
    const uint16_t count = writer->count < UINT16_MAX ? (uint16_t)writer->count : UINT16_MAX;
    plumb_store_u16(end + 8, count);
    plumb_store_u16(end + 10, count);
    plumb_store_u32(end + 12, narrow(size));
    plumb_store_u32(end + 16, narrow(start));

    const bool wide = count == UINT16_MAX || start >= UINT32_MAX || size >= UINT32_MAX;
    enum plumb_status status = plumb_output_write(
        writer->output, plumb_buffer_string(&writer->directory), (size_t)size, err);
    if (status == PLUMB_OK && wide)
        status = plumb_output_write(writer->output, end64, sizeof end64, err);
    if (status == PLUMB_OK && wide)
        status = plumb_output_write(writer->output, locator, sizeof locator, err);
    return status ? status : plumb_output_write(writer->output, end, sizeof end, err);
}
