/* run_api_map.c - see run_api_map.h: the part of YAML that such maps are written in. */
#include "compare/run_api_map.h"

#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/name_map.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ITEMS = 256, KEY_SIZE = 40 };

static const char *const prefixes[PLUMB_API_SIDES] = {"ms_", "pt_"};
/* msprobe checks "outputs" and reads "output". */
static const struct {
    const char *key;
    unsigned list;
} list_keys[] = {
    {"args", 0}, {"outputs", 1}, {"output", 1}, {"parameters", 2}, {"parameters_grad", 3}};

struct reading {
    struct plumb_api_map *map;
    const char *path;
    size_t line;
    size_t indent; /* of the entries' dashes */
    bool dashes;   /* entries begin with one; else the file is one entry */
    struct plumb_api_entry *entry;
    struct plumb_api_list *list; /* that lines with a dash add to */
};

struct span {
    const char *at, *end;
};

/* ---- texts ---------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span text)
{
    while (text.at < text.end && is_blank(*text.at))
        text.at++;
    while (text.end > text.at && is_blank(text.end[-1]))
        text.end--;
    return text;
}

/* Up to a comment, without blanks around it. */
static struct span uncomment(struct span text)
{
    char quote = 0;
    for (const char *at = text.at; at < text.end; at++) {
        if (quote ? *at == quote : *at == '"' || *at == '\'')
            quote = quote ? 0 : *at;
        else if (!quote && *at == '#' && (at == text.at || is_blank(at[-1])))
            text.end = at;
    }
    return trim(text);
}

static struct span unquote(struct span text)
{
    if (text.end - text.at > 1 && (*text.at == '"' || *text.at == '\'') &&
        text.end[-1] == *text.at) {
        text.at++;
        text.end--;
    }
    return text;
}

static enum plumb_status fail(const struct reading *reading, const char *expected,
                              struct plumb_error *err)
{
    return plumb_fail(err, PLUMB_DAMAGED, -1,
                      "%s: line %zu: expected %s; docs/diff-runs.md shows a map of operators",
                      reading->path, reading->line, expected);
}

/* ---- entries -------------------------------------------------------------------------------------- */

static enum plumb_status add_item(struct reading *reading, struct span text,
                                  struct plumb_error *err)
{
    struct plumb_api_list *list = reading->list;
    struct plumb_arena *arena = &reading->map->arena;
    text = unquote(trim(text));
    if (text.at == text.end)
        return fail(reading, "a number or a name in the list", err);
    if (list->count == MOST_ITEMS)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: line %zu: a list of over %d arguments",
                          reading->path, reading->line, MOST_ITEMS);
    struct plumb_api_item *item = plumb_arena_alloc(arena, 1, sizeof *item);
    const char *kept = plumb_arena_text(arena, text.at, (size_t)(text.end - text.at));
    if (!item || !kept)
        return plumb_fail_memory(err);
    *item = (struct plumb_api_item){.text = kept};
    *list->last = item;
    list->last = &item->next;
    list->count++;
    return PLUMB_OK;
}

/* "[0, 1]", or one item. */
static enum plumb_status add_items(struct reading *reading, struct span text,
                                   struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    if (*text.at != '[')
        return add_item(reading, text, err);
    if (text.end[-1] != ']')
        return fail(reading, "']' on the line of '['", err);
    text = trim((struct span){text.at + 1, text.end - 1});
    while (text.at < text.end && !status) {
        const char *comma = memchr(text.at, ',', (size_t)(text.end - text.at));
        const char *stop = comma ? comma : text.end;
        status = add_item(reading, (struct span){text.at, stop}, err);
        text.at = stop + (comma != NULL);
    }
    return status;
}

static enum plumb_status begin_entry(struct reading *reading, struct plumb_error *err)
{
    struct plumb_api_map *map = reading->map;
    if (map->count == map->capacity) {
        const size_t larger = map->capacity ? 2 * map->capacity : 64;
        void *grown = plumb_realloc_array(map->entries, larger, sizeof *map->entries);
        if (!grown)
            return plumb_fail_memory(err);
        map->entries = grown;
        map->capacity = larger;
    }
    reading->entry = plumb_arena_alloc(&map->arena, 1, sizeof *reading->entry);
    if (!reading->entry)
        return plumb_fail_memory(err);
    *reading->entry = (struct plumb_api_entry){0};
    reading->list = NULL;
    map->entries[map->count++] = reading->entry;
    return PLUMB_OK;
}

