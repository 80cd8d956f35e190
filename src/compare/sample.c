/* sample.c - chooses windows of a pair of tensors and reads them. */
#include "compare/sample.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum {
    WINDOW = 2048,     /* elements; a multiple of common block sizes */
    WINDOWS = 16,      /* 32 Ki elements: enough to see a flip rate of 1e-3 as 33 flips */
    WORST_BLOCKS = 4,  /* blocks with most differences */
    MOST_WINDOWS = 96, /* of blocks that differ, when all of them are read */
};

/* Windows by number: window w holds elements [w * WINDOW, (w + 1) * WINDOW). */
struct window_list {
    int64_t number[MOST_WINDOWS + WINDOWS + 8];
    size_t count;
};

static void add_window(struct window_list *list, int64_t number)
{
    if (list->count < sizeof list->number / sizeof *list->number)
        list->number[list->count++] = number;
}

static void add_elements(struct window_list *list, int64_t first, int64_t count)
{
    for (int64_t w = first / WINDOW; w <= (first + count - 1) / WINDOW; w++)
        add_window(list, w);
}

static void add_spread(struct window_list *list, int64_t windows, int64_t wanted)
{
    if (wanted > windows)
        wanted = windows;
    for (int64_t i = 0; i < wanted; i++)
        add_window(list, wanted == 1 ? 0 : i * (windows - 1) / (wanted - 1));
}

static int by_number(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static void sort_and_unite(struct window_list *list)
{
    qsort(list->number, list->count, sizeof *list->number, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (kept == 0 || list->number[kept - 1] != list->number[i])
            list->number[kept++] = list->number[i];
    list->count = kept;
}

/* All blocks that differ, if they fit in MOST_WINDOWS. */
static bool add_unequal_blocks(struct window_list *list, const struct plumb_block_map *map)
{
    /* Both are powers of two, so blocks begin with a window or lie in one. */
    const int64_t windows_a_block = map->block > WINDOW ? map->block / WINDOW : 1;
    size_t blocks = 0;
    for (size_t i = 0; i < map->count; i++)
        blocks += map->unequal[i] != 0;
    if ((int64_t)blocks > MOST_WINDOWS / windows_a_block)
        return false;
    for (size_t i = 0; i < map->count; i++)
        if (map->unequal[i])
            add_elements(list, (int64_t)i * map->block, map->block);
    return true;
}

static void add_worst_blocks(struct window_list *list, const struct plumb_block_map *map)
{
    size_t worst[WORST_BLOCKS];
    size_t count = 0;
    for (size_t i = 0; i < map->count; i++) {
        size_t at = count;
        while (at > 0 && map->unequal[worst[at - 1]] < map->unequal[i])
            at--;
        if (at >= WORST_BLOCKS)
            continue;
        if (count < WORST_BLOCKS)
            count++;
        for (size_t k = count - 1; k > at; k--)
            worst[k] = worst[k - 1];
        worst[at] = i;
    }
    const int64_t most = map->block < WINDOW ? map->block : WINDOW;
    for (size_t i = 0; i < count; i++)
        add_elements(list, (int64_t)worst[i] * map->block, most);
}

static void add_around(struct window_list *list, int64_t index)
{
    if (index >= 0)
        add_window(list, index / WINDOW);
}

static void choose(const struct plumb_operand *a, const struct plumb_comparison *comparison,
                   const struct plumb_block_map *map, struct window_list *list, bool *whole,
                   bool *exact)
{
    const int64_t windows = (a->count + WINDOW - 1) / WINDOW;
    *whole = *exact = windows <= WINDOWS;
    if (*whole) {
        add_spread(list, windows, windows);
        return;
    }
    *exact = map && map->count && add_unequal_blocks(list, map);
    /* With the differing blocks at hand the spread only shows the scale of the rest. */
    add_spread(list, windows, *exact ? WINDOWS / 4 : WINDOWS);
    if (!*exact && map && map->count)
        add_worst_blocks(list, map);
    add_around(list, comparison->worst_index);
    add_around(list, comparison->first_index);
    sort_and_unite(list);
}

static enum plumb_status read_window(const struct plumb_operand *a,
                                     const struct plumb_operand *b, int64_t number,
                                     struct plumb_sample *sample, struct plumb_error *err)
{
    const int64_t first = number * WINDOW;
    const int64_t count = a->count - first < WINDOW ? a->count - first : WINDOW;
    if (count <= 0)
        return PLUMB_OK;
    const size_t at = sample->count;
    enum plumb_status status = plumb_operand_values(a, first, count, sample->a + at, err);
    if (!status)
        status = plumb_operand_values(b, first, count, sample->b + at, err);
    if (status)
        return status;
    for (int64_t i = 0; i < count; i++)
        sample->index[at + (size_t)i] = first + i;
    sample->count += (size_t)count;
    return PLUMB_OK;
}

enum plumb_status plumb_sample_read(const struct plumb_operand *a,
                                    const struct plumb_operand *b,
                                    const struct plumb_comparison *comparison,
                                    const struct plumb_block_map *map,
                                    struct plumb_sample *sample, struct plumb_error *err)
{
    struct window_list list = {.count = 0};
    *sample = (struct plumb_sample){.count = 0};
    choose(a, comparison, map, &list, &sample->whole, &sample->exact);
    const size_t room = sample->whole ? (size_t)a->count : list.count * WINDOW;
    sample->index = plumb_alloc_array(room, sizeof *sample->index);
    sample->a = plumb_alloc_array(room, sizeof *sample->a);
    sample->b = plumb_alloc_array(room, sizeof *sample->b);
    enum plumb_status status = PLUMB_OK;
    if (!sample->index || !sample->a || !sample->b)
        status = plumb_fail_memory(err);
    for (size_t i = 0; !status && i < list.count; i++)
        status = read_window(a, b, list.number[i], sample, err);
    if (status)
        plumb_sample_release(sample);
    return status;
}

void plumb_sample_release(struct plumb_sample *sample)
{
    plumb_free(sample->index);
    plumb_free(sample->a);
    plumb_free(sample->b);
    *sample = (struct plumb_sample){.count = 0};
}
