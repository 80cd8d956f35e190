/* memory.c - allocation with overflow checks and a switch that makes it fail on demand. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_size_t asked;
static atomic_size_t fail_at;

static bool must_fail(void)
{
    const size_t limit = atomic_load_explicit(&fail_at, memory_order_relaxed);
    if (limit == 0)
        return false;
    return atomic_fetch_add(&asked, 1) + 1 >= limit;
}

size_t plumb_memory_fail_at(size_t n)
{
    atomic_store(&fail_at, n);
    return atomic_exchange(&asked, 0);
}

void *plumb_alloc(size_t size)
{
    return must_fail() ? NULL : malloc(size ? size : 1);
}

void *plumb_alloc_array(size_t count, size_t size)
{
    if (must_fail())
        return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *plumb_realloc_array(void *old, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total) || must_fail())
        return NULL;
    return realloc(old, total ? total : 1);
}

void plumb_free(void *memory)
{
    free(memory);
}

char *plumb_copy_string(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = plumb_alloc(size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}
