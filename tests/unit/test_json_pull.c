/* test_json_pull.c - tokens of a JSON text; where it is cut off or wrong the walk ends and says so. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/json_pull.h"

/* One letter a token: { } [ ] k(ey) s(tring) n(umber) t f 0 for null, ! where it is broken. */
static void walk(const char *text, size_t size, char *letters)
{
    static const char names[] = {
        [PLUMB_JSON_TOKEN_END] = '.',   [PLUMB_JSON_BROKEN] = '!',
        [PLUMB_JSON_OPEN_OBJECT] = '{', [PLUMB_JSON_CLOSE_OBJECT] = '}',
        [PLUMB_JSON_OPEN_ARRAY] = '[',  [PLUMB_JSON_CLOSE_ARRAY] = ']',
        [PLUMB_JSON_KEY] = 'k',         [PLUMB_JSON_TEXT] = 's',
        [PLUMB_JSON_NUMBER] = 'n',      [PLUMB_JSON_TRUE] = 't',
        [PLUMB_JSON_FALSE] = 'f',       [PLUMB_JSON_NOTHING] = '0',
    };
    struct plumb_json_pull pull = plumb_json_pull_of(text, size);
    enum plumb_json_token token;
    do {
        token = plumb_json_pull_next(&pull);
        *letters++ = names[token];
    } while (token != PLUMB_JSON_TOKEN_END && token != PLUMB_JSON_BROKEN);
    *letters = '\0';
    assert_int_equal(token == PLUMB_JSON_BROKEN, pull.problem != NULL);
    assert_true(pull.at <= size);
}

static void tokens(void **state)
{
    (void)state;
    static const struct {
        const char *text, *letters;
    } cases[] = {
        {"{}", "{}."},
        {" [ ] ", "[]."},
        {"{\"a\": [1, -2.5e3, NaN, -Infinity], \"b\": {\"c\": null}}", "{k[nnnn]k{k0}}."},
        {"[true, false, \"x\\\"y\"]", "[tfs]."},
        {"17", "n."},
        {"", "!"},
        {"[1,]", "[n!"},
        {"[1 2]", "[n!"},
        {"{\"a\" 1}", "{!"},
        {"{1: 2}", "{!"},
        {"{\"a\": }", "{k!"},
        {"[1}", "[n!"},
        {"[tru]", "[!"},
        {"[\"open", "[!"},
        {"[12", "[!"},
        {"[-]", "[!"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char letters[64];
        walk(cases[i].text, strlen(cases[i].text), letters);
        assert_string_equal(letters, cases[i].letters);
    }
}

static void every_cut_ends_broken(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [1, {\"b\": \"c\\u00e9\\\\\"}], \"d\": -Infinity}";
    for (size_t size = 0; size < sizeof text - 1; size++) {
        char letters[64];
        walk(text, size, letters);
        assert_int_equal(letters[strlen(letters) - 1], '!');
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    char deep[PLUMB_JSON_PULL_DEPTH + 1];
    memset(deep, '[', sizeof deep);
    struct plumb_json_pull pull = plumb_json_pull_of(deep, sizeof deep);
    size_t count = 0;
    while (plumb_json_pull_next(&pull) == PLUMB_JSON_OPEN_ARRAY)
        count++;
    assert_int_equal(count, PLUMB_JSON_PULL_DEPTH);
    assert_non_null(pull.problem);
}

static void skipping(void **state)
{
    (void)state;
    static const char text[] = "[{\"a\": [1, {\"b\": 2}]}, 7]";
    struct plumb_json_pull pull = plumb_json_pull_of(text, sizeof text - 1);
    assert_int_equal(plumb_json_pull_next(&pull), PLUMB_JSON_OPEN_ARRAY);
    assert_true(plumb_json_pull_skip(&pull, plumb_json_pull_next(&pull)));
    assert_int_equal(plumb_json_pull_next(&pull), PLUMB_JSON_NUMBER);
    int64_t seven = 0;
    assert_true(plumb_json_pull_integer(&pull, &seven));
    assert_int_equal(seven, 7);
    pull = plumb_json_pull_of("[[1", 3);
    assert_false(plumb_json_pull_skip(&pull, plumb_json_pull_next(&pull)));
}

static void values(void **state)
{
    (void)state;
    static const char text[] = "[\"\\u0041\\n\\ud83d\\ude00\\u0000\\q\xff\", 9007199254740993, "
                               "0.1, NaN, Infinity, -0, 1e999]";
    struct plumb_json_pull pull = plumb_json_pull_of(text, sizeof text - 1);
    struct plumb_buffer plain;
    plumb_buffer_init(&plain, 100);
    (void)plumb_json_pull_next(&pull);
    assert_int_equal(plumb_json_pull_next(&pull), PLUMB_JSON_TEXT);
    plumb_json_pull_unescape(&pull, &plain);
    assert_string_equal(plain.data, "A\n\xf0\x9f\x98\x80???");
    plumb_buffer_release(&plain);
    double numbers[6];
    int64_t big = 0;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(plumb_json_pull_next(&pull), PLUMB_JSON_NUMBER);
        assert_true(plumb_json_pull_double(&pull, &numbers[i]));
        if (i == 0)
            assert_true(plumb_json_pull_integer(&pull, &big));
        if (i == 1)
            assert_false(plumb_json_pull_integer(&pull, &big));
    }
    assert_true(big == 9007199254740993);
    assert_true(numbers[0] == 9007199254740992.0 && numbers[1] == 0.1);
    assert_true(isnan(numbers[2]) && isinf(numbers[3]) && isinf(numbers[5]));
    assert_true(numbers[4] == 0 && signbit(numbers[4]));
}

/* Words of eight bytes are looked at together: a quote, a backslash or the end may be anywhere. */
static void every_length(void **state)
{
    (void)state;
    enum { MOST = 40 };
    for (size_t length = 0; length < MOST; length++) {
        for (size_t escape = 0; escape + 1 < length || escape == 0; escape++) {
            char text[5 * MOST], plain[MOST + 1];
            const bool escaped = length > 1;
            memset(plain, 'a', length);
            if (escaped)
                memcpy(plain + escape, escape % 2 ? "\\\"" : "\\\\", 2);
            plain[length] = '\0';
            const int size = snprintf(text, sizeof text, "%*s[%*s\"%s\"%*s]", (int)length, "",
                                      (int)(escape % 17), "", plain, (int)length, "\n");
            struct plumb_json_pull pull = plumb_json_pull_of(text, (size_t)size);
            assert_int_equal(plumb_json_pull_next(&pull), PLUMB_JSON_OPEN_ARRAY);
            assert_int_equal(plumb_json_pull_next(&pull), PLUMB_JSON_TEXT);
            assert_int_equal(pull.length, length);
            assert_memory_equal(pull.text, plain, length);
            assert_int_equal(pull.escaped, escaped);
            assert_int_equal(plumb_json_pull_next(&pull), PLUMB_JSON_CLOSE_ARRAY);
            assert_int_equal(plumb_json_pull_next(&pull), PLUMB_JSON_TOKEN_END);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),           cmocka_unit_test(every_cut_ends_broken),
        cmocka_unit_test(depth_is_limited), cmocka_unit_test(skipping),
        cmocka_unit_test(values),           cmocka_unit_test(every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
