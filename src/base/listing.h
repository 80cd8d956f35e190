/* listing.h - the names in a directory, sorted, without hidden ones. */
#ifndef PLUMB_BASE_LISTING_H
#define PLUMB_BASE_LISTING_H

#include "base/arena.h"

struct plumb_listing {
    struct plumb_arena arena;
    const char **names; /* numbers in names count as numbers: step2 comes before step10 */
    size_t count, capacity;
};

/* More than `most` names are PLUMB_LIMIT. On failure there is nothing to release. */
enum plumb_status plumb_listing_read(const char *path, size_t most,
                                     struct plumb_listing *listing, struct plumb_error *err);
void plumb_listing_release(struct plumb_listing *listing);

/* Does the directory hold a name that fits? False also if it cannot be read. */
bool plumb_listing_has(const char *path, size_t most, bool (*fits)(const char *name));

#endif
