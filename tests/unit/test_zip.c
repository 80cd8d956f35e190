/* test_zip.c - archives by hand, by our writer, and damaged. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/crc32.h"
#include "base/zip.h"
#include "base/zip_writer.h"

/* How the hand-made archive of one member is to look. */
struct made {
    const char *name, *data, *comment;
    uint16_t flags, method;
    size_t local_extra;
    uint32_t size_says; /* 0: the truth */
    uint32_t count_says;
    bool zip64;
};

static void put16(struct plumb_buffer *out, uint32_t value)
{
    unsigned char bytes[2];
    plumb_store_u16(bytes, (uint16_t)value);
    plumb_buffer_append(out, bytes, sizeof bytes);
}

static void put32(struct plumb_buffer *out, uint32_t value)
{
    put16(out, value & 0xffff);
    put16(out, value >> 16);
}

static void put64(struct plumb_buffer *out, uint64_t value)
{
    put32(out, (uint32_t)value);
    put32(out, (uint32_t)(value >> 32));
}

static void put_central(struct plumb_buffer *out, const struct made *made, uint32_t size)
{
    plumb_buffer_append(out, "PK\1\2", 4);
    put32(out, 0);
    put16(out, made->flags);
    put16(out, made->method);
    put32(out, 0);
    put32(out, plumb_crc32(0, made->data, strlen(made->data)));
    put32(out, made->zip64 ? UINT32_MAX : (uint32_t)strlen(made->data));
    put32(out, made->zip64 ? UINT32_MAX : size);
    put16(out, (uint32_t)strlen(made->name));
    put16(out, made->zip64 ? 34 : 0);
    for (int i = 0; i < 5; i++)
        put16(out, 0);
    put32(out, made->zip64 ? UINT32_MAX : 0);
    plumb_buffer_text(out, made->name);
    if (made->zip64) {
        put16(out, 0x7777); /* a field to be skipped */
        put16(out, 2);
        put16(out, 0);
        put16(out, 1);
        put16(out, 24);
        put64(out, size);
        put64(out, strlen(made->data));
        put64(out, 0);
    }
}

static void put_end(struct plumb_buffer *out, const struct made *made, size_t directory)
{
    const size_t size = out->size - directory, end64 = out->size;
    const uint32_t count = made->count_says ? made->count_says : 1;
    if (made->zip64) {
        plumb_buffer_append(out, "PK\6\6", 4);
        put64(out, 44);
        put64(out, 0);
        put32(out, 0);
        put64(out, count);
        put64(out, count);
        put64(out, size);
        put64(out, directory);
        plumb_buffer_append(out, "PK\6\7", 4);
        put32(out, 0);
        put64(out, end64);
        put32(out, 1);
    }
    plumb_buffer_append(out, "PK\5\6", 4);
    put32(out, 0);
    put16(out, made->zip64 ? 0xffff : count);
    put16(out, made->zip64 ? 0xffff : count);
    put32(out, made->zip64 ? UINT32_MAX : (uint32_t)size);
    put32(out, made->zip64 ? UINT32_MAX : (uint32_t)directory);
    put16(out, (uint32_t)strlen(made->comment));
    plumb_buffer_text(out, made->comment);
}

static void make_archive(struct plumb_buffer *out, const struct made *made)
{
    plumb_buffer_init(out, 1 << 20);
    plumb_buffer_append(out, "PK\3\4", 4);
    put16(out, 20);
    put16(out, made->flags);
    put16(out, made->method);
    put32(out, 0);
    put32(out, 0); /* crc and sizes are left out, as torch does */
    put64(out, 0);
    put16(out, (uint32_t)strlen(made->name));
    put16(out, (uint32_t)made->local_extra);
    plumb_buffer_text(out, made->name);
    plumb_buffer_fill(out, 'Z', made->local_extra);
    plumb_buffer_text(out, made->data);
    const size_t directory = out->size;
    put_central(out, made, made->size_says ? made->size_says : (uint32_t)strlen(made->data));
    put_end(out, made, directory);
    assert_false(plumb_buffer_failed(out));
}

