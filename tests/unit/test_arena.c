/* test_arena.c - memory that is freed all at once. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/memory.h"

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    struct plumb_arena arena = {0};
    for (size_t size = 1; size < 5000; size += 37) {
        unsigned char *memory = plumb_arena_alloc(&arena, 1, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xff, size);
    }
    plumb_arena_release(&arena);
}

static void limit_and_overflow_give_null(void **state)
{
    (void)state;
    struct plumb_arena arena = {.limit = 1000};
    assert_null(plumb_arena_alloc(&arena, SIZE_MAX / 2, 3));
    assert_null(plumb_arena_alloc(&arena, 1, 2000));
    assert_non_null(plumb_arena_alloc(&arena, 1, 500));
    assert_null(plumb_arena_alloc(&arena, 1, 600));
    plumb_arena_release(&arena);
}

static void text_is_copied_and_ended(void **state)
{
    (void)state;
    struct plumb_arena arena = {0};
    assert_string_equal(plumb_arena_text(&arena, "layer.weight", 5), "layer");
    assert_string_equal(plumb_arena_printf(&arena, "%s[%d]", "a", 7), "a[7]");
    plumb_arena_release(&arena);
}

static void failed_allocation_gives_null(void **state)
{
    (void)state;
    struct plumb_arena arena = {0};
    plumb_memory_fail_at(1);
    assert_null(plumb_arena_alloc(&arena, 1, 16));
    plumb_memory_fail_at(0);
    assert_non_null(plumb_arena_alloc(&arena, 1, 16));
    plumb_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(limit_and_overflow_give_null),
        cmocka_unit_test(text_is_copied_and_ended),
        cmocka_unit_test(failed_allocation_gives_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
