/* test_json.c - the JSON parser: what it takes, what it refuses, and where it says so. */
#include "base/json.h"
#include "base/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static enum plumb_status parse(struct plumb_arena *arena, const char *text, size_t size,
                               const struct plumb_json **root, struct plumb_error *err)
{
    const struct plumb_json_source source = {.path = "x.json", .bytes = text, .size = size};
    return plumb_json_parse(arena, &source, root, err);
}

static void values_have_their_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum plumb_json_kind kind;
        int64_t integer;
        double number;
    } cases[] = {
        {"null", PLUMB_JSON_NULL, 0, 0},
        {" true ", PLUMB_JSON_BOOL, 0, 0},
        {"0", PLUMB_JSON_INT, 0, 0},
        {"-7", PLUMB_JSON_INT, -7, 0},
        {"9223372036854775807", PLUMB_JSON_INT, INT64_MAX, 0},
        {"-9223372036854775808", PLUMB_JSON_INT, INT64_MIN, 0},
        {"9223372036854775808", PLUMB_JSON_DOUBLE, 0, 9223372036854775808.0},
        {"-0", PLUMB_JSON_DOUBLE, 0, -0.0},
        {"1.5e3", PLUMB_JSON_DOUBLE, 0, 1500},
        {"2E+2", PLUMB_JSON_DOUBLE, 0, 200},
        {"1e999", PLUMB_JSON_DOUBLE, 0, (double)INFINITY},
        {"1e-999", PLUMB_JSON_DOUBLE, 0, 0},
        {"[]", PLUMB_JSON_ARRAY, 0, 0},
        {"{}", PLUMB_JSON_OBJECT, 0, 0},
        {"\"a\"", PLUMB_JSON_STRING, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_arena arena = {0};
        const struct plumb_json *root = NULL;
        assert_int_equal(parse(&arena, cases[i].text, strlen(cases[i].text), &root, NULL), 0);
        assert_int_equal(root->kind, cases[i].kind);
        if (root->kind == PLUMB_JSON_INT)
            assert_int_equal(root->value.integer, cases[i].integer);
        if (root->kind == PLUMB_JSON_DOUBLE)
            assert_memory_equal(&root->value.number, &cases[i].number, sizeof(double));
        plumb_arena_release(&arena);
    }
}

static void strings_are_unescaped(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"\"\"", ""},
        {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz"},
        {"\"\\u00e9\\u51C6\"", "\xc3\xa9\xe5\x87\x86"},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\xe5\x87\x86\"", "\xe5\x87\x86"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_arena arena = {0};
        const struct plumb_json *root = NULL;
        assert_int_equal(parse(&arena, cases[i].text, strlen(cases[i].text), &root, NULL), 0);
        assert_string_equal(plumb_json_string(root), cases[i].expected);
        assert_int_equal(root->length, strlen(cases[i].expected));
        plumb_arena_release(&arena);
    }
}

static void damage_is_refused_at_its_byte(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t offset;
    } cases[] = {
        {"", 0},
        {"  ", 2},
        {"{\"a\":1,}", 7},
        {"[1,]", 3},
        {"[1 2]", 3},
        {"{\"a\" 1}", 5},
        {"{a:1}", 1},
        {"01", 1},
        {"1.", 2},
        {"1e", 2},
        {"-", 1},
        {"+1", 0},
        {".5", 0},
        {"tru", 0},
        {"NaN", 0},
        {"\"a", 2},
        {"\"a\\", 3},
        {"\"\\x\"", 2},
        {"\"\\u12g4\"", 5},
        {"\"\\ud800\"", 3},
        {"\"\\ud800\\u0041\"", 3},
        {"\"\\udc00\"", 3},
        {"\"\\u0000\"", 3},
        {"\"a\nb\"", 2},
        {"\"\xff\"", 1},
        {"\"\xc0\x80\"", 1},
        {"1 x", 2},
        {"[", 1},
        {"{", 1},
        {"'a'", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plumb_arena arena = {0};
        struct plumb_error err = {0};
        const struct plumb_json *root = NULL;
        assert_int_equal(parse(&arena, cases[i].text, strlen(cases[i].text), &root, &err),
                         PLUMB_DAMAGED);
        assert_int_equal(err.offset, cases[i].offset);
        assert_non_null(strstr(err.message, "x.json"));
        plumb_arena_release(&arena);
    }
}

