/*
 * recent_values.h - the tensors that were recorded last, with their values while memory lasts.
 *
 * One piece of memory is used round and round: touching fresh pages would cost more than copying. An input that
 * is an earlier output comes without values and is found again by its fingerprint.
 */
#ifndef PLUMB_COMPARE_RECENT_VALUES_H
#define PLUMB_COMPARE_RECENT_VALUES_H

#include "plumb.h"

enum { PLUMB_RECENT_ROWS = 256 };

/* A tensor that was recorded: what to call it, and where its values are. */
struct plumb_recent_row {
    uint64_t number; /* of the record, from 1 on; 0: none */
    uint64_t op;     /* number of the op: equal for the records of one call */
    char *name;      /* label/phase/slot */
    enum plumb_dtype dtype;
    int dims;
    int64_t shape[PLUMB_MAX_RANK];
    uint64_t fingerprint;
    size_t bytes;
    uint64_t begin; /* of its values, counted over all that were ever kept; UINT64_MAX: none */
};

struct plumb_recent {
    struct plumb_recent_row rows[PLUMB_RECENT_ROWS];
    uint64_t count; /* rows ever added */
    unsigned char *memory;
    size_t size;
    uint64_t written; /* bytes ever kept */
};

/* `size` bytes for values. False when out of memory. */
bool plumb_recent_open(struct plumb_recent *recent, size_t size);
void plumb_recent_release(struct plumb_recent *recent);
/* False when out of memory. `values` may be NULL. */
bool plumb_recent_add(struct plumb_recent *recent, const struct plumb_tensor_record *record,
                      uint64_t op, const void *values);
/* The row that was added `back` rows ago (0: the last); NULL if it is no longer known. */
const struct plumb_recent_row *plumb_recent_row(const struct plumb_recent *recent, size_t back);
/* Its values, or those of another row with the same ones; NULL if they are gone. */
const void *plumb_recent_values(const struct plumb_recent *recent,
                                const struct plumb_recent_row *row);

#endif
