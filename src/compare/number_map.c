/* number_map.c - see number_map.h. */
#include "compare/number_map.h"

#include "base/memory.h"

enum { FREE = -1, SMALLEST = 16 };

bool plumb_number_map_make(struct plumb_number_map *map, size_t count)
{
    size_t size = SMALLEST;
    while (size < 2 * count)
        size *= 2;
    map->keys = plumb_alloc_array(size, sizeof *map->keys);
    map->values = plumb_alloc_array(size, sizeof *map->values);
    map->mask = size - 1;
    for (size_t i = 0; map->values && i < size; i++)
        map->values[i] = FREE;
    return map->keys && map->values;
}

void plumb_number_map_release(struct plumb_number_map *map)
{
    plumb_free(map->keys);
    plumb_free(map->values);
}

int32_t *plumb_number_map_at(const struct plumb_number_map *map, uint64_t key)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash ^ (hash >> 32)) & map->mask;
    while (map->values[at] != FREE && map->keys[at] != key)
        at = (at + 1) & map->mask;
    map->keys[at] = key;
    return &map->values[at];
}
