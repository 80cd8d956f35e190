/* torch_json.h - plain values of a pickle as JSON: numbers, strings, lists of them, ... */
#ifndef PLUMB_FORMAT_TORCH_JSON_H
#define PLUMB_FORMAT_TORCH_JSON_H

#include "base/json_write.h"
#include "base/pickle.h"

/* A pickle may mention one list many times inside another, and so on: the tree is then far
 * larger than the file. More nodes than these are not looked at. */
enum { PLUMB_TORCH_MAX_VISITS = 1 << 24 };

/* True if the node is a value without tensors, dicts or objects in it; lists are looked
 * through. `visits` is raised by the number of nodes seen. */
bool plumb_torch_is_plain(struct plumb_pickle_node *node, uint64_t *visits);
/* Writes a plain value; what is not plain becomes a string that says what it is. */
void plumb_torch_put_json(struct plumb_json_writer *json, struct plumb_pickle_node *node);

#endif
