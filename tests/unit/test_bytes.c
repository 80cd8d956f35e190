/* test_bytes.c - the bounded reader never reads outside. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/bytes.h"

static void numbers_are_little_endian(void **state)
{
    (void)state;
    const unsigned char data[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09};
    struct plumb_bytes bytes = plumb_bytes_of(data, sizeof data);
    assert_int_equal(plumb_bytes_u8(&bytes), 0x01);
    assert_int_equal(plumb_bytes_u16(&bytes), 0x0302);
    plumb_bytes_seek(&bytes, 0);
    assert_int_equal(plumb_bytes_u32(&bytes), 0x04030201);
    plumb_bytes_seek(&bytes, 1);
    assert_true(plumb_bytes_u64(&bytes) == UINT64_C(0x0908070605040302));
    assert_int_equal(plumb_bytes_left(&bytes), 0);
    assert_true(plumb_bytes_ok(&bytes));
    assert_true(plumb_load_u64_big(data) == UINT64_C(0x0102030405060708));
}

static void overrun_gives_zero_and_stays_marked(void **state)
{
    (void)state;
    const unsigned char data[] = {0xff, 0xff, 0xff};
    struct plumb_bytes bytes = plumb_bytes_of(data, sizeof data);
    assert_int_equal(plumb_bytes_u32(&bytes), 0);
    assert_false(plumb_bytes_ok(&bytes));
    assert_int_equal(plumb_bytes_u8(&bytes), 0); /* there would be one, but trust is gone */
    assert_null(plumb_bytes_take(&bytes, 1));
    assert_int_equal(plumb_bytes_left(&bytes), 0);
}

static void seeking_past_the_end_is_an_overrun(void **state)
{
    (void)state;
    struct plumb_bytes bytes = plumb_bytes_of("ab", 2);
    plumb_bytes_seek(&bytes, 2);
    assert_true(plumb_bytes_ok(&bytes));
    plumb_bytes_seek(&bytes, 3);
    assert_false(plumb_bytes_ok(&bytes));
}

static void varints_of_every_length(void **state)
{
    (void)state;
    const struct {
        const char *bytes;
        size_t size;
        uint64_t value;
        int ok;
    } cases[] = {
        {"\x00", 1, 0, 1},
        {"\x7f", 1, 127, 1},
        {"\x80\x01", 2, 128, 1},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, 1},
        {"\x80", 1, 0, 0},                                          /* cut off */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 0, 0}, /* eleven bytes */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_bytes bytes = plumb_bytes_of(cases[i].bytes, cases[i].size);
        assert_true(plumb_bytes_varint(&bytes) == cases[i].value);
        assert_int_equal(plumb_bytes_ok(&bytes), cases[i].ok);
    }
}

static void stores_are_read_back(void **state)
{
    (void)state;
    unsigned char data[8];
    plumb_store_u64(data, UINT64_C(0x8877665544332211));
    assert_int_equal(data[0], 0x11);
    assert_true(plumb_load_u64(data) == UINT64_C(0x8877665544332211));
    plumb_store_u16(data, 0xabcd);
    assert_int_equal(plumb_load_u16(data), 0xabcd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(overrun_gives_zero_and_stays_marked),
        cmocka_unit_test(seeking_past_the_end_is_an_overrun),
        cmocka_unit_test(varints_of_every_length),
        cmocka_unit_test(stores_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
