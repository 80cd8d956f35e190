/*
 * run_api_map.h - msprobe's map of operators (api_mapping): which API of MindSpore is which of PyTorch,
 * and which of its arguments and results are which.
 *
 *     - ms_api: Functional.addmm
 *       pt_api: Torch.addmm
 *       ms_args: [0, 1, 2]
 *       pt_args: [0, 2, 1]
 *       ms_outputs: [0]
 *       pt_outputs: [0]
 *
 * What is in no list of its kind is not compared; without a list, places are the same in both. A list has
 * places of positional arguments or names of others; ms_parameters and ms_parameters_grad have names.
 */
#ifndef PLUMB_COMPARE_RUN_API_MAP_H
#define PLUMB_COMPARE_RUN_API_MAP_H

#include "base/arena.h"
#include "base/table.h"

enum plumb_api_side { PLUMB_API_MINDSPORE, PLUMB_API_PYTORCH, PLUMB_API_SIDES };

enum {
    PLUMB_API_LISTS = 4, /* arguments, results, parameters, gradients of these */
    PLUMB_SLOT_SIZE = 256,
};

struct plumb_api_item {
    struct plumb_api_item *next;
    const char *text;
};

struct plumb_api_list {
    struct plumb_api_item *first, **last; /* `last` NULL: there is no such list */
    size_t count;
};

struct plumb_api_entry {
    const char *name[PLUMB_API_SIDES];
    struct plumb_api_list lists[PLUMB_API_SIDES][PLUMB_API_LISTS];
};

struct plumb_api_map {
    struct plumb_arena arena;
    struct plumb_api_entry **entries;
    size_t count, capacity;
    struct plumb_table by_name[PLUMB_API_SIDES];
};

/* `is_one` says whether the file is such a map at all. A zeroed map; release it in either case. */
enum plumb_status plumb_api_map_read(const char *path, struct plumb_api_map *map, bool *is_one,
                                     struct plumb_error *err);
void plumb_api_map_release(struct plumb_api_map *map);
/* NULL if the map does not speak of that op. */
const struct plumb_api_entry *plumb_api_map_find(const struct plumb_api_map *map,
                                                 enum plumb_api_side side, const char *op);
/* What the other side calls a slot of this one; "" if it is left out. In the backward pass results are
 * the gradients of the arguments. */
const char *plumb_api_entry_slot(const struct plumb_api_entry *entry, enum plumb_api_side side,
                                 const char *slot, bool backward, char buffer[PLUMB_SLOT_SIZE]);

#endif
