/*
 * scan.h - passes over the values of tensors, in parallel and in bounded memory.
 *
 * Work is cut into chunks whose size depends on the tensor alone, and the chunks' results are
 * folded in the order of the elements: the numbers do not depend on the number of threads.
 */
#ifndef PLUMB_MODEL_SCAN_H
#define PLUMB_MODEL_SCAN_H

#include "plumb.h"

/* How many elements differ in each run of `block` elements (a power of two, at least 4096,
 * so chosen that there are at most 65536 runs). */
struct plumb_block_map {
    int64_t block;
    size_t count;
    uint32_t *unequal;
};

enum plumb_status plumb_block_map_new(int64_t elements, struct plumb_block_map **map,
                                      struct plumb_error *err);
void plumb_block_map_free(struct plumb_block_map *map);

/* plumb_tensor_compare() that also fills `map` (made for a->count elements, or NULL). */
enum plumb_status plumb_scan_compare(const struct plumb_tensor *a, const struct plumb_tensor *b,
                                     const struct plumb_compare_options *options,
                                     struct plumb_comparison *comparison,
                                     struct plumb_block_map *map, struct plumb_error *err);

#endif
