/* run_unread.h - what two runs recorded and could not be read, and therefore not be compared. */
#ifndef PLUMB_COMPARE_RUN_UNREAD_H
#define PLUMB_COMPARE_RUN_UNREAD_H

#include "base/arena.h"
#include "compare/run_overlap.h"

enum { PLUMB_UNREAD_LISTED = 20 };

struct plumb_unread {
    bool in_a;
    int rank;
    int64_t first_step, last_step; /* INT64_MAX: to the end; last < first: of no step */
    const char *text;              /* one line: which side, what, since when */
};

struct plumb_unread_list {
    struct plumb_unread items[PLUMB_UNREAD_LISTED];
    size_t count, total; /* listed; in all */
};

/* `ops_only_a` and `ops_only_b`: how many ops one side alone has. False when out of memory. */
bool plumb_unread_find(struct plumb_arena *arena, const struct plumb_run *a,
                       const struct plumb_run *b, size_t ops_only_a, size_t ops_only_b,
                       struct plumb_unread_list *list);
/* Could something be hidden there that comes before this step? */
bool plumb_unread_before(const struct plumb_unread_list *list, int64_t step);

#endif
