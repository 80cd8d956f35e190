/* test_table.c - names to numbers. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/table.h"

#include <stdio.h>

static void finds_what_was_put_among_many(void **state)
{
    (void)state;
    static char names[5000][16];
    struct plumb_table table = {0};
    size_t value;
    assert_false(plumb_table_get(&table, "none", &value));
    for (size_t i = 0; i < 5000; i++) {
        (void)snprintf(names[i], sizeof names[i], "layer.%zu", i);
        assert_true(plumb_table_put(&table, names[i], i));
    }
    for (size_t i = 0; i < 5000; i++) {
        assert_true(plumb_table_get(&table, names[i], &value));
        assert_int_equal(value, i);
    }
    assert_false(plumb_table_get(&table, "layer.5000", &value));
    assert_int_equal(table.count, 5000);
    plumb_table_release(&table);
}

static void second_value_replaces_the_first(void **state)
{
    (void)state;
    struct plumb_table table = {0};
    size_t value = 0;
    assert_true(plumb_table_put(&table, "a", 1));
    assert_true(plumb_table_put(&table, "a", 2));
    assert_true(plumb_table_get(&table, "a", &value));
    assert_int_equal(value, 2);
    assert_int_equal(table.count, 1);
    plumb_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_put_among_many),
        cmocka_unit_test(second_value_replaces_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
