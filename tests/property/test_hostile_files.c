/*
 * test_hostile_files.c - files that lie: sizes that overflow, offsets outside, bombs.
 *
 * Each must be refused, or opened with the bad part named in a warning; never believed.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "property/craft.h"
#include "property/exercise.h"

enum { SECONDS_ALLOWED = 20 };

/* Frees `craft`. A file that opens must carry a warning, or be one whose tensors fail to read. */
static void must_object(const char *name, struct craft *craft)
{
    unsigned char *exact = malloc(craft->size ? craft->size : 1);
    assert_non_null(exact);
    memcpy(exact, craft->bytes, craft->size);
    alarm(SECONDS_ALLOWED); /* a bomb that goes off ends the test */
    const char *complaint = exercise(name, exact, craft->size, NULL);
    if (complaint)
        fail_msg("%s: %s", name, complaint);
    struct plumb_file *file = NULL;
    struct plumb_error err = {0};
    bool objected = plumb_file_open_memory(name, exact, craft->size, NULL, &file, &err);
    if (!objected) {
        objected = plumb_file_warning_count(file) > 0;
        for (size_t i = 0; i < plumb_file_tensor_count(file) && !objected; i++) {
            const struct plumb_tensor *tensor = plumb_file_tensor(file, i);
            unsigned char value[16];
            objected = tensor->count > 0 &&
                       plumb_tensor_read(tensor, tensor->count - 1, 1, value, &err) != PLUMB_OK;
        }
    }
    alarm(0);
    plumb_file_close(file);
    free(exact);
    craft_free(craft);
    if (!objected)
        fail_msg("%s: believed", name);
}

static struct craft npy(const char *header, size_t data)
{
    struct craft craft = {0};
    craft_add(&craft, "\x93NUMPY\x01\x00", 8);
    craft_number(&craft, strlen(header), 2);
    craft_text(&craft, header);
    for (size_t i = 0; i < data; i++)
        craft_number(&craft, 0, 1);
    return craft;
}

static void npy_headers(void **state)
{
    (void)state;
    static const char *const shapes[] = {
        "(4611686018427387904, 4)",
        "(9223372036854775807, 9223372036854775807)",
        "(99999999999999999999,)",
        "(-1,)",
        "(1000,)",
        "(1, (2, 3))",
        "(,,)",
        "3",
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char header[256];
        (void)snprintf(header, sizeof header,
                       "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n", shapes[i]);
        struct craft craft = npy(header, 64);
        must_object("shape.npy", &craft);
    }
    static const char *const headers[] = {
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (2,), }\n",
        "{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (2,), }\n",
        "{'descr': '<f4', 'shape': (2,), }\n",
        "{'descr': __import__('os').system('touch executed'), 'shape': (2,)}\n",
        "",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct craft craft = npy(headers[i], 64);
        must_object("header.npy", &craft);
    }
}

static void npy_lengths(void **state)
{
    (void)state;
    struct craft craft = {0};
    craft_add(&craft, "\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'", 20);
    must_object("long_header.npy", &craft);
    craft_add(&craft, "\x93NUMPY\x01\x00\x10\x00", 10);
    craft_repeat(&craft, "(", 100000);
    must_object("parentheses.npy", &craft);
    struct craft rank = {0};
    craft_text(&rank, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
    craft_repeat(&rank, "1, ", 200);
    craft_text(&rank, "), }\n");
    craft_number(&rank, 0, 1);
    craft = npy((const char *)rank.bytes, 4);
    craft_free(&rank);
    must_object("rank_200.npy", &craft);
}

static void safetensors_headers(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[1000,1016]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[18446744073709551600,0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-4],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1e300],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"Q9\",\"shape\":[4],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4]}}",
        "{\"a\":",
        "[1,2,3]",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct craft craft = {0};
        craft_number(&craft, strlen(headers[i]), 8);
        craft_text(&craft, headers[i]);
        craft_number(&craft, 0, 8);
        craft_number(&craft, 0, 8);
        must_object("header.safetensors", &craft);
    }
    static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 7, INT64_MAX, 1U << 30, 3};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct craft craft = {0};
        craft_number(&craft, lengths[i], 8);
        craft_text(&craft, "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}");
        must_object("length.safetensors", &craft);
    }
}

static void safetensors_nesting(void **state)
{
    (void)state;
    struct craft craft = {0};
    craft_number(&craft, 200005, 8);
    craft_text(&craft, "{\"a\":");
    craft_repeat(&craft, "[", 200000);
    must_object("nesting.safetensors", &craft);
}

/* A deflate stream of an .npy header that claims `shape` (stored block) and zeros: one literal,
 * then matches of length 258 at distance 1. */
