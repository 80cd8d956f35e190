/* test_delta_debug.c - the smallest part that does it is found, in few tries, and tries can be stopped. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"

enum { MOST = 200 };

struct case_of {
    bool culprits[MOST];
    size_t tries, most_tries; /* 0: no limit */
};

static enum plumb_try test_set(void *context, const bool *chosen, size_t count)
{
    struct case_of *trial = context;
    if (trial->most_tries && trial->tries == trial->most_tries)
        return PLUMB_TRY_STOP;
    trial->tries++;
    for (size_t i = 0; i < count; i++)
        if (trial->culprits[i] && !chosen[i])
            return PLUMB_TRY_BAD;
    return PLUMB_TRY_GOOD;
}

/* Which are found, of `count` with the given culprits. */
static bool hunt(struct case_of *trial, size_t count, bool *set)
{
    const struct plumb_minimize_options options = {test_set, trial};
    bool smallest = false;
    for (size_t i = 0; i < count; i++)
        set[i] = true;
    assert_int_equal(plumb_minimize(&options, set, count, &smallest, NULL), PLUMB_OK);
    return smallest;
}

static void test_every_single_culprit(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 65; count++)
        for (size_t culprit = 0; culprit < count; culprit++) {
            struct case_of trial = {.culprits = {false}};
            bool set[MOST];
            trial.culprits[culprit] = true;
            assert_true(hunt(&trial, count, set));
            assert_memory_equal(set, trial.culprits, count);
            assert_in_range(trial.tries, 0, 14); /* 2 log2 65 = 12.04 */
        }
}

static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20; i++)
        for (size_t k = i + 1; k < 20; k++) {
            struct case_of trial = {.culprits = {false}};
            bool set[MOST];
            trial.culprits[i] = trial.culprits[k] = true;
            assert_true(hunt(&trial, 20, set));
            assert_memory_equal(set, trial.culprits, 20);
        }
}

static void test_all_of_them(void **state)
{
    (void)state;
    struct case_of trial = {.culprits = {false}};
    bool set[MOST];
    for (size_t i = 0; i < 9; i++)
        trial.culprits[i] = true;
    assert_true(hunt(&trial, 9, set));
    assert_memory_equal(set, trial.culprits, 9);
}

static void test_tries_can_be_stopped(void **state)
{
    (void)state;
    struct case_of trial = {.culprits = {[70] = true}, .most_tries = 3};
    bool set[MOST];
    size_t left = 0;
    assert_false(hunt(&trial, 100, set));
    for (size_t i = 0; i < 100; i++)
        left += set[i];
    assert_true(set[70]);
    assert_in_range(left, 2, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_single_culprit),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_all_of_them),
        cmocka_unit_test(test_tries_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
