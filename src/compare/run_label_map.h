/*
 * run_label_map.h - a user's map of names, applied to the ops of one run.
 *
 * Entries name whole ops ("a.b.Linear: x.y.Dense"), modules ("a.b: x.y", which holds for all that is
 * in them), or, under a line "Class:", children of modules of that class, as msprobe's layer maps do.
 * They may be written in either direction. msprobe's maps of operators (run_api_map.h) are read as well.
 */
#ifndef PLUMB_COMPARE_RUN_LABEL_MAP_H
#define PLUMB_COMPARE_RUN_LABEL_MAP_H

#include "compare/run_api_map.h"
#include "model/name_map.h"

struct plumb_label_map {
    struct plumb_name_map names;
    struct plumb_api_map apis;
    enum plumb_api_side side; /* of the run */
    struct plumb_arena arena;
    struct plumb_table classes; /* path of a module -> place in `class_names` */
    const char **class_names;
    size_t class_count;
};

enum { PLUMB_LABEL_SIZE = 1024 };

/* `run` says which modules are of which class. Release it in either case. */
enum plumb_status plumb_label_map_open(struct plumb_label_map *map, const char *path,
                                       const struct plumb_run *run, bool is_mindspore,
                                       struct plumb_error *err);
bool plumb_label_map_is_empty(const struct plumb_label_map *map);
void plumb_label_map_release(struct plumb_label_map *map);
/* What the other run calls the op; `label` itself if the map does not say. */
const char *plumb_label_map_apply(const struct plumb_label_map *map, const char *label,
                                  const char *op, char buffer[PLUMB_LABEL_SIZE]);
/* What the other run calls a slot of the op, "" if it is to be left out; NULL if the map does not say. */
const char *plumb_label_map_slot(const struct plumb_label_map *map, const char *op,
                                 const char *slot, bool backward, char buffer[PLUMB_SLOT_SIZE]);

#endif
