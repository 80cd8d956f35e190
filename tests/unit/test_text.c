/* test_text.c - words, patterns and paths. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"

static void patterns(void **state)
{
    (void)state;
    const struct {
        const char *pattern, *text;
        bool fits;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"a*c", "abbbc", true},
        {"a*c", "abbb", false},
        {"?", "a", true},
        {"?", "", false},
        {"*.weight", "a.b.weight", true},
        {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXbYbZ", false},
        {"ab", "abc", false},
        {"**", "x", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(plumb_text_matches(cases[i].pattern, cases[i].text), cases[i].fits);
}

static void words_and_ends(void **state)
{
    (void)state;
    assert_true(plumb_text_has_word("pt pth bin", "PTH"));
    assert_false(plumb_text_has_word("pt pth bin", "p"));
    assert_false(plumb_text_has_word(NULL, "p"));
    assert_true(plumb_text_starts("model.layer", "model."));
    assert_true(plumb_text_ends("a.weight", ".weight"));
    assert_false(plumb_text_ends("t", ".weight"));
}

static void paths(void **state)
{
    (void)state;
    assert_string_equal(plumb_path_extension("a.b/c.pth.tar"), "tar");
    assert_string_equal(plumb_path_extension("a.b/c"), "");
    assert_string_equal(plumb_path_extension(".hidden"), "");
    assert_string_equal(plumb_path_base("x/y.npy"), "y.npy");
    assert_string_equal(plumb_path_base("y.npy"), "y.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test(words_and_ends),
        cmocka_unit_test(paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
