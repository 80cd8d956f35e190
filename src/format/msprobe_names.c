/* msprobe_names.c - see msprobe_names.h. */
#include "format/msprobe_names.h"

#include "base/error.h"
#include "base/json_pull.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* ---- names --------------------------------------------------------------------------------- */

/* Cuts the last ".part" off `rest`; false if there is no dot. */
static bool cut_last(struct plumb_msprobe_span *rest, struct plumb_msprobe_span *part)
{
    const char *dot = memrchr(rest->text, '.', rest->length);
    if (!dot)
        return false;
    const size_t before = (size_t)(dot - rest->text);
    *part = (struct plumb_msprobe_span){dot + 1, rest->length - before - 1};
    rest->length = before;
    return true;
}

static bool is(const struct plumb_msprobe_span *span, const char *text)
{
    return strlen(text) == span->length && memcmp(span->text, text, span->length) == 0;
}

static bool as_number(const struct plumb_msprobe_span *span, int *number)
{
    *number = 0;
    for (size_t i = 0; i < span->length; i++) {
        if (span->text[i] < '0' || span->text[i] > '9' || i == 9)
            return false;
        *number = *number * 10 + (span->text[i] - '0');
    }
    return span->length > 0;
}

/* "Module.layer1.0.conv1.Conv2d": the class is the op. */
static void name_module(struct plumb_msprobe_name *name, struct plumb_msprobe_span rest)
{
    const char *dot = memchr(rest.text, '.', rest.length);
    const size_t prefix = dot ? (size_t)(dot - rest.text) + 1 : 0;
    rest.text += prefix;
    rest.length -= prefix;
    name->module = rest;
    if (!cut_last(&name->module, &name->op)) {
        name->op = rest;
        name->module.length = 0;
    }
}

static bool is_direction(const struct plumb_msprobe_span *span, bool *backward)
{
    *backward = is(span, "backward");
    return *backward || is(span, "forward");
}

static bool parse_module(const char *text, struct plumb_msprobe_name *name)
{
    struct plumb_msprobe_span rest = {text, strlen(text)}, last, before;
    if (!plumb_text_starts(text, "Module.") && !plumb_text_starts(text, "Cell."))
        return false;
    if (!cut_last(&rest, &last))
        return false;
    if (is(&last, "parameters_grad")) {
        name->kind = PLUMB_MSPROBE_PARAMETERS_GRAD;
        name->backward = true;
        name_module(name, rest);
        return true;
    }
    if (!as_number(&last, &name->call) || !cut_last(&rest, &before))
        return false;
    if (is(&before, "parameters_grad")) {
        name->kind = PLUMB_MSPROBE_PARAMETERS_GRAD;
        name->backward = true;
    } else if (is_direction(&before, &name->backward)) {
        name->kind = PLUMB_MSPROBE_MODULE;
    } else {
        return false;
    }
    name_module(name, rest);
    return true;
}

static bool parse_api(const char *text, struct plumb_msprobe_name *name)
{
    struct plumb_msprobe_span rest = {text, strlen(text)}, last, number;
    if (!cut_last(&rest, &last))
        return false;
    const bool debug = is(&last, "debug");
    if ((!debug && !is_direction(&last, &name->backward)) || !cut_last(&rest, &number) ||
        !as_number(&number, &name->call))
        return false;
    name->kind = debug ? PLUMB_MSPROBE_DEBUG : PLUMB_MSPROBE_API;
    name->op = rest;
    name->collective =
        plumb_text_starts(text, "Distributed.") || plumb_text_starts(text, "MintDistributed.");
    return true;
}

struct plumb_msprobe_name plumb_msprobe_name_parse(const char *text)
{
    struct plumb_msprobe_name name = {.module = {text, 0}, .op = {text, strlen(text)}};
    if (parse_module(text, &name))
        return name;
    name.call = 0;
    if (parse_api(text, &name))
        return name;
    return (struct plumb_msprobe_name){
        .kind = PLUMB_MSPROBE_OTHER, .module = {text, 0}, .op = {text, strlen(text)}};
}

