/*
 * large_pages.c - see large_pages.h.
 *
 * Between two operators a network walks through so much memory that the processor has forgotten where the small pages
 * of our tables are, and every one that is touched is looked for again. Pages of 2 MB are two or three.
 */
#include "large_pages.h"

#include <stdint.h>

#if defined(__linux__)

#include <sys/mman.h>

/* Where the linker puts what begins as zeros: nearly all of it are tables. */
extern char __bss_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

void plumb_use_large_pages(void)
{
    const uintptr_t size = (uintptr_t)2 << 20, rest = size - 1;
    const uintptr_t begin = ((uintptr_t)__bss_start + rest) & ~rest;
    const uintptr_t end = (uintptr_t)_end & ~rest;
    if (end > begin)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

#else

void plumb_use_large_pages(void)
{
}

#endif
