/*
 * match.h - which tensor of A belongs to which of B.
 *
 * In this order, each only among what is left: the user's map; equal names; the renaming rules
 * between frameworks, also with wrappers such as `module.` taken off; and last equal shapes in
 * the order of the files, which is a guess and marked as one.
 */
#ifndef PLUMB_COMPARE_MATCH_H
#define PLUMB_COMPARE_MATCH_H

#include "model/file.h"

enum { PLUMB_UNMATCHED = -1 };

struct plumb_matching {
    int64_t *partner;             /* of A's tensor i: index in B, or PLUMB_UNMATCHED */
    enum plumb_match *matched_by; /* of A's tensor i */
    bool *taken;                  /* B's tensor j has a partner */
};

/* `map_path` may be NULL. A name in the map that is in neither file is an error. */
enum plumb_status plumb_matching_find(const struct plumb_file *a, const struct plumb_file *b,
                                      const char *map_path, struct plumb_matching *matching,
                                      struct plumb_error *err);
void plumb_matching_release(struct plumb_matching *matching);

#endif
