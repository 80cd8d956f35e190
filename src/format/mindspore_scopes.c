/* mindspore_scopes.c - where a kernel of a MindSpore dump belongs; see mindspore_dump.h. */
#include "format/mindspore_dump.h"

#include "base/error.h"
#include "base/listing.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/log_rows.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 1 << 20, LONGEST = 1024 };

/* ---- the tables ---------------------------------------------------------------------------------- */

static bool keep_line(struct plumb_arena *arena, const char ***lines, size_t *count,
                      size_t *capacity, const char *text, size_t length)
{
    if (*count == *capacity) {
        const size_t larger = *capacity ? *capacity * 2 : 256;
        const char **grown = plumb_realloc_array(*lines, larger, sizeof *grown);
        if (!grown)
            return false;
        *lines = grown;
        *capacity = larger;
    }
    const char *copy = plumb_arena_text(arena, text, length);
    if (copy)
        (*lines)[(*count)++] = copy;
    return copy != NULL;
}

/* One scope a line; in names of files its slashes are underscores. */
static bool take_scope(struct plumb_mindspore_scopes *scopes, const char *line, size_t length)
{
    if (!memchr(line, '/', length) || length >= LONGEST)
        return true; /* the heading */
    char *key = plumb_arena_text(&scopes->arena, line, length);
    if (!key || !keep_line(&scopes->arena, &scopes->lines, &scopes->count, &scopes->capacity,
                           line, length))
        return false;
    for (char *c = key; *c; c++)
        if (*c == '/')
            *c = '_';
    return plumb_table_put(&scopes->order, key, scopes->count - 1);
}

/* "93a0...npy,Conv2D.Default_very_long...npy" */
static bool take_long_name(struct plumb_mindspore_scopes *scopes, const char *line,
                           size_t length)
{
    const char *comma = memchr(line, ',', length);
    if (!comma || comma == line)
        return true;
    const size_t before = (size_t)(comma - line);
    const char *key = plumb_arena_text(&scopes->arena, line, before);
    if (!key || !keep_line(&scopes->arena, &scopes->names, &scopes->name_count,
                           &scopes->name_capacity, comma + 1, length - before - 1))
        return false;
    return plumb_table_put(&scopes->long_names, key, scopes->name_count - 1);
}

static enum plumb_status read_lines(struct plumb_mindspore_scopes *scopes, const char *path,
                                    bool (*take)(struct plumb_mindspore_scopes *scopes,
                                                 const char *line, size_t length),
                                    struct plumb_error *err)
{
    struct plumb_map *map = NULL;
    const char *line;
    size_t length;
    bool torn, room = true;
    const enum plumb_status status = plumb_map_open(path, &map, NULL);
    if (status)
        return status == PLUMB_NO_MEMORY ? plumb_fail_memory(err) : PLUMB_OK;
    for (size_t at = 0; room && plumb_log_next_line(map, &at, &line, &length, &torn);)
        room = !length || take(scopes, line, length);
    plumb_map_close(map);
    return room ? PLUMB_OK : plumb_fail_memory(err);
}

/* {rank}/{net}/{graph}/{iteration} knows its graph; the order lies three levels above. */
static enum plumb_status read_order(struct plumb_mindspore_scopes *scopes,
                                    const char *iteration_path, struct plumb_error *err)
{
    char above[4096], graph[64] = "", path[4096 + 128];
    (void)snprintf(above, sizeof above, "%s", iteration_path);
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(above, '/');
        if (!slash)
            return PLUMB_OK;
        if (i == 1)
            (void)snprintf(graph, sizeof graph, "%.60s", slash + 1);
        *slash = '\0';
    }
    (void)snprintf(path, sizeof path, "%s/execution_order/ms_execution_order_graph_%s.csv",
                   above, graph);
    return read_lines(scopes, path, take_scope, err);
}

enum plumb_status plumb_mindspore_scopes_read(struct plumb_mindspore_scopes *scopes,
                                              const char *iteration_path,
                                              struct plumb_error *err)
{
    char mapping[4096];
    *scopes = (struct plumb_mindspore_scopes){0};
    enum plumb_status status = read_order(scopes, iteration_path, err);
    if (!status && snprintf(mapping, sizeof mapping, "%s/mapping.csv", iteration_path) <
                       (int)sizeof mapping)
        status = read_lines(scopes, mapping, take_long_name, err);
    return status;
}

void plumb_mindspore_scopes_release(struct plumb_mindspore_scopes *scopes)
{
    plumb_table_release(&scopes->order);
    plumb_table_release(&scopes->long_names);
    plumb_table_release(&scopes->first_seen);
    plumb_free(scopes->lines);
    plumb_free(scopes->names);
    plumb_arena_release(&scopes->arena);
}