static enum plumb_status open_bytes(const void *bytes, size_t size, struct plumb_map **map,
                                    struct plumb_arena *arena, struct plumb_zip *zip,
                                    struct plumb_error *err)
{
    assert_int_equal(plumb_map_memory("test.zip", bytes, size, map, err), PLUMB_OK);
    return plumb_zip_open(*map, arena, zip, err);
}

static const struct made sound[] = {
    {.name = "a/data.pkl", .data = "content", .comment = ""},
    {.name = "x", .data = "", .comment = ""},
    {.name = "../etc", .data = "content", .comment = "", .flags = 0x0808, .local_extra = 20},
    {.name = "x", .data = "content", .comment = "a comment PK\5\6 of some length, 22 or more"},
    {.name = "wide", .data = "content", .comment = "", .zip64 = true, .local_extra = 60},
};

static void sound_archives_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        struct plumb_buffer bytes;
        make_archive(&bytes, &sound[i]);
        struct plumb_map *map = NULL;
        struct plumb_arena arena = {0};
        struct plumb_zip zip;
        struct plumb_error err;
        assert_int_equal(open_bytes(bytes.data, bytes.size, &map, &arena, &zip, &err),
                         PLUMB_OK);
        assert_true(plumb_zip_begins(map));
        assert_int_equal(zip.count, 1);
        const struct plumb_zip_entry *entry = plumb_zip_find(&zip, sound[i].name);
        assert_non_null(entry);
        assert_null(plumb_zip_find(&zip, "absent"));
        assert_int_equal(entry->size, strlen(sound[i].data));
        char content[16] = {0};
        assert_int_equal(plumb_zip_extract(map, entry, content, &err), PLUMB_OK);
        assert_string_equal(content, sound[i].data);
        plumb_zip_release(&zip);
        plumb_arena_release(&arena);
        plumb_map_close(map);
        plumb_buffer_release(&bytes);
    }
}

static const struct {
    struct made made;
    enum plumb_status status;
    const char *says;
} refused[] = {
    {{.name = "x", .data = "content", .comment = "", .flags = 1},
     PLUMB_UNSUPPORTED,
     "encrypted"},
    {{.name = "x", .data = "content", .comment = "", .size_says = 8}, PLUMB_DAMAGED, "differ"},
    {{.name = "x", .data = "content", .comment = "", .count_says = 2}, PLUMB_DAMAGED, "hold"},
    {{.name = "x", .data = "content", .comment = "", .count_says = 5000000, .zip64 = true},
     PLUMB_LIMIT,
     "5000000 entries"},
    {{.name = "x", .data = "content", .comment = "", .method = 8, .size_says = 0x70000000},
     PLUMB_DAMAGED,
     "impossible"},
};

static void unsound_archives_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct plumb_buffer bytes;
        make_archive(&bytes, &refused[i].made);
        struct plumb_map *map = NULL;
        struct plumb_arena arena = {0};
        struct plumb_zip zip;
        struct plumb_error err = {0};
        assert_int_equal(open_bytes(bytes.data, bytes.size, &map, &arena, &zip, &err),
                         refused[i].status);
        assert_non_null(strstr(err.message, refused[i].says));
        plumb_arena_release(&arena);
        plumb_map_close(map);
        plumb_buffer_release(&bytes);
    }
}

/* Opens what is left and unpacks all of it: whatever happens, no byte outside is touched. */
static void try_bytes(const char *bytes, size_t size)
{
    char *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    struct plumb_map *map = NULL;
    struct plumb_arena arena = {0};
    struct plumb_zip zip;
    struct plumb_error err;
    if (open_bytes(exact, size, &map, &arena, &zip, &err) == PLUMB_OK) {
        for (size_t i = 0; i < zip.count; i++) {
            char content[4096];
            if (zip.entries[i].size <= sizeof content)
                (void)plumb_zip_extract(map, &zip.entries[i], content, &err);
        }
        plumb_zip_release(&zip);
    }
    plumb_arena_release(&arena);
    plumb_map_close(map);
    free(exact);
}