static enum plumb_status set_name(struct reading *reading, unsigned side, struct span value,
                                  struct plumb_error *err)
{
    value = unquote(value);
    if (value.at == value.end || reading->entry->name[side])
        return fail(reading, "one name", err);
    reading->entry->name[side] =
        plumb_arena_text(&reading->map->arena, value.at, (size_t)(value.end - value.at));
    return reading->entry->name[side] ? PLUMB_OK : plumb_fail_memory(err);
}

static enum plumb_status read_key(struct reading *reading, const char *key, struct span value,
                                  struct plumb_error *err)
{
    reading->list = NULL;
    for (unsigned side = 0; side < PLUMB_API_SIDES; side++) {
        if (!plumb_text_starts(key, prefixes[side]))
            continue;
        const char *rest = key + strlen(prefixes[side]);
        if (strcmp(rest, "api") == 0)
            return set_name(reading, side, value, err);
        for (size_t i = 0; i < sizeof list_keys / sizeof *list_keys; i++) {
            struct plumb_api_list *list = &reading->entry->lists[side][list_keys[i].list];
            if (strcmp(rest, list_keys[i].key) != 0)
                continue;
            if (list->last)
                return fail(reading, "each list once", err);
            list->last = &list->first;
            reading->list = list;
            return value.at < value.end ? add_items(reading, value, err) : PLUMB_OK;
        }
    }
    return fail(reading,
                "ms_api, pt_api, ms_args, pt_args, ms_outputs, pt_outputs, "
                "ms_parameters(_grad) or pt_parameters(_grad)",
                err);
}

/* ---- lines ---------------------------------------------------------------------------------------- */

static enum plumb_status read_pair(struct reading *reading, struct span text,
                                   struct plumb_error *err)
{
    const char *colon = memchr(text.at, ':', (size_t)(text.end - text.at));
    char key[KEY_SIZE];
    if (!colon || !reading->entry)
        return fail(reading, "`name: value`", err);
    const struct span name = unquote(trim((struct span){text.at, colon}));
    (void)snprintf(key, sizeof key, "%.*s", (int)(name.end - name.at), name.at);
    return read_key(reading, key, trim((struct span){colon + 1, text.end}), err);
}

static enum plumb_status read_line(struct reading *reading, struct span line,
                                   struct plumb_error *err)
{
    struct span text = uncomment(line);
    const size_t indent = (size_t)(text.at - line.at);
    const bool dash = text.at < text.end && *text.at == '-' &&
                      (text.at + 1 == text.end || is_blank(text.at[1]));
    enum plumb_status status = PLUMB_OK;
    if (text.at == text.end || (text.end - text.at == 3 && memcmp(text.at, "---", 3) == 0))
        return PLUMB_OK;
    if (!reading->map->count) {
        reading->indent = indent;
        reading->dashes = dash;
    }
    const bool begins =
        dash ? reading->dashes && indent == reading->indent : !reading->map->count;
    if (dash)
        text = trim((struct span){text.at + 1, text.end});
    if (dash && !begins)
        return reading->list ? add_items(reading, text, err)
                             : fail(reading, "a list before its items", err);
    if (begins)
        status = begin_entry(reading, err);
    return status || text.at == text.end ? status : read_pair(reading, text, err);
}

static enum plumb_status check_entry(const struct reading *reading,
                                     const struct plumb_api_entry *entry, size_t number,
                                     struct plumb_error *err)
{
    const char *wrong = entry->name[0] && entry->name[1] ? NULL : "ms_api and pt_api";
    for (size_t i = 0; i < PLUMB_API_LISTS && !wrong; i++)
        if (entry->lists[0][i].count != entry->lists[1][i].count)
            wrong = "as many of ms_ as of pt_ in its lists";
    if (!wrong)
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_DAMAGED, -1,
                      "%s: entry %zu (%s): expected %s; docs/diff-runs.md shows a map of "
                      "operators",
                      reading->path, number + 1, entry->name[0] ? entry->name[0] : "no ms_api",
                      wrong);
}

static enum plumb_status read_lines(struct reading *reading, struct span rest,
                                    struct plumb_error *err)
{
    struct plumb_api_map *map = reading->map;
    enum plumb_status status = PLUMB_OK;
    while (rest.at < rest.end && !status) {
        const char *stop = memchr(rest.at, '\n', (size_t)(rest.end - rest.at));
        stop = stop ? stop : rest.end;
        reading->line++;
        status = read_line(reading, (struct span){rest.at, stop}, err);
        rest.at = stop + (stop < rest.end);
    }
    for (size_t i = 0; i < map->count && !status; i++) {
        status = check_entry(reading, map->entries[i], i, err);
        for (size_t side = 0; side < PLUMB_API_SIDES && !status; side++)
            if (!plumb_table_put(&map->by_name[side], map->entries[i]->name[side], i))
                status = plumb_fail_memory(err);
    }
    return status;
}

