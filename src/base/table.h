/* table.h - from a string to a number: names of tensors to their index. Keys are borrowed. */
#ifndef PLUMB_BASE_TABLE_H
#define PLUMB_BASE_TABLE_H

#include "plumb.h"

struct plumb_table {
    struct table_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* A zeroed struct is an empty table. */
void plumb_table_release(struct plumb_table *table);
/* False when out of memory. An existing key gets the new value. */
bool plumb_table_put(struct plumb_table *table, const char *key, size_t value);
bool plumb_table_get(const struct plumb_table *table, const char *key, size_t *value);

#endif
