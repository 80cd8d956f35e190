/* number_map.h - a hash table from 64-bit keys to small numbers, for lookups inside one step. */
#ifndef PLUMB_COMPARE_NUMBER_MAP_H
#define PLUMB_COMPARE_NUMBER_MAP_H

#include "plumb.h"

struct plumb_number_map {
    uint64_t *keys;
    int32_t *values; /* -1: free */
    size_t mask;
};

/* Room for `count` keys; false when out of memory. Release it in either case. */
bool plumb_number_map_make(struct plumb_number_map *map, size_t count);
void plumb_number_map_release(struct plumb_number_map *map);
/* Where the value of the key is, or where it would be put; -1 there means it is not known. */
int32_t *plumb_number_map_at(const struct plumb_number_map *map, uint64_t key);

/* Mixes one more number into a key. */
static inline uint64_t plumb_key_mix(uint64_t key, uint64_t value)
{
    key = (key ^ value) * 0x9e3779b97f4a7c15u;
    return key ^ (key >> 29);
}

#endif
