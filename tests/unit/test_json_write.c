/* test_json_write.c - JSON that Plumb writes: escapes, numbers, commas. */
#include "base/json_write.h"
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void check_quoted(const char *text, size_t length, const char *expected)
{
    struct plumb_buffer buffer;
    plumb_buffer_init(&buffer, 1000);
    struct plumb_json_writer json = plumb_json_writer_of(&buffer);
    plumb_json_put_text(&json, text, length);
    assert_string_equal(plumb_buffer_string(&buffer), expected);
    plumb_buffer_release(&buffer);
}

static void strings_are_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "\"\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\b\f\n\r\t\x01\x1f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\""},
        {"\xe5\x87\x86\xf0\x9f\x98\x80", "\"\xe5\x87\x86\xf0\x9f\x98\x80\""},
        {"x\xff-", "\"x\xef\xbf\xbd-\""},
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
        {"\xe5\x87", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* cut short */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_quoted(cases[i].text, strlen(cases[i].text), cases[i].expected);
    check_quoted("a\0b", 3, "\"a\\u0000b\"");
}

static void doubles_are_shortest_and_round_trip(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *expected;
    } cases[] = {
        {0.1, "0.1"},
        {1.0, "1"},
        {-0.0, "-0"},
        {1e300, "1e+300"},
        {5e-324, "5e-324"},
        {0.1 + 0.2, "0.30000000000000004"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {123456789012345678.0, "1.2345678901234568e+17"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[PLUMB_NUMBER_TEXT];
        plumb_number_text(cases[i].value, text);
        assert_string_equal(text, cases[i].expected);
        double back = 7;
        assert_true(plumb_number_parse(text, strlen(text), &back));
        assert_memory_equal(&back, &cases[i].value, sizeof back);
    }
}

static void numbers_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"", "nan", "0x10", "1,5", "1 ", "1e", "--1", "inf"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 7;
        assert_false(plumb_number_parse(cases[i], strlen(cases[i]), &value));
        assert_true(value == 7);
    }
}

static void commas_go_between(void **state)
{
    (void)state;
    struct plumb_buffer buffer;
    plumb_buffer_init(&buffer, 1000);
    struct plumb_json_writer json = plumb_json_writer_of(&buffer);
    plumb_json_open_object(&json);
    plumb_json_put_key(&json, "a");
    plumb_json_open_array(&json);
    plumb_json_put_int(&json, INT64_MIN);
    plumb_json_put_uint(&json, UINT64_MAX);
    plumb_json_put_double(&json, (double)NAN);
    plumb_json_put_double(&json, (double)-INFINITY);
    plumb_json_open_object(&json);
    plumb_json_close_object(&json);
    plumb_json_open_array(&json);
    plumb_json_close_array(&json);
    plumb_json_close_array(&json);
    plumb_json_new_line(&json);
    plumb_json_put_key(&json, "b");
    plumb_json_put_bool(&json, true);
    plumb_json_put_key(&json, "c");
    plumb_json_put_string(&json, NULL);
    plumb_json_put_key(&json, "d");
    plumb_json_put_raw(&json, "[1]");
    plumb_json_close_object(&json);
    assert_string_equal(
        plumb_buffer_string(&buffer),
        "{\"a\":[-9223372036854775808,18446744073709551615,\"nan\",\"-inf\",{},[]"
        "],\n\"b\":true,\"c\":null,\"d\":[1]}");
    plumb_buffer_release(&buffer);
}

static void a_full_buffer_is_marked(void **state)
{
    (void)state;
    struct plumb_buffer buffer;
    plumb_buffer_init(&buffer, 4);
    struct plumb_json_writer json = plumb_json_writer_of(&buffer);
    plumb_json_put_string(&json, "longer than four");
    assert_true(plumb_buffer_failed(&buffer));
    plumb_buffer_release(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(doubles_are_shortest_and_round_trip),
        cmocka_unit_test(numbers_that_are_none_are_refused),
        cmocka_unit_test(commas_go_between),
        cmocka_unit_test(a_full_buffer_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