/* Its first line that says something is a key of an entry, with a dash or without. */
static bool looks_like_one(struct span rest)
{
    struct span text = {rest.at, rest.at};
    while (rest.at < rest.end && text.at == text.end) {
        const char *stop = memchr(rest.at, '\n', (size_t)(rest.end - rest.at));
        stop = stop ? stop : rest.end;
        text = uncomment((struct span){rest.at, stop});
        if (text.at < text.end && *text.at == '-') /* also "---" */
            while (text.at < text.end && (*text.at == '-' || is_blank(*text.at)))
                text.at++;
        rest.at = stop + (stop < rest.end);
    }
    text.at += text.at < text.end && (*text.at == '"' || *text.at == '\'');
    for (size_t side = 0; side < PLUMB_API_SIDES; side++)
        if (text.end - text.at > 3 && memcmp(text.at, prefixes[side], 3) == 0 &&
            memchr(text.at, ':', (size_t)(text.end - text.at)))
            return true;
    return false;
}

enum plumb_status plumb_api_map_read(const char *path, struct plumb_api_map *map, bool *is_one,
                                     struct plumb_error *err)
{
    struct plumb_map *file = NULL;
    struct reading reading = {.map = map, .path = path};
    enum plumb_status status = plumb_map_open(path, &file, err);
    *is_one = false;
    if (status)
        return status;
    const struct span text = {(const char *)file->base, (const char *)file->base + file->size};
    *is_one = looks_like_one(text);
    if (*is_one && file->size > PLUMB_NAME_MAP_BYTES)
        status = plumb_fail(err, PLUMB_LIMIT, -1, "%s: a map of operators of over %d MB", path,
                            PLUMB_NAME_MAP_BYTES >> 20);
    else if (*is_one)
        status = read_lines(&reading, text, err);
    plumb_map_close(file);
    return status;
}

void plumb_api_map_release(struct plumb_api_map *map)
{
    for (size_t side = 0; side < PLUMB_API_SIDES; side++)
        plumb_table_release(&map->by_name[side]);
    plumb_free(map->entries);
    plumb_arena_release(&map->arena);
    *map = (struct plumb_api_map){0};
}

/* ---- asking --------------------------------------------------------------------------------------- */

const struct plumb_api_entry *plumb_api_map_find(const struct plumb_api_map *map,
                                                 enum plumb_api_side side, const char *op)
{
    size_t at;
    return plumb_table_get(&map->by_name[side], op, &at) ? map->entries[at] : NULL;
}

/* What follows the item in the slot: "" or, of a nested value, ".1"; NULL if it is another. */
static const char *after_item(const char *text, const char *item)
{
    const size_t length = strlen(item);
    if (strncmp(text, item, length) != 0)
        return NULL;
    return text[length] == '\0' || text[length] == '.' ? text + length : NULL;
}

const char *plumb_api_entry_slot(const struct plumb_api_entry *entry, enum plumb_api_side side,
                                 const char *slot, bool backward, char buffer[PLUMB_SLOT_SIZE])
{
    static const char *const kinds[PLUMB_API_LISTS] = {"input", "output", "param:", "grad:"};
    size_t kind = 0;
    while (kind < PLUMB_API_LISTS && !plumb_text_starts(slot, kinds[kind]))
        kind++;
    if (kind == PLUMB_API_LISTS)
        return slot;
    const size_t list = backward && kind < 2 ? 1 - kind : kind;
    const struct plumb_api_item *other = entry->lists[!side][list].first;
    const char *text = slot + strlen(kinds[kind]);
    if (!entry->lists[side][list].last)
        return slot;
    text += *text == ':';
    for (const struct plumb_api_item *item = entry->lists[side][list].first; item;
         item = item->next, other = other->next) {
        const char *rest = after_item(text, item->text);
        if (!rest)
            continue;
        const bool named = kind < 2 && (*other->text < '0' || *other->text > '9');
        (void)snprintf(buffer, PLUMB_SLOT_SIZE, "%s%s%s%s", kinds[kind], named ? ":" : "",
                       other->text, rest);
        return buffer;
    }
    return "";
}
