/* name_map.c - see name_map.h. */
#include "model/name_map.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/output.h"

#include <stdio.h>
#include <string.h>

struct word {
    const char *text;
    size_t length;
};

static const struct word everywhere = {"", 0};

static bool make_room(struct plumb_name_map *map)
{
    if (map->count < map->capacity)
        return true;
    const size_t capacity = map->capacity ? map->capacity * 2 : 64;
    const char ***const columns[] = {&map->from, &map->to, &map->scope};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const char **grown = plumb_realloc_array(*columns[i], capacity, sizeof *grown);
        if (!grown)
            return false;
        *columns[i] = grown;
    }
    map->capacity = capacity;
    return true;
}

static enum plumb_status add(struct plumb_name_map *map, struct word scope, struct word from,
                             struct word to, struct plumb_error *err)
{
    if (!make_room(map))
        return plumb_fail_memory(err);
    const size_t i = map->count;
    map->from[i] = plumb_arena_text(&map->arena, from.text, from.length);
    map->to[i] = plumb_arena_text(&map->arena, to.text, to.length);
    map->scope[i] = plumb_arena_text(&map->arena, scope.text, scope.length);
    if (!map->from[i] || !map->to[i] || !map->scope[i])
        return plumb_fail_memory(err);
    const char *key =
        scope.length ? plumb_arena_printf(&map->arena, "%s\n%s", map->scope[i], map->from[i])
                     : map->from[i];
    if (!key || !plumb_table_put(&map->by_from, key, i))
        return plumb_fail_memory(err);
    map->count++;
    return PLUMB_OK;
}

static struct word word_of(const char *text)
{
    return (struct word){text, strlen(text)};
}

enum plumb_status plumb_name_map_add(struct plumb_name_map *map, const char *scope,
                                     const char *from, const char *to, struct plumb_error *err)
{
    return add(map, word_of(scope), word_of(from), word_of(to), err);
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
        status = plumb_name_map_add(map, "", member->key, to, err);
    }
    return status;
}

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

/* `scope` is that of the lines above; a line that is a heading changes it. */
static enum plumb_status read_line(struct plumb_name_map *map, const char *path, size_t number,
                                   const char *at, const char *end, struct word *scope,
                                   struct plumb_error *err)
{
    const char *start = at;
    struct word from = next_word(&at, end);
    bool colon = false;
    if (!from.length || *from.text == '#')
        return PLUMB_OK;
    if (from.length > 1 && from.text[from.length - 1] == ':') {
        from.length--; /* YAML: `a: b` */
        colon = true;
    } else if (at < end && *at == ':') {
        at++; /* YAML with quotes: "a": b */
        colon = true;
    }
    const bool indented = *start == ' ' || *start == '\t';
    const struct word to = next_word(&at, end);
    const struct word more = next_word(&at, end);
    if (colon && !indented && (!to.length || *to.text == '#')) {
        *scope = from;
        return PLUMB_OK;
    }
    if (!to.length || (more.length && *more.text != '#'))
        return plumb_fail(err, PLUMB_DAMAGED, -1,
                          "%s: line %zu: expected two names, found '%.*s'; write `name_in_a "
                          "name_in_b` on each line",
                          path, number, (int)(end - start > 200 ? 200 : end - start), start);
    if (!indented)
        *scope = everywhere;
    return add(map, *scope, from, to, err);
}

static enum plumb_status read_lines(struct plumb_name_map *map, const struct plumb_map *file,
                                    struct plumb_error *err)
{
    const char *at = (const char *)file->base, *end = at + file->size;
    struct word scope = everywhere;
    enum plumb_status status = PLUMB_OK;
    for (size_t number = 1; at < end && status == PLUMB_OK; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            stop = end;
        status = read_line(map, file->path, number, at, stop, &scope, err);
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
    plumb_free(map->scope);
    plumb_arena_release(&map->arena);
    *map = (struct plumb_name_map){0};
}

const char *plumb_name_map_get(const struct plumb_name_map *map, const char *from)
{
    size_t i;
    return plumb_table_get(&map->by_from, from, &i) ? map->to[i] : NULL;
}

const char *plumb_name_map_get_in(const struct plumb_name_map *map, const char *scope,
                                  const char *from)
{
    char key[4096];
    size_t i;
    if (snprintf(key, sizeof key, "%s\n%s", scope, from) >= (int)sizeof key)
        return NULL;
    return plumb_table_get(&map->by_from, key, &i) ? map->to[i] : NULL;
}

/* ---- writing ----------------------------------------------------------------------------- */

enum plumb_status plumb_name_map_write(const struct plumb_name_map *map, const char *path,
                                       struct plumb_error *err)
{
    struct plumb_buffer text;
    struct plumb_output *output = NULL;
    const char *scope = "";
    plumb_buffer_init(&text, PLUMB_NAME_MAP_BYTES);
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(scope, map->scope[i]) != 0 && *map->scope[i])
            plumb_buffer_printf(&text, "%s%s:\n", i ? "\n" : "", map->scope[i]);
        scope = map->scope[i];
        plumb_buffer_printf(&text, "%s%s: %s\n", *scope ? "  " : "", map->from[i], map->to[i]);
    }
    enum plumb_status status = plumb_buffer_failed(&text)
                                   ? plumb_fail_memory(err)
                                   : plumb_output_open(path, &output, err);
    if (!status)
        status = plumb_output_write(output, plumb_buffer_string(&text), text.size, err);
    if (!status)
        status = plumb_output_commit(output, err);
    plumb_output_close(output);
    plumb_buffer_release(&text);
    return status;
}
