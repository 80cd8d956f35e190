/* arena.c - a list of growing blocks, filled from the front. */
#include "base/arena.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t size;
    _Alignas(16) unsigned char bytes[];
};

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

void plumb_arena_release(struct plumb_arena *arena)
{
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        plumb_free(block);
        block = next;
    }
    *arena = (struct plumb_arena){.limit = arena->limit};
}

void plumb_arena_join(struct plumb_arena *to, struct plumb_arena *from)
{
    if (!from->blocks)
        return;
    struct arena_block *last = from->blocks;
    while (last->next)
        last = last->next;
    if (to->blocks) { /* behind the block that is being filled */
        last->next = to->blocks->next;
        to->blocks->next = from->blocks;
    } else {
        to->blocks = from->blocks;
        to->used = from->used;
    }
    to->allocated += from->allocated;
    *from = (struct plumb_arena){.limit = from->limit};
}

static bool add_block(struct plumb_arena *arena, size_t need)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < need)
        size = need;
    if (size > SIZE_MAX - sizeof(struct arena_block))
        return false;
    struct arena_block *block = plumb_alloc(sizeof *block + size);
    if (!block)
        return false;
    block->next = arena->blocks;
    block->size = size;
    arena->blocks = block;
    arena->used = 0;
    return true;
}

void *plumb_arena_alloc(struct plumb_arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total) || total > SIZE_MAX - 15)
        return NULL;
    total = (total + 15) & ~(size_t)15;
    if (arena->limit && total > arena->limit - arena->allocated)
        return NULL;
    if (!arena->blocks || total > arena->blocks->size - arena->used)
        if (!add_block(arena, total))
            return NULL;
    void *memory = arena->blocks->bytes + arena->used;
    arena->used += total;
    arena->allocated += total;
    memset(memory, 0, total);
    return memory;
}

char *plumb_arena_text(struct plumb_arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = plumb_arena_alloc(arena, length + 1, 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

char *plumb_arena_printf(struct plumb_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? NULL : plumb_arena_alloc(arena, (size_t)length + 1, 1);
    if (text)
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}
