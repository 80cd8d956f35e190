/* name_map.c - see name_map.h. */
#include "model/name_map.h"

#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "base/memory.h"

#include <string.h>

static enum plumb_status add(struct plumb_name_map *map, const char *from, size_t from_length,
                             const char *to, size_t to_length, struct plumb_error *err)
{
    if (map->count == map->capacity) {
        const size_t capacity = map->capacity ? map->capacity * 2 : 64;
        const char **froms = plumb_realloc_array(map->from, capacity, sizeof *froms);
        if (froms)
            map->from = froms;
        const char **tos = plumb_realloc_array(map->to, capacity, sizeof *tos);
        if (tos)
            map->to = tos;
        if (!froms || !tos)
            return plumb_fail_memory(err);
        map->capacity = capacity;
    }
    map->from[map->count] = plumb_arena_text(&map->arena, from, from_length);
    map->to[map->count] = plumb_arena_text(&map->arena, to, to_length);
    if (!map->from[map->count] || !map->to[map->count] ||
        !plumb_table_put(&map->by_from, map->from[map->count], map->count))
        return plumb_fail_memory(err);
    map->count++;
    return PLUMB_OK;
}

static enum plumb_status read_json(struct plumb_name_map *map, const struct plumb_map *file,
                                   struct plumb_error *err)
{
    const struct plumb_json_source source = {
        .path = file->path, .bytes = file->base, .size = file->size};
    const struct plumb_json *root = NULL;
    enum plumb_status status = plumb_json_parse(&map->arena, &source, &root, err);
    for (const struct plumb_json *member = status ? NULL : root->first;
         member && status == PLUMB_OK; member = member->next) {
        const char *to = plumb_json_string(member);
        if (!member->key || !to)
            return plumb_fail(
                err, PLUMB_DAMAGED, (int64_t)member->offset,
                "%s: byte %zu: expected \"name\": \"name\"; write one pair of names "
                "a member",
                file->path, member->offset);
        status = add(map, member->key, strlen(member->key), to, strlen(to), err);
    }
    return status;
}

struct word {
    const char *text;
    size_t length;
};

/* Takes one name off the line; quotes around it are dropped. */
static struct word next_word(const char **at, const char *end)
{
    while (*at < end && strchr(" \t,\r", **at))
        ++*at;
    struct word word = {.text = *at};
    const bool quoted = *at < end && (**at == '"' || **at == '\'');
    if (quoted) {
        const char quote = *(*at)++;
        word.text = *at;
        while (*at < end && **at != quote)
            ++*at;
        word.length = (size_t)(*at - word.text);
        *at += *at < end;
        return word;
    }
    while (*at < end && !strchr(" \t,\r", **at))
        ++*at;
    word.length = (size_t)(*at - word.text);
    return word;
}

static enum plumb_status read_line(struct plumb_name_map *map, const char *path, size_t number,
                                   const char *at, const char *end, struct plumb_error *err)
{
    const char *start = at;
    struct word from = next_word(&at, end);
    if (!from.length || *from.text == '#')
        return PLUMB_OK;
    if (from.length > 1 && from.text[from.length - 1] == ':')
        from.length--; /* YAML: `a: b` */
    else if (at < end && *at == ':')
        at++; /* YAML with quotes: "a": b */
    const struct word to = next_word(&at, end);
    const struct word more = next_word(&at, end);
    if (!to.length || (more.length && *more.text != '#'))
        return plumb_fail(err, PLUMB_DAMAGED, -1,
                          "%s: line %zu: expected two names, found '%.*s'; write `name_in_a "
                          "name_in_b` on each line",
                          path, number, (int)(end - start > 200 ? 200 : end - start), start);
    return add(map, from.text, from.length, to.text, to.length, err);
}

static enum plumb_status read_lines(struct plumb_name_map *map, const struct plumb_map *file,
                                    struct plumb_error *err)
{
    const char *at = (const char *)file->base, *end = at + file->size;
    enum plumb_status status = PLUMB_OK;
    for (size_t number = 1; at < end && status == PLUMB_OK; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            stop = end;
        status = read_line(map, file->path, number, at, stop, err);
        at = stop + (stop < end);
    }
    return status;
}

enum plumb_status plumb_name_map_read(const char *path, struct plumb_name_map *map,
                                      struct plumb_error *err)
{
    struct plumb_map *file = NULL;
    *map = (struct plumb_name_map){0};
    enum plumb_status status = plumb_map_open(path, &file, err);
    if (status)
        return status;
    size_t start = 0;
    while (start < file->size && strchr(" \t\r\n", file->base[start]))
        start++;
    if (file->size > PLUMB_NAME_MAP_BYTES)
        status = plumb_fail(err, PLUMB_LIMIT, -1, "%s: a map of names of over %d MB", path,
                            PLUMB_NAME_MAP_BYTES >> 20);
    else if (start < file->size && file->base[start] == '{')
        status = read_json(map, file, err);
    else
        status = read_lines(map, file, err);
    plumb_map_close(file);
    if (status)
        plumb_name_map_release(map);
    return status;
}

void plumb_name_map_release(struct plumb_name_map *map)
{
    plumb_table_release(&map->by_from);
    plumb_free(map->from);
    plumb_free(map->to);
    plumb_arena_release(&map->arena);
    *map = (struct plumb_name_map){0};
}

const char *plumb_name_map_get(const struct plumb_name_map *map, const char *from)
{
    size_t i;
    return plumb_table_get(&map->by_from, from, &i) ? map->to[i] : NULL;
}
