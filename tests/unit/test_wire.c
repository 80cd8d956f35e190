/* test_wire.c - protobuf fields: what is written is read, what is damaged is refused. */
#include "base/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void fields_come_back(void **state)
{
    (void)state;
    struct plumb_buffer buffer;
    struct plumb_wire_field field;
    plumb_buffer_init(&buffer, 1000);
    plumb_wire_put_number(&buffer, 1, UINT64_MAX);
    plumb_wire_put_text(&buffer, 300, "tag");
    plumb_wire_put_number(&buffer, 2, 0);
    plumb_buffer_append(&buffer, "\x1d\1\2\3\4\x21\1\2\3\4\5\6\7\x08", 14);
    struct plumb_wire wire = plumb_wire_of(buffer.data, buffer.size, 100);

    assert_true(plumb_wire_next(&wire, &field));
    assert_true(plumb_wire_is(&field, 1, PLUMB_WIRE_VARINT));
    assert_true(field.value == UINT64_MAX);
    assert_true(plumb_wire_next(&wire, &field));
    assert_true(plumb_wire_is(&field, 300, PLUMB_WIRE_BYTES));
    assert_int_equal(field.size, 3);
    assert_memory_equal(field.bytes, "tag", 3);
    assert_int_equal(field.start, 111);
    assert_int_equal(field.at, 114);
    assert_true(plumb_wire_next(&wire, &field));
    assert_int_equal(field.value, 0);
    assert_true(plumb_wire_next(&wire, &field));
    assert_true(plumb_wire_is(&field, 3, PLUMB_WIRE_FIXED32));
    assert_int_equal(field.value, 0x04030201);
    assert_true(plumb_wire_next(&wire, &field));
    assert_true(plumb_wire_is(&field, 4, PLUMB_WIRE_FIXED64));
    assert_true(field.value == 0x0807060504030201U);
    assert_false(plumb_wire_next(&wire, &field));
    assert_int_equal(plumb_wire_check(&wire, "f", NULL), PLUMB_OK);
    plumb_buffer_release(&buffer);
}

static void damage_is_refused_at_its_field(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        int64_t offset;
    } cases[] = {
        {"\x08\x01\x0b", 3, 2},                                      /* start of a group */
        {"\x08\x01\x0e", 3, 2},                                      /* type 6 */
        {"\x00", 1, 0},                                              /* field 0 */
        {"\x08", 1, 0},                                              /* no value */
        {"\x08\xff", 2, 0},                                          /* cut varint */
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, 0}, /* too long */
        {"\x0a\5ab", 4, 0},                                          /* longer than there is */
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, 0},         /* 2^63 bytes */
        {"\x0d\1\2\3", 4, 0},                                        /* cut fixed32 */
        {"\x09\1\2\3", 4, 0},                                        /* cut fixed64 */
        {"\x88\x80\x80\x80\x80\x01\x01", 7, 0},                      /* number above 2^29 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_wire wire = plumb_wire_of(cases[i].bytes, cases[i].size, 0);
        struct plumb_wire_field field;
        struct plumb_error err = {0};
        while (plumb_wire_next(&wire, &field))
            ;
        assert_int_equal(plumb_wire_check(&wire, "f.ckpt", &err), PLUMB_DAMAGED);
        assert_int_equal(err.offset, cases[i].offset);
        assert_non_null(strstr(err.message, "f.ckpt"));
        assert_false(plumb_wire_next(&wire, &field));
    }
}

static void varints_have_their_size(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct plumb_buffer buffer;
        plumb_buffer_init(&buffer, 100);
        plumb_wire_put_varint(&buffer, values[i]);
        assert_int_equal(buffer.size, plumb_wire_varint_size(values[i]));
        struct plumb_bytes bytes = plumb_bytes_of(buffer.data, buffer.size);
        assert_true(plumb_bytes_varint(&bytes) == values[i]);
        plumb_buffer_release(&buffer);
    }
}

static void a_message_inside_keeps_its_place(void **state)
{
    (void)state;
    struct plumb_wire wire = plumb_wire_of("\x0a\x02\x08\x07", 4, 50);
    struct plumb_wire_field field;
    assert_true(plumb_wire_next(&wire, &field));
    struct plumb_wire inner = plumb_wire_inside(&field);
    assert_true(plumb_wire_next(&inner, &field));
    assert_int_equal(field.value, 7);
    assert_int_equal(field.start, 52);
}

static void integers_are_taken_packed_or_not(void **state)
{
    (void)state;
    static const struct {
        struct plumb_wire_field field;
        int count; /* -1: refused */
    } cases[] = {
        {{.type = PLUMB_WIRE_VARINT, .value = 7}, 1},
        {{.type = PLUMB_WIRE_VARINT, .value = UINT64_MAX}, -1},
        {{.type = PLUMB_WIRE_BYTES, .bytes = (const unsigned char *)"\x07\x80\x01", .size = 3},
         2},
        {{.type = PLUMB_WIRE_BYTES, .bytes = (const unsigned char *)"\x07\x80", .size = 2}, -1},
        {{.type = PLUMB_WIRE_BYTES, .bytes = (const unsigned char *)"\7\7\7\7", .size = 4}, -1},
        {{.type = PLUMB_WIRE_FIXED32, .value = 7}, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t values[3] = {0};
        int count = 0;
        const bool taken = plumb_wire_take_integers(&cases[i].field, values, &count, 3);
        assert_int_equal(taken, cases[i].count >= 0);
        if (taken) {
            assert_int_equal(count, cases[i].count);
            assert_int_equal(values[0], 7);
            assert_int_equal(values[1], count > 1 ? 128 : 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_come_back),
        cmocka_unit_test(damage_is_refused_at_its_field),
        cmocka_unit_test(varints_have_their_size),
        cmocka_unit_test(a_message_inside_keeps_its_place),
        cmocka_unit_test(integers_are_taken_packed_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
