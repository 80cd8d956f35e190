/* test_utf8_printable.c - text from files is made harmless before people see it. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/utf8.h"

static void question_marks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *in_line, *in_page;
    } cases[] = {
        {"", "", ""},
        {"layer.0", "layer.0", "layer.0"},
        {"a\x1b[2J", "a?[2J", "a?[2J"},
        {"a\nb\r\t", "a?b??", "a\nb??"},
        {"\x7f", "?", "?"},
        {"\xff\xc3", "??", "??"},
        {"\xc3\xbc", "\xc3\xbc", "\xc3\xbc"},
        {"\xc2\x9b", "??", "??"},
        {"\xe5\x90\x8d\xe5", "\xe5\x90\x8d?", "\xe5\x90\x8d?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        plumb_utf8_make_printable(text, false);
        assert_string_equal(text, cases[i].in_line);
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        plumb_utf8_make_printable(text, true);
        assert_string_equal(text, cases[i].in_page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(question_marks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