/* ---- construct.json -------------------------------------------------------------------------- */

static bool keep(struct plumb_msprobe_places *places, const char *node, const char *parent)
{
    if (places->count == places->capacity) {
        const size_t larger = places->capacity ? places->capacity * 2 : 256;
        const char **names = plumb_realloc_array(places->names, larger, sizeof *names);
        if (!names)
            return false;
        places->names = names;
        places->capacity = larger;
    }
    const char *key = plumb_arena_text(&places->arena, node, strlen(node));
    const char *value = plumb_arena_text(&places->arena, parent, strlen(parent));
    if (!key || !value)
        return false;
    places->names[places->count] = value;
    return plumb_table_put(&places->parents, key, places->count++);
}

/* The value of one node: its parent, null, or [parent, micro step]. */
static void take_parent(struct plumb_json_pull *pull, struct plumb_buffer *parent)
{
    const enum plumb_json_token token = plumb_json_pull_next(pull);
    plumb_buffer_clear(parent);
    if (token == PLUMB_JSON_TEXT) {
        plumb_json_pull_unescape(pull, parent);
    } else if (token == PLUMB_JSON_OPEN_ARRAY) {
        enum plumb_json_token inner = plumb_json_pull_next(pull);
        if (inner == PLUMB_JSON_TEXT)
            plumb_json_pull_unescape(pull, parent);
        while (inner != PLUMB_JSON_CLOSE_ARRAY && inner != PLUMB_JSON_BROKEN) {
            if (!plumb_json_pull_skip(pull, inner))
                return;
            inner = plumb_json_pull_next(pull);
        }
    } else {
        (void)plumb_json_pull_skip(pull, token);
    }
}

static bool take_nodes(struct plumb_msprobe_places *places, struct plumb_json_pull *pull)
{
    enum { LONGEST_NAME = 1 << 16 };
    struct plumb_buffer node, parent;
    bool room = true;
    plumb_buffer_init(&node, LONGEST_NAME);
    plumb_buffer_init(&parent, LONGEST_NAME);
    enum plumb_json_token token = plumb_json_pull_next(pull);
    if (token == PLUMB_JSON_OPEN_OBJECT)
        token = plumb_json_pull_next(pull);
    for (; room && token == PLUMB_JSON_KEY; token = plumb_json_pull_next(pull)) {
        plumb_buffer_clear(&node);
        plumb_json_pull_unescape(pull, &node);
        take_parent(pull, &parent);
        if (!pull->problem)
            room = keep(places, plumb_buffer_string(&node), plumb_buffer_string(&parent));
    }
    room &= !plumb_buffer_failed(&node) && !plumb_buffer_failed(&parent);
    plumb_buffer_release(&node);
    plumb_buffer_release(&parent);
    return room;
}

enum plumb_status plumb_msprobe_places_read(struct plumb_msprobe_places *places,
                                            const char *construct_path, struct plumb_error *err)
{
    struct plumb_map *map = NULL;
    *places = (struct plumb_msprobe_places){0};
    const enum plumb_status status = plumb_map_open(construct_path, &map, NULL);
    if (status)
        return status == PLUMB_NO_MEMORY ? plumb_fail_memory(err) : PLUMB_OK;
    struct plumb_json_pull pull = plumb_json_pull_of(map->base, map->size);
    const bool room = take_nodes(places, &pull);
    places->broken = pull.problem != NULL;
    plumb_map_close(map);
    if (!room)
        plumb_msprobe_places_release(places);
    return room ? PLUMB_OK : plumb_fail_memory(err);
}

void plumb_msprobe_places_release(struct plumb_msprobe_places *places)
{
    plumb_table_release(&places->parents);
    plumb_table_release(&places->calls);
    plumb_table_release(&places->counts);
    plumb_free(places->names);
    plumb_arena_release(&places->arena);
}

/* ---- where an operation belongs ---------------------------------------------------------------- */

static void copy_span(const struct plumb_msprobe_span *span, char *to, size_t size)
{
    const size_t length = span->length < size ? span->length : size - 1;
    memcpy(to, span->text, length);
    to[length] = '\0';
}

