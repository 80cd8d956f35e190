/* table.c - open addressing with linear probing, at most half full. */
#include "base/table.h"

#include "base/memory.h"

#include <string.h>

struct table_slot {
    const char *key; /* NULL: free */
    uint64_t hash;
    size_t value;
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, then mixed for the low bits */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

void plumb_table_release(struct plumb_table *table)
{
    plumb_free(table->slots);
    *table = (struct plumb_table){0};
}

static struct table_slot *find_slot(const struct plumb_table *table, const char *key,
                                    uint64_t hash)
{
    size_t i = (size_t)hash & (table->capacity - 1);
    for (;;) {
        struct table_slot *slot = &table->slots[i];
        if (!slot->key || (slot->hash == hash && strcmp(slot->key, key) == 0))
            return slot;
        i = (i + 1) & (table->capacity - 1);
    }
}

static bool grow(struct plumb_table *table)
{
    struct plumb_table larger = {.capacity = table->capacity ? table->capacity * 2 : 16,
                                 .count = table->count};
    larger.slots = plumb_alloc_array(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i].key)
            *find_slot(&larger, table->slots[i].key, table->slots[i].hash) = table->slots[i];
    plumb_free(table->slots);
    *table = larger;
    return true;
}

bool plumb_table_put(struct plumb_table *table, const char *key, size_t value)
{
    if (table->count * 2 >= table->capacity && !grow(table))
        return false;
    const uint64_t hash = hash_text(key);
    struct table_slot *slot = find_slot(table, key, hash);
    if (!slot->key)
        table->count++;
    *slot = (struct table_slot){.key = key, .hash = hash, .value = value};
    return true;
}

bool plumb_table_get(const struct plumb_table *table, const char *key, size_t *value)
{
    if (!table->count)
        return false;
    const struct table_slot *slot = find_slot(table, key, hash_text(key));
    if (!slot->key)
        return false;
    *value = slot->value;
    return true;
}
