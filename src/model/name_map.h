/*
 * name_map.h - a user's list of names that belong together.
 *
 * Three ways to write it, told apart by the content: a JSON object {"a": "b"}, YAML lines
 * `a: b`, or lines `a b` (blanks, a tab or a comma between). '#' starts a comment. As in msprobe's
 * layer maps, indented YAML lines under a line `Class:` hold for what is in modules of that class.
 */
#ifndef PLUMB_MODEL_NAME_MAP_H
#define PLUMB_MODEL_NAME_MAP_H

#include "base/arena.h"
#include "base/table.h"

enum { PLUMB_NAME_MAP_BYTES = 64 << 20 }; /* largest file */

struct plumb_name_map {
    struct plumb_arena arena;
    const char **from, **to;
    const char **scope; /* the class an entry holds for; "" everywhere */
    size_t count, capacity;
    struct plumb_table by_from; /* of a scope: "Class\nname" */
};

enum plumb_status plumb_name_map_read(const char *path, struct plumb_name_map *map,
                                      struct plumb_error *err);
void plumb_name_map_release(struct plumb_name_map *map);
/* NULL if the map does not speak of that name. */
const char *plumb_name_map_get(const struct plumb_name_map *map, const char *from);
/* The same inside a module of that class; NULL if the map has nothing for it there. */
const char *plumb_name_map_get_in(const struct plumb_name_map *map, const char *scope,
                                  const char *from);
/* Adds a pair, everywhere (scope "") or in a class; all are copied. */
enum plumb_status plumb_name_map_add(struct plumb_name_map *map, const char *scope,
                                     const char *from, const char *to, struct plumb_error *err);
/* As YAML, which msprobe reads as data_mapping or layer_mapping. */
enum plumb_status plumb_name_map_write(const struct plumb_name_map *map, const char *path,
                                       struct plumb_error *err);

#endif