/* Backward has the number of its forward, in another order: both count as the forward did. */
static bool count_call(struct plumb_msprobe_places *places, struct plumb_msprobe_place *place)
{
    char key[1400];
    size_t known = 0, count = 0;
    (void)snprintf(key, sizeof key, "%s %s.%d", place->module, place->op, place->call);
    if (plumb_table_get(&places->calls, key, &known)) {
        place->call = (int)known;
        return true;
    }
    const char *call_key = plumb_arena_text(&places->arena, key, strlen(key));
    (void)snprintf(key, sizeof key, "%s %s", place->module, place->op);
    (void)plumb_table_get(&places->counts, key, &count);
    const char *count_key = plumb_arena_text(&places->arena, key, strlen(key));
    place->call = (int)count;
    return call_key && count_key && plumb_table_put(&places->calls, call_key, count) &&
           plumb_table_put(&places->counts, count_key, count + 1);
}

/* The calls of a module are remembered for its gradients. */
static bool keep_call(struct plumb_msprobe_places *places,
                      const struct plumb_msprobe_place *place)
{
    char key[1400];
    size_t known = 0;
    (void)snprintf(key, sizeof key, "%s %s.%d", place->module, place->op, place->call);
    if (plumb_table_get(&places->calls, key, &known))
        return true;
    const char *kept = plumb_arena_text(&places->arena, key, strlen(key));
    return kept && plumb_table_put(&places->calls, kept, (size_t)place->call);
}

/* msprobe's number of parameters_grad goes on from step to step. One that is not the number of a
 * call in this step is counted from 0. */
static bool count_gradients(struct plumb_msprobe_places *places,
                            struct plumb_msprobe_place *place)
{
    char key[1400];
    size_t count = 0;
    (void)snprintf(key, sizeof key, "%s %s.%d", place->module, place->op, place->call);
    if (plumb_table_get(&places->calls, key, &count))
        return true;
    (void)snprintf(key, sizeof key, "%s %s parameters_grad", place->module, place->op);
    (void)plumb_table_get(&places->counts, key, &count);
    place->call = (int)count;
    const char *kept = plumb_arena_text(&places->arena, key, strlen(key));
    return kept && plumb_table_put(&places->counts, kept, count + 1);
}

/* construct.json puts a backward where autograd happened to be, which changes from step to step: it
 * belongs where its forward is. */
static bool find_parent(const struct plumb_msprobe_places *places, const char *name,
                        const struct plumb_msprobe_name *parsed, size_t *parent)
{
    char forward[1400];
    const size_t length = strlen(name), tail = strlen("backward");
    if (parsed->backward && length > tail && length + 1 < sizeof forward) {
        (void)snprintf(forward, sizeof forward, "%.*sforward", (int)(length - tail), name);
        if (plumb_table_get(&places->parents, forward, parent))
            return true;
    }
    return plumb_table_get(&places->parents, name, parent);
}

bool plumb_msprobe_place_of(struct plumb_msprobe_places *places, const char *name,
                            const struct plumb_msprobe_name *parsed,
                            struct plumb_msprobe_place *place)
{
    size_t parent = 0;
    copy_span(&parsed->module, place->module, sizeof place->module);
    copy_span(&parsed->op, place->op, sizeof place->op);
    place->call = parsed->call;
    if (parsed->kind == PLUMB_MSPROBE_MODULE)
        return keep_call(places, place);
    if (parsed->kind == PLUMB_MSPROBE_PARAMETERS_GRAD)
        return count_gradients(places, place);
    if (parsed->kind != PLUMB_MSPROBE_API || !places->count)
        return true;
    if (find_parent(places, name, parsed, &parent)) {
        const struct plumb_msprobe_name above = plumb_msprobe_name_parse(places->names[parent]);
        if (above.kind == PLUMB_MSPROBE_MODULE)
            copy_span(&above.module, place->module, sizeof place->module);
    }
    return count_call(places, place);
}
