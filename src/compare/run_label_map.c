/* run_label_map.c - see run_label_map.h. */
#include "compare/run_label_map.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "compare/op_names.h"

#include <stdio.h>
#include <string.h>

/* ---- classes of modules ------------------------------------------------------------------------- */

static enum plumb_status add_classes(struct plumb_label_map *map, const struct plumb_json *tree,
                                     struct plumb_error *err)
{
    map->class_names =
        plumb_arena_alloc(&map->arena, tree->count + 1, sizeof *map->class_names);
    if (!map->class_names)
        return plumb_fail_memory(err);
    for (const struct plumb_json *module = tree->first; module; module = module->next) {
        const char *path = plumb_json_string(module->first);
        const char *name = path ? plumb_json_string(module->first->next) : NULL;
        if (!name)
            continue;
        map->class_names[map->class_count] = name;
        if (!plumb_table_put(&map->classes, path, map->class_count++))
            return plumb_fail_memory(err);
    }
    return PLUMB_OK;
}

static enum plumb_status read_classes(struct plumb_label_map *map, const struct plumb_run *run,
                                      struct plumb_error *err)
{
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *config = plumb_run_config(run, i);
        const struct plumb_json *tree = NULL;
        const struct plumb_json_source source = {
            .path = plumb_run_path(run), .bytes = config->json, .size = strlen(config->json)};
        if (strcmp(config->key, "model.tree") != 0)
            continue;
        const enum plumb_status status = plumb_json_parse(&map->arena, &source, &tree, err);
        return status ? status : add_classes(map, tree, err);
    }
    return PLUMB_OK;
}

enum plumb_status plumb_label_map_open(struct plumb_label_map *map, const char *path,
                                       const struct plumb_run *run, bool is_mindspore,
                                       struct plumb_error *err)
{
    bool has_apis = false;
    *map = (struct plumb_label_map){.side =
                                        is_mindspore ? PLUMB_API_MINDSPORE : PLUMB_API_PYTORCH};
    enum plumb_status status = plumb_api_map_read(path, &map->apis, &has_apis, err);
    if (!status && !has_apis)
        status = plumb_name_map_read(path, &map->names, err);
    return status ? status : read_classes(map, run, err);
}

bool plumb_label_map_is_empty(const struct plumb_label_map *map)
{
    return !map->names.count && !map->apis.count;
}

void plumb_label_map_release(struct plumb_label_map *map)
{
    plumb_table_release(&map->classes);
    plumb_name_map_release(&map->names);
    plumb_api_map_release(&map->apis);
    plumb_arena_release(&map->arena);
}

/* ---- names ---------------------------------------------------------------------------------------- */

/* The other side's name in a scope ("": everywhere), whichever way the entry is written. */
static const char *other_name(const struct plumb_label_map *map, const char *scope,
                              const char *name)
{
    const char *to = *scope ? plumb_name_map_get_in(&map->names, scope, name)
                            : plumb_name_map_get(&map->names, name);
    for (size_t i = 0; i < map->names.count && !to; i++)
        if (strcmp(map->names.scope[i], scope) == 0 && strcmp(map->names.to[i], name) == 0)
            to = map->names.from[i];
    return to;
}

/* The other name of a child in a module; the outermost module has a name of its own in msprobe. */
static const char *other_child(const struct plumb_label_map *map, const char *parent,
                               const char *child)
{
    size_t at;
    const char *class_name =
        plumb_table_get(&map->classes, parent, &at) ? map->class_names[at] : NULL;
    const char *found = class_name ? other_name(map, class_name, child) : NULL;
    if (!found && !*parent)
        found = other_name(map, "TopLayer", child);
    return found || *parent ? found : other_name(map, "Cell", child);
}

struct walk_path {
    const char *path;
    size_t length, at; /* of the next component */
    char done[PLUMB_LABEL_SIZE];
    char result[PLUMB_LABEL_SIZE];
    bool changed;
};

static void append(char *text, const char *part, size_t length)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, PLUMB_LABEL_SIZE - used, "%s%.*s", used ? "." : "", (int)length,
                   part);
}

/* Takes the next component, or the next two if the map has a name for both. */
static void take_component(const struct plumb_label_map *map, struct walk_path *walk)
{
    const char *start = walk->path + walk->at;
    const size_t left = walk->length - walk->at;
    const char *found = NULL;
    size_t length = 0;
    for (int parts = 2; parts > 0 && !found; parts--) {
        char child[PLUMB_LABEL_SIZE];
        length = 0;
        for (int i = 0; i < parts && length < left; i++) {
            length += i > 0;
            while (length < left && start[length] != '.')
                length++;
        }
        (void)snprintf(child, sizeof child, "%.*s", (int)length, start);
        found = other_child(map, walk->done, child);
    }
    append(walk->done, start, length);
    append(walk->result, found ? found : start, found ? strlen(found) : length);
    const char *whole = other_name(map, "", walk->done);
    if (whole)
        (void)snprintf(walk->result, sizeof walk->result, "%s", whole);
    walk->changed |= found || whole;
    walk->at += length + 1;
}

const char *plumb_label_map_apply(const struct plumb_label_map *map, const char *label,
                                  const char *op, char buffer[PLUMB_LABEL_SIZE])
{
    const char *call = plumb_label_call(label);
    char bare[PLUMB_LABEL_SIZE];
    struct walk_path walk = {.path = label, .length = plumb_label_path(label, op)};
    if (strlen(label) >= PLUMB_LABEL_SIZE / 2)
        return label;
    const struct plumb_api_entry *api = plumb_api_map_find(&map->apis, map->side, op);
    if (api) {
        (void)snprintf(buffer, PLUMB_LABEL_SIZE, "%.*s%s%.400s%s", (int)walk.length, label,
                       walk.length ? "." : "", api->name[!map->side], call);
        return buffer;
    }
    (void)snprintf(bare, sizeof bare, "%.*s", (int)(strlen(label) - strlen(call)), label);
    const char *whole = other_name(map, "", bare);
    if (whole) {
        (void)snprintf(buffer, PLUMB_LABEL_SIZE, "%s%s", whole, call);
        return buffer;
    }
    while (walk.at < walk.length)
        take_component(map, &walk);
    if (!walk.changed)
        return label;
    (void)snprintf(buffer, PLUMB_LABEL_SIZE, "%.900s.%.100s%.20s", walk.result, op, call);
    return buffer;
}

const char *plumb_label_map_slot(const struct plumb_label_map *map, const char *op,
                                 const char *slot, bool backward, char buffer[PLUMB_SLOT_SIZE])
{
    const struct plumb_api_entry *api = plumb_api_map_find(&map->apis, map->side, op);
    return api ? plumb_api_entry_slot(api, map->side, slot, backward, buffer) : NULL;
}
