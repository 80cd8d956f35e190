/* test_buffer.c - growable bytes, and what happens at the limit. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"

static void appends_text_and_numbers(void **state)
{
    (void)state;
    struct plumb_buffer buffer;
    plumb_buffer_init(&buffer, 1000);
    assert_string_equal(plumb_buffer_string(&buffer), "");
    plumb_buffer_text(&buffer, "ab");
    plumb_buffer_printf(&buffer, "%d-%s", 12, "x");
    plumb_buffer_fill(&buffer, '.', 3);
    plumb_buffer_append(&buffer, "\0z", 2);
    assert_int_equal(buffer.size, 11);
    assert_memory_equal(buffer.data, "ab12-x...\0z", 12);
    plumb_buffer_clear(&buffer);
    assert_string_equal(plumb_buffer_string(&buffer), "");
    plumb_buffer_release(&buffer);
}

static void limit_is_loud_and_final(void **state)
{
    (void)state;
    struct plumb_buffer buffer;
    plumb_buffer_init(&buffer, 4);
    plumb_buffer_text(&buffer, "abcd");
    assert_false(plumb_buffer_failed(&buffer));
    plumb_buffer_text(&buffer, "e");
    assert_true(plumb_buffer_failed(&buffer));
    plumb_buffer_text(&buffer, "");
    assert_true(plumb_buffer_failed(&buffer));
    assert_string_equal(plumb_buffer_string(&buffer), "abcd");
    plumb_buffer_release(&buffer);
}

static void failed_allocation_is_remembered(void **state)
{
    (void)state;
    struct plumb_buffer buffer;
    plumb_buffer_init(&buffer, 1000);
    plumb_memory_fail_at(1);
    plumb_buffer_text(&buffer, "a");
    plumb_memory_fail_at(0);
    assert_true(plumb_buffer_failed(&buffer));
    plumb_buffer_release(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_text_and_numbers),
        cmocka_unit_test(limit_is_loud_and_final),
        cmocka_unit_test(failed_allocation_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