static void a_raw_nul_is_refused(void **state)
{
    (void)state;
    struct plumb_arena arena = {0};
    const struct plumb_json *root = NULL;
    assert_int_equal(parse(&arena, "\"a\0b\"", 5, &root, NULL), PLUMB_DAMAGED);
    assert_int_equal(parse(&arena, "1\0", 2, &root, NULL), PLUMB_DAMAGED);
    plumb_arena_release(&arena);
}

static void depth_has_a_limit(void **state)
{
    (void)state;
    for (int depth = 63; depth <= 66; depth++) {
        char text[140] = {0};
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        struct plumb_arena arena = {0};
        const struct plumb_json *root = NULL;
        const enum plumb_status status = parse(&arena, text, strlen(text), &root, NULL);
        assert_int_equal(status, depth <= PLUMB_JSON_MAX_DEPTH ? PLUMB_OK : PLUMB_LIMIT);
        plumb_arena_release(&arena);
    }
}

static void members_are_found_and_duplicates_told(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": 1, \"b\": [2.5, {}], \"a\": 3}";
    struct plumb_arena arena = {0};
    const struct plumb_json *root = NULL, *duplicate = NULL;
    assert_int_equal(parse(&arena, text, strlen(text), &root, NULL), PLUMB_OK);
    int64_t integer = 0;
    double number = 0;
    assert_int_equal(root->count, 3);
    assert_true(plumb_json_integer(plumb_json_get(root, "a"), &integer));
    assert_int_equal(integer, 1);
    assert_true(plumb_json_number(plumb_json_get(root, "b")->first, &number));
    assert_true(number == 2.5);
    assert_false(plumb_json_integer(plumb_json_get(root, "b")->first, &integer));
    assert_null(plumb_json_get(root, "c"));
    assert_null(plumb_json_get(plumb_json_get(root, "c"), "d"));
    assert_int_equal(plumb_json_find_duplicate(root, &duplicate, NULL), PLUMB_OK);
    assert_string_equal(duplicate->key, "a");
    assert_int_equal(duplicate->offset, 30);
    plumb_arena_release(&arena);
}

static void python_numbers_are_taken_when_allowed(void **state)
{
    (void)state;
    static const char text[] = "[NaN, Infinity, -Infinity]";
    const struct plumb_json_source source = {
        .path = "x", .bytes = text, .size = strlen(text), .allow_nan = true};
    struct plumb_arena arena = {0};
    const struct plumb_json *root = NULL;
    assert_int_equal(plumb_json_parse(&arena, &source, &root, NULL), PLUMB_OK);
    assert_true(isnan(root->first->value.number));
    assert_true(isinf(root->first->next->value.number));
    assert_true(root->first->next->next->value.number < 0);
    plumb_arena_release(&arena);
}

static void every_failed_allocation_is_told(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [1, \"x\", 2.5], \"b\": {\"c\": null}}";
    enum plumb_status status = PLUMB_NO_MEMORY;
    for (size_t n = 1; status != PLUMB_OK; n++) {
        struct plumb_arena arena = {0};
        const struct plumb_json *root = NULL;
        assert_true(n < 100);
        plumb_memory_fail_at(n);
        status = parse(&arena, text, strlen(text), &root, NULL);
        plumb_memory_fail_at(0);
        assert_true(status == PLUMB_OK || status == PLUMB_NO_MEMORY);
        plumb_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_their_kinds),
        cmocka_unit_test(strings_are_unescaped),
        cmocka_unit_test(damage_is_refused_at_its_byte),
        cmocka_unit_test(a_raw_nul_is_refused),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(members_are_found_and_duplicates_told),
        cmocka_unit_test(python_numbers_are_taken_when_allowed),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