static struct craft zeros(const char *shape, size_t matches)
{
    char header[256];
    (void)snprintf(header, sizeof header,
                   "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n", shape);
    struct craft start = npy(header, 0), craft = {0};
    craft_number(&craft, 0, 1);
    craft_number(&craft, start.size, 2);
    craft_number(&craft, ~start.size, 2);
    craft_add(&craft, start.bytes, start.size);
    craft_free(&start);
    uint32_t bits = 3; /* last block, fixed codes */
    int filled = 3;
    const struct {
        uint32_t code;
        int width;
    } literal = {0x0c, 8}, match = {0xa3, 13};
    for (size_t i = 0; i <= matches; i++) {
        bits |= (i ? match.code : literal.code) << filled;
        filled += i ? match.width : literal.width;
        for (; filled >= 8; filled -= 8, bits >>= 8)
            craft_number(&craft, bits & 0xff, 1);
    }
    filled += 7; /* end of block: seven zero bits */
    for (; filled > 0; filled -= 8, bits >>= 8)
        craft_number(&craft, bits & 0xff, 1);
    return craft;
}

static void zip_bombs(void **state)
{
    (void)state;
    struct craft_member claims = {.name = "a.npy",
                                  .content = zeros("(1073741800,)", 10),
                                  .method = 8,
                                  .claimed_size = 0xfffffffeU};
    struct craft craft = craft_zip(&claims, 1);
    must_object("claims_4_gib.npz", &craft);
    struct craft_member more = {
        .name = "a.npy", .content = zeros("(4,)", 100000), .method = 8, .claimed_size = 85};
    craft = craft_zip(&more, 1);
    must_object("gives_more.npz", &craft);
    struct craft_member unknown = {.name = "a.npy", .content = zeros("(4,)", 1), .method = 99};
    craft = craft_zip(&unknown, 1);
    must_object("method_99.npz", &craft);
}

static void zip_offsets(void **state)
{
    (void)state;
    static const uint32_t offsets[] = {0x7fffffffU, 0xfffffff0U, 5, 200};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct craft_member member = {
            .name = "a.npy",
            .content = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n", 16),
            .claimed_offset = offsets[i],
        };
        struct craft craft = craft_zip(&member, 1);
        must_object("offset.npz", &craft);
    }
    struct craft_member member = {
        .name = "a.npy",
        .content = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n", 16),
    };
    struct craft craft = craft_zip(&member, 1);
    memset(craft.bytes + craft.size - 14, 0xff, 4); /* entry counts of 65535 */
    must_object("entries.npz", &craft);
}

/* Protobuf: a field of length type, or a number. */
static void field(struct craft *craft, int number, const void *bytes, size_t size)
{
    craft_number(craft, (uint64_t)(number << 3 | 2), 1);
    for (; size >= 0x80; size >>= 7)
        craft_number(craft, (size & 0x7f) | 0x80, 1);
    craft_number(craft, size, 1);
    craft_add(craft, bytes, size < 0x80 ? size : 0);
}

static void number(struct craft *craft, int key, uint64_t value)
{
    craft_number(craft, (uint64_t)(key << 3), 1);
    for (; value >= 0x80; value >>= 7)
        craft_number(craft, (value & 0x7f) | 0x80, 1);
    craft_number(craft, value, 1);
}

/* Checkpoint { Value { tag, TensorProto { dims, tensor_type, tensor_content } } } */
static struct craft ckpt(uint64_t dim_a, uint64_t dim_b, const char *type, size_t content)
{
    static const unsigned char data[64];
    struct craft tensor = {0}, value = {0}, file = {0};
    number(&tensor, 1, dim_a);
    number(&tensor, 1, dim_b);
    field(&tensor, 2, type, strlen(type));
    field(&tensor, 3, data, content);
    field(&value, 1, "w", 1);
    field(&value, 2, tensor.bytes, tensor.size);
    field(&file, 1, value.bytes, value.size);
    craft_free(&tensor);
    craft_free(&value);
    return file;
}

static void ckpt_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t a, b;
        const char *type;
        size_t content;
    } cases[] = {
        {1ULL << 62, 4, "Float32", 16}, {UINT64_MAX, 1, "Float32", 16}, {5, 1, "Float32", 16},
        {3, 1, "Float32", 16},          {4, 1, "Float99", 16},          {2, 2, "Float32", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct craft craft = ckpt(cases[i].a, cases[i].b, cases[i].type, cases[i].content);
        must_object("size.ckpt", &craft);
    }
    struct craft craft = ckpt(4, 1, "Float32", 16);
    craft.bytes[1] = 0x7f; /* the message claims to be longer than the file */
    must_object("length.ckpt", &craft);
    static const unsigned char endless[] = {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff,
                                            0xff, 0xff, 0xff, 0xff, 0x7f};
    craft_add(&craft, endless, sizeof endless);
    must_object("varint.ckpt", &craft);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_headers),         cmocka_unit_test(npy_lengths),
        cmocka_unit_test(safetensors_headers), cmocka_unit_test(safetensors_nesting),
        cmocka_unit_test(zip_bombs),           cmocka_unit_test(zip_offsets),
        cmocka_unit_test(ckpt_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
