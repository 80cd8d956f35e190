/*
 * memory.h - every allocation of the library.
 *
 * All go through these four, so that tests can make the n-th of them fail and so that a
 * size that overflows is a failed allocation instead of a small one.
 */
#ifndef PLUMB_BASE_MEMORY_H
#define PLUMB_BASE_MEMORY_H

#include <stddef.h>

void *plumb_alloc(size_t size);
/* Zeroed; NULL if count * size overflows. */
void *plumb_alloc_array(size_t count, size_t size);
void *plumb_realloc_array(void *old, size_t count, size_t size);
void plumb_free(void *memory);
char *plumb_copy_string(const char *text);

/* For tests: the n-th allocation from now on fails, and every one after it; 0 turns it off.
 * Counts are per process. Returns how many allocations were asked for since the last call. */
size_t plumb_memory_fail_at(size_t n);

#endif
