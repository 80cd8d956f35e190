/* run_layout.c - see run_layout.h: reads a layout, and answers questions about it. */
#include "compare/run_layout.h"

#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "base/number.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static enum plumb_status fail(struct plumb_error *err, const char *path,
                              const struct plumb_json *at, const char *expected)
{
    return plumb_fail(err, PLUMB_UNSUPPORTED, at ? (int64_t)at->offset : -1,
                      "%s: expected %s; docs/diff-runs.md shows a layout", path, expected);
}

static enum plumb_status parse_ranks(struct plumb_layout *layout, const char *path,
                                     const struct plumb_json *ranks, struct plumb_error *err)
{
    layout->ranks = 1;
    if (!ranks || ranks->kind != PLUMB_JSON_OBJECT || !ranks->count)
        return fail(err, path, ranks, "\"ranks\" with a size for each direction");
    for (const struct plumb_json *size = ranks->first; size; size = size->next) {
        int64_t number;
        if (layout->direction_count == PLUMB_LAYOUT_DIRECTIONS ||
            !plumb_json_integer(size, &number) || number < 1 || number > PLUMB_LAYOUT_RANKS)
            return fail(err, path, size, "at most 8 directions of 1 to 4096 ranks");
        layout->directions[layout->direction_count] = size->key;
        layout->sizes[layout->direction_count++] = number;
        layout->ranks *= (size_t)number;
        if (layout->ranks > PLUMB_LAYOUT_RANKS)
            return fail(err, path, size, "at most 4096 ranks in all");
    }
    return PLUMB_OK;
}

static bool find_direction(const struct plumb_layout *layout, const struct plumb_json *object,
                           size_t *direction)
{
    const char *name = plumb_json_string(plumb_json_get(object, "over"));
    for (size_t i = 0; name && i < layout->direction_count; i++)
        if (strcmp(layout->directions[i], name) == 0) {
            *direction = i;
            return true;
        }
    return false;
}

static bool is_true(const struct plumb_json *value)
{
    return value && value->kind == PLUMB_JSON_BOOL && value->boolean;
}

static enum plumb_status parse_order(struct plumb_layout *layout, const char *path,
                                     const struct plumb_json *order,
                                     struct plumb_layout_rule *rule, struct plumb_error *err)
{
    const char *word = plumb_json_string(order);
    if (!order)
        return PLUMB_OK;
    rule->zigzag = word && strcmp(word, "zigzag") == 0;
    if (rule->zigzag)
        return PLUMB_OK;
    const size_t ranks = (size_t)layout->sizes[rule->direction];
    bool seen[PLUMB_LAYOUT_RANKS] = {false};
    if (order->kind != PLUMB_JSON_ARRAY || order->count != ranks)
        return fail(err, path, order, "\"zigzag\", or every rank of the direction once");
    rule->order = plumb_arena_alloc(&layout->arena, ranks, sizeof *rule->order);
    if (!rule->order)
        return plumb_fail_memory(err);
    for (const struct plumb_json *item = order->first; item; item = item->next) {
        int64_t rank;
        if (!plumb_json_integer(item, &rank) || rank < 0 || rank >= (int64_t)ranks ||
            seen[rank])
            return fail(err, path, item, "every rank of the direction once");
        seen[rank] = true;
        rule->order[rule->order_count++] = rank;
    }
    return PLUMB_OK;
}

static enum plumb_status parse_rule(struct plumb_layout *layout, const char *path,
                                    const struct plumb_json *object, struct plumb_error *err)
{
    struct plumb_layout_rule *rule = &layout->rules[layout->rule_count++];
    const char *op = plumb_json_string(plumb_json_get(object, "op"));
    const char *slot = plumb_json_string(plumb_json_get(object, "slot"));
    *rule = (struct plumb_layout_rule){
        .op = op ? op : "*",
        .slot = slot ? slot : "*",
        .phase = plumb_json_string(plumb_json_get(object, "phase")),
    };
    if (!find_direction(layout, object, &rule->direction))
        return fail(err, path, object, "\"over\" with a direction of \"ranks\"");
    const struct plumb_json *axis = plumb_json_get(object, "axis");
    if (axis && plumb_json_integer(axis, &rule->axis) && llabs(rule->axis) < PLUMB_MAX_RANK)
        rule->way = PLUMB_LAYOUT_AXIS;
    else if (is_true(plumb_json_get(object, "sum")))
        rule->way = PLUMB_LAYOUT_SUM;
    else if (is_true(plumb_json_get(object, "mean")))
        rule->way = PLUMB_LAYOUT_MEAN;
    else if (!is_true(plumb_json_get(object, "copy")))
        return fail(err, path, object,
                    "one of \"axis\": number, \"sum\": true, \"mean\": true, \"copy\": true");
    return parse_order(layout, path, plumb_json_get(object, "order"), rule, err);
}

