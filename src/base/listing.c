/* listing.c - see listing.h. */
#include "base/listing.h"

#include "base/error.h"
#include "base/memory.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    const int order = strverscmp(*a, *b);
    return order ? order : strcmp(*a, *b);
}

static bool add(struct plumb_listing *listing, const char *name)
{
    if (listing->count == listing->capacity) {
        const size_t larger = listing->capacity ? listing->capacity * 2 : 64;
        const char **names = plumb_realloc_array(listing->names, larger, sizeof *names);
        if (!names)
            return false;
        listing->names = names;
        listing->capacity = larger;
    }
    const char *copy = plumb_arena_text(&listing->arena, name, strlen(name));
    if (copy)
        listing->names[listing->count++] = copy;
    return copy != NULL;
}

enum plumb_status plumb_listing_read(const char *path, size_t most,
                                     struct plumb_listing *listing, struct plumb_error *err)
{
    *listing = (struct plumb_listing){0};
    DIR *directory = opendir(path);
    if (!directory)
        return plumb_fail_errno(err, "list", path);
    enum plumb_status status = PLUMB_OK;
    for (const struct dirent *entry; !status && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        if (listing->count == most)
            status = plumb_fail(err, PLUMB_LIMIT, -1,
                                "%s: more than %zu files; open a part of it", path, most);
        else if (!add(listing, entry->d_name))
            status = plumb_fail_memory(err);
    }
    (void)closedir(directory);
    if (status)
        plumb_listing_release(listing);
    else if (listing->count)
        qsort(listing->names, listing->count, sizeof *listing->names, by_name);
    return status;
}

void plumb_listing_release(struct plumb_listing *listing)
{
    plumb_free(listing->names);
    plumb_arena_release(&listing->arena);
    *listing = (struct plumb_listing){0};
}

bool plumb_listing_has(const char *path, size_t most, bool (*fits)(const char *name))
{
    struct plumb_listing listing;
    bool found = false;
    if (plumb_listing_read(path, most, &listing, NULL))
        return false;
    for (size_t i = 0; i < listing.count && !found; i++)
        found = fits(listing.names[i]);
    plumb_listing_release(&listing);
    return found;
}