const char *plumb_mindspore_real_name(const struct plumb_mindspore_scopes *scopes,
                                      const char *file)
{
    size_t line = 0;
    if (plumb_table_get(&scopes->long_names, file, &line))
        return scopes->names[line];
    char stem[LONGEST];
    (void)snprintf(stem, sizeof stem, "%.*s",
                   (int)(strlen(file) - (plumb_text_ends(file, ".npy") ? 4 : 0)), file);
    return plumb_table_get(&scopes->long_names, stem, &line) ? scopes->names[line] : file;
}

/* ---- a kernel's place ------------------------------------------------------------------------------- */

/* Cells that only wrap the network, and the parts that autograd adds. */
static bool is_wrapper(const char *part, size_t length)
{
    static const char *const starts[] = {
        "Default",   "Gradients",        "Grad_",
        "_backbone", "network-WithLoss", "network-TrainOneStep",
        "recompute_"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(part, starts[i], strlen(starts[i])) == 0 && length >= strlen(starts[i]))
            return true;
    return false;
}

/* "conv-Conv2d" is the cell conv. */
static size_t attribute_length(const char *part, size_t length)
{
    const char *dash = memrchr(part, '-', length);
    return dash ? (size_t)(dash - part) : length;
}

static void name_module(const char *scope, struct plumb_mindspore_place *place)
{
    size_t used = 0;
    for (const char *part = scope, *slash; (slash = strchr(part, '/')); part = slash + 1) {
        const size_t length = (size_t)(slash - part);
        const size_t kept = attribute_length(part, length);
        if (is_wrapper(part, length) || !kept || used + kept + 2 > sizeof place->module)
            continue;
        if (used)
            place->module[used++] = '.';
        memcpy(place->module + used, part, kept);
        used += kept;
    }
    place->module[used] = '\0';
}

static enum plumb_phase phase_of(const char *type, const char *scope)
{
    static const char collectives[] = "AllReduce AllGather ReduceScatter Broadcast AllToAll "
                                      "AlltoAll AllToAllv Send Receive NeighborExchange Reduce";
    if (plumb_text_has_word(collectives, type))
        return PLUMB_PHASE_COLLECTIVE;
    if (strstr(scope, "optimizer-") || strcmp(type, "Parameter") == 0 ||
        plumb_text_starts(type, "Apply"))
        return PLUMB_PHASE_OPTIMIZER;
    return plumb_text_starts(scope, "Gradients") ? PLUMB_PHASE_BACKWARD : PLUMB_PHASE_FORWARD;
}

/* The earliest time stands for the kernel: files come sorted. */
static bool order_by_time(struct plumb_mindspore_scopes *scopes, const char *type,
                          const char *scope, int64_t time, int64_t *order)
{
    char key[2 * LONGEST + 2];
    size_t seen = 0;
    (void)snprintf(key, sizeof key, "%s %s", type, scope);
    if (plumb_table_get(&scopes->first_seen, key, &seen)) {
        *order = (int64_t)seen;
        return true;
    }
    const char *copy = plumb_arena_text(&scopes->arena, key, strlen(key));
    *order = time;
    return copy && plumb_table_put(&scopes->first_seen, copy, (size_t)time);
}

bool plumb_mindspore_place_of(struct plumb_mindspore_scopes *scopes, const char *type,
                              const char *scope, int64_t time,
                              struct plumb_mindspore_place *place)
{
    char key[LONGEST];
    size_t line = 0;
    *place = (struct plumb_mindspore_place){.phase = phase_of(type, scope)};
    (void)snprintf(place->op, sizeof place->op, "%s", type);
    if (strcmp(type, "Parameter") == 0) {
        place->order = INT64_MAX / 2 + time % (INT64_MAX / 4);
        return true;
    }
    (void)snprintf(key, sizeof key, "%s", scope);
    for (char *c = key; *c; c++)
        if (*c == '/')
            *c = '_';
    const char *suffix = strstr(scope, "-op");
    const int64_t call = suffix ? plumb_numbered_name(suffix, "-op") : -1;
    place->call = call > 0 && call < INT32_MAX ? (int)call : 0;
    if (plumb_table_get(&scopes->order, key, &line)) {
        name_module(scopes->lines[line], place);
        place->order = (int64_t)line;
        return true;
    }
    if (strchr(scope, '/')) {
        name_module(scope, place);
    } else { /* which underscores were slashes nobody knows */
        const char *start = plumb_text_starts(scope, "Gradients_Default_") ? scope + 18
                            : plumb_text_starts(scope, "Default_")         ? scope + 8
                                                                           : scope;
        const size_t length =
            suffix && suffix > start ? (size_t)(suffix - start) : strlen(start);
        (void)snprintf(place->module, sizeof place->module, "%.*s", (int)length, start);
    }
    return order_by_time(scopes, type, scope, time, &place->order);
}