static void no_damage_leads_outside(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        struct plumb_buffer bytes;
        make_archive(&bytes, &sound[i]);
        for (size_t size = 0; size < bytes.size; size++)
            try_bytes(bytes.data, size);
        for (size_t at = 0; at < bytes.size; at++) {
            const char before = bytes.data[at];
            for (int value = 0; value < 256; value += 51) {
                bytes.data[at] = (char)value;
                try_bytes(bytes.data, bytes.size);
            }
            bytes.data[at] = before;
        }
        plumb_buffer_release(&bytes);
    }
}

static void write_archive(const char *path, size_t alignment, size_t members)
{
    struct plumb_output *output = NULL;
    struct plumb_zip_writer writer;
    struct plumb_error err;
    assert_int_equal(plumb_output_open(path, &output, &err), PLUMB_OK);
    plumb_zip_writer_init(&writer, output, alignment);
    for (size_t i = 0; i < members; i++) {
        char name[48] = {0};
        (void)snprintf(name, sizeof name, "archive/data/%zu", i);
        assert_int_equal(plumb_zip_writer_add(&writer, name, name, i % 19, &err), PLUMB_OK);
    }
    assert_int_equal(plumb_zip_writer_finish(&writer, &err), PLUMB_OK);
    assert_int_equal(plumb_output_commit(output, &err), PLUMB_OK);
    plumb_zip_writer_release(&writer);
    plumb_output_close(output);
}

static void check_archive(const char *path, size_t alignment, size_t members)
{
    struct plumb_map *map = NULL;
    struct plumb_arena arena = {0};
    struct plumb_zip zip;
    struct plumb_error err;
    assert_int_equal(plumb_map_open(path, &map, &err), PLUMB_OK);
    assert_int_equal(plumb_zip_open(map, &arena, &zip, &err), PLUMB_OK);
    assert_int_equal(zip.count, members);
    for (size_t i = 0; i < members; i++) {
        const struct plumb_zip_entry *entry = &zip.entries[i];
        char name[48] = {0}, content[32] = {0};
        (void)snprintf(name, sizeof name, "archive/data/%zu", i);
        assert_string_equal(entry->name, name);
        uint64_t offset = 0;
        assert_int_equal(plumb_zip_locate(map, entry, &offset, &err), PLUMB_OK);
        assert_int_equal(offset % alignment, 0);
        assert_int_equal(plumb_zip_extract(map, entry, content, &err), PLUMB_OK);
        assert_memory_equal(content, name, i % 19);
        assert_int_equal(plumb_crc32(0, content, i % 19), entry->crc);
        assert_int_equal(plumb_load_u32(map->base + entry->header + 14), entry->crc);
    }
    plumb_zip_release(&zip);
    plumb_arena_release(&arena);
    plumb_map_close(map);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    const struct {
        size_t alignment, members;
    } cases[] = {{1, 0}, {1, 40}, {64, 70}, {64, 65534}, {64, 65535}, {1, 70000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/tmp/plumb-test-zip-%d", (int)getpid());
        write_archive(path, cases[i].alignment, cases[i].members);
        check_archive(path, cases[i].alignment, cases[i].members);
        assert_int_equal(unlink(path), 0);
    }
}

static void member_of_other_size_than_announced_is_refused(void **state)
{
    (void)state;
    struct plumb_output *output = NULL;
    struct plumb_zip_writer writer;
    struct plumb_error err;
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/plumb-test-zip-%d", (int)getpid());
    assert_int_equal(plumb_output_open(path, &output, &err), PLUMB_OK);
    plumb_zip_writer_init(&writer, output, 1);
    assert_int_equal(plumb_zip_writer_begin(&writer, "x", 3, &err), PLUMB_OK);
    assert_int_equal(plumb_output_write(output, "ab", 2, &err), PLUMB_OK);
    assert_int_equal(plumb_zip_writer_end(&writer, 0, &err), PLUMB_INVALID);
    plumb_zip_writer_release(&writer);
    plumb_output_close(output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_archives_are_read),
        cmocka_unit_test(unsound_archives_are_refused),
        cmocka_unit_test(no_damage_leads_outside),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(member_of_other_size_than_announced_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
