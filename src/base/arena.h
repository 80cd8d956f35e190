/* arena.h - memory that is freed all at once; a result and everything in it is one arena. */
#ifndef PLUMB_BASE_ARENA_H
#define PLUMB_BASE_ARENA_H

#include "plumb.h"

struct plumb_arena {
    struct arena_block *blocks;
    size_t used;      /* in the newest block */
    size_t allocated; /* bytes handed out in all */
    size_t limit;     /* most that may be handed out; 0: none */
};

/* A zeroed struct is an empty arena without a limit. */
void plumb_arena_release(struct plumb_arena *arena);
/* Moves all memory of `from` into `to`; `from` is empty afterwards. */
void plumb_arena_join(struct plumb_arena *to, struct plumb_arena *from);
/* Zeroed and aligned to 16; NULL when out of memory or over the limit. */
void *plumb_arena_alloc(struct plumb_arena *arena, size_t count, size_t size);
char *plumb_arena_text(struct plumb_arena *arena, const char *text, size_t length);
char *plumb_arena_printf(struct plumb_arena *arena, const char *format, ...) PLUMB_PRINTF(2, 3);

#endif