static enum plumb_status parse_renumber(struct plumb_layout *layout, const char *path,
                                        const struct plumb_json *object,
                                        struct plumb_error *err)
{
    struct plumb_layout_renumber *renumber = &layout->renumbers[layout->renumber_count++];
    renumber->name = plumb_json_string(plumb_json_get(object, "name"));
    if (!renumber->name || !find_direction(layout, object, &renumber->direction) ||
        !plumb_json_integer(plumb_json_get(object, "by"), &renumber->by) || renumber->by < 0 ||
        renumber->by > 1 << 20)
        return fail(err, path, object, "\"name\", \"over\" with a direction, and \"by\"");
    return PLUMB_OK;
}

/* The list of that name, or nothing; at most PLUMB_LAYOUT_RULES objects. */
static enum plumb_status find_list(const struct plumb_json *root, const char *path,
                                   const char *name, const struct plumb_json **list,
                                   struct plumb_error *err)
{
    *list = plumb_json_get(root, name);
    if (*list && ((*list)->kind != PLUMB_JSON_ARRAY || (*list)->count > PLUMB_LAYOUT_RULES))
        return fail(err, path, *list, "a list of at most 512 rules");
    return PLUMB_OK;
}

static enum plumb_status parse(struct plumb_layout *layout, const char *path,
                               const struct plumb_json *root, struct plumb_error *err)
{
    const struct plumb_json *split = NULL, *renumber = NULL;
    enum plumb_status status = parse_ranks(layout, path, plumb_json_get(root, "ranks"), err);
    if (!status)
        status = find_list(root, path, "split", &split, err);
    if (!status)
        status = find_list(root, path, "renumber", &renumber, err);
    if (status)
        return status;
    layout->rules = plumb_arena_alloc(&layout->arena, (split ? split->count : 0) + 1,
                                      sizeof *layout->rules);
    layout->renumbers = plumb_arena_alloc(&layout->arena, (renumber ? renumber->count : 0) + 1,
                                          sizeof *layout->renumbers);
    if (!layout->rules || !layout->renumbers)
        return plumb_fail_memory(err);
    for (const struct plumb_json *at = split ? split->first : NULL; at && !status;
         at = at->next)
        status = parse_rule(layout, path, at, err);
    for (const struct plumb_json *at = renumber ? renumber->first : NULL; at && !status;
         at = at->next)
        status = parse_renumber(layout, path, at, err);
    return status;
}

enum plumb_status plumb_layout_parse(const char *path, const void *bytes, size_t size,
                                     struct plumb_layout *layout, struct plumb_error *err)
{
    const struct plumb_json_source source = {.path = path, .bytes = bytes, .size = size};
    const struct plumb_json *root = NULL;
    *layout = (struct plumb_layout){0};
    enum plumb_status status = plumb_json_parse(&layout->arena, &source, &root, err);
    if (!status)
        status = parse(layout, path, root, err);
    if (status)
        plumb_layout_release(layout);
    return status;
}

enum plumb_status plumb_layout_read(const char *path, struct plumb_layout *layout,
                                    struct plumb_error *err)
{
    struct plumb_map *map = NULL;
    *layout = (struct plumb_layout){0};
    enum plumb_status status = plumb_map_open(path, &map, err);
    if (!status)
        status = plumb_layout_parse(path, map->base, map->size, layout, err);
    plumb_map_close(map);
    return status;
}

void plumb_layout_release(struct plumb_layout *layout)
{
    plumb_arena_release(&layout->arena);
    *layout = (struct plumb_layout){0};
}

int64_t plumb_layout_place(const struct plumb_layout *layout, int64_t rank, size_t direction)
{
    for (size_t i = layout->direction_count; i-- > direction + 1;)
        rank /= layout->sizes[i];
    return rank % layout->sizes[direction];
}

const struct plumb_layout_rule *plumb_layout_rule_for(const struct plumb_layout *layout,
                                                      const struct plumb_tensor_record *record,
                                                      size_t direction)
{
    for (size_t i = 0; i < layout->rule_count; i++) {
        const struct plumb_layout_rule *rule = &layout->rules[i];
        if (rule->direction == direction && plumb_text_matches(rule->op, record->label) &&
            plumb_text_matches(rule->slot, record->slot) &&
            (!rule->phase || strcmp(rule->phase, plumb_phase_name(record->phase)) == 0))
            return rule;
    }
    return NULL;
}

const char *plumb_layout_label(const struct plumb_layout *layout, struct plumb_arena *arena,
                               const char *label, int rank)
{
    for (size_t i = 0; i < layout->renumber_count; i++) {
        const struct plumb_layout_renumber *renumber = &layout->renumbers[i];
        const char *found = strstr(label, renumber->name);
        const char *digits = found ? found + strlen(renumber->name) : NULL;
        const size_t length = digits ? strspn(digits, "0123456789") : 0;
        const int64_t add =
            plumb_layout_place(layout, rank, renumber->direction) * renumber->by;
        double number;
        if (!length || length > 9 || !add || !plumb_number_parse(digits, length, &number))
            continue;
        label = plumb_arena_printf(arena, "%.*s%lld%s", (int)(digits - label), label,
                                   (long long)number + (long long)add, digits + length);
        if (!label)
            return NULL;
    }
    return plumb_arena_text(arena, label, strlen(label));
}
