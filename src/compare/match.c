/* match.c - see match.h. */
#include "compare/match.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/name_map.h"
#include "model/naming.h"

#include <string.h>

const char *plumb_match_name(enum plumb_match match)
{
    static const char *const names[PLUMB_MATCH_COUNT] = {
        [PLUMB_MATCH_NAME] = "name",
        [PLUMB_MATCH_RULE] = "rule",
        [PLUMB_MATCH_MAP] = "map",
        [PLUMB_MATCH_GUESS] = "guess",
    };
    return (size_t)match < PLUMB_MATCH_COUNT ? names[match] : "unknown";
}

struct search {
    const struct plumb_file *a, *b;
    struct plumb_matching *found;
    struct plumb_arena arena;
    struct plumb_table bare_b; /* B's names without wrappers; an ambiguous one is not in it */
};

static bool free_in_b(const struct search *s, size_t j)
{
    return !s->found->taken[j];
}

static void pair_up(const struct search *s, size_t i, size_t j, enum plumb_match how)
{
    s->found->partner[i] = (int64_t)j;
    s->found->matched_by[i] = how;
    s->found->taken[j] = true;
}

static bool is_free(const struct search *s, size_t i)
{
    return s->found->partner[i] == PLUMB_UNMATCHED;
}

static enum plumb_status match_map(const struct search *s, const char *path,
                                   struct plumb_error *err)
{
    struct plumb_name_map map;
    enum plumb_status status = plumb_name_map_read(path, &map, err);
    if (status)
        return status;
    for (size_t n = 0; n < map.count && status == PLUMB_OK; n++) {
        size_t i, j;
        const bool in_a = plumb_table_get(&s->a->names, map.from[n], &i);
        const bool in_b = plumb_table_get(&s->b->names, map.to[n], &j);
        if (in_a && in_b && is_free(s, i) && free_in_b(s, j))
            pair_up(s, i, j, PLUMB_MATCH_MAP);
        else if (!in_a || !in_b)
            status =
                plumb_fail(err, PLUMB_NOT_FOUND, -1,
                           "%s: '%s' is not in %s; `plumb show` lists the names there", path,
                           in_a ? map.to[n] : map.from[n], in_a ? s->b->path : s->a->path);
        else
            status = plumb_fail(err, PLUMB_INVALID, -1, "%s: '%s' or '%s' is in the map twice",
                                path, map.from[n], map.to[n]);
    }
    plumb_name_map_release(&map);
    return status;
}

static void match_names(const struct search *s)
{
    for (size_t i = 0; i < s->a->tensor_count; i++) {
        size_t j;
        if (is_free(s, i) && plumb_table_get(&s->b->names, s->a->tensors[i]->name, &j) &&
            free_in_b(s, j))
            pair_up(s, i, j, PLUMB_MATCH_NAME);
    }
}

static bool index_bare_names(struct search *s)
{
    static const size_t ambiguous = SIZE_MAX;
    for (size_t j = 0; j < s->b->tensor_count; j++) {
        const char *bare = plumb_naming_bare(s->b->tensors[j]->name);
        size_t other;
        const bool seen = plumb_table_get(&s->bare_b, bare, &other);
        if (!plumb_table_put(&s->bare_b, bare, seen ? ambiguous : j))
            return false;
    }
    return true;
}

/* A partner by rule must also have the right shape: names alone say too little. */
static bool try_rule(const struct search *s, size_t i, const char *bare_name)
{
    size_t j;
    if (!plumb_table_get(&s->bare_b, bare_name, &j) || j >= s->b->tensor_count ||
        !free_in_b(s, j) || !plumb_naming_same_layout(s->a->tensors[i], s->b->tensors[j]))
        return false;
    pair_up(s, i, j, PLUMB_MATCH_RULE);
    return true;
}

static enum plumb_status match_rules(struct search *s, struct plumb_error *err)
{
    if (!index_bare_names(s))
        return plumb_fail_memory(err);
    for (size_t i = 0; i < s->a->tensor_count; i++) {
        const char *bare = plumb_naming_bare(s->a->tensors[i]->name);
        const char *candidates[PLUMB_NAMING_CANDIDATES];
        if (!is_free(s, i) || try_rule(s, i, bare))
            continue;
        const size_t count = plumb_naming_candidates(&s->arena, bare, candidates);
        if (count == SIZE_MAX)
            return plumb_fail_memory(err);
        for (size_t n = 0; n < count; n++)
            if (try_rule(s, i, candidates[n]))
                break;
    }
    return PLUMB_OK;
}

static bool may_guess(const struct plumb_tensor *tensor)
{
    return !plumb_naming_has_no_partner(tensor->name) &&
           !plumb_naming_is_optimizer(tensor->name);
}

/* The shape as a key: tensors of one shape queue up behind it. */
static char *shape_key(struct plumb_arena *arena, const struct plumb_tensor *tensor)
{
    char *key = plumb_arena_printf(arena, "%d", tensor->rank);
    for (int i = 0; key && i < tensor->rank; i++)
        key = plumb_arena_printf(arena, "%s,%lld", key, (long long)tensor->shape[i]);
    return key;
}

/* Next of B's free tensors with the same shape, for each of them; the table has the first. */
static enum plumb_status queue_shapes(struct search *s, struct plumb_table *first,
                                      int64_t *next, struct plumb_error *err)
{
    for (size_t j = s->b->tensor_count; j-- > 0;) {
        size_t behind;
        if (!free_in_b(s, j) || !may_guess(s->b->tensors[j]))
            continue;
        char *key = shape_key(&s->arena, s->b->tensors[j]);
        next[j] =
            key && plumb_table_get(first, key, &behind) ? (int64_t)behind : PLUMB_UNMATCHED;
        if (!key || !plumb_table_put(first, key, j))
            return plumb_fail_memory(err);
    }
    return PLUMB_OK;
}

static enum plumb_status match_shapes(struct search *s, struct plumb_error *err)
{
    struct plumb_table first = {0};
    int64_t *next = plumb_arena_alloc(&s->arena, s->b->tensor_count, sizeof *next);
    enum plumb_status status =
        next ? queue_shapes(s, &first, next, err) : plumb_fail_memory(err);
    for (size_t i = 0; i < s->a->tensor_count && status == PLUMB_OK; i++) {
        size_t j;
        if (!is_free(s, i) || !may_guess(s->a->tensors[i]))
            continue;
        char *key = shape_key(&s->arena, s->a->tensors[i]);
        if (!key) {
            status = plumb_fail_memory(err);
        } else if (plumb_table_get(&first, key, &j) && j != SIZE_MAX) {
            pair_up(s, i, j, PLUMB_MATCH_GUESS);
            /* The key exists already: replacing its value cannot fail. */
            (void)plumb_table_put(&first, key, next[j] < 0 ? SIZE_MAX : (size_t)next[j]);
        }
    }
    plumb_table_release(&first);
    return status;
}

/* Two files of one tensor each are meant to be compared, whatever they are called. */
static void match_only_ones(const struct search *s)
{
    if (s->a->tensor_count == 1 && s->b->tensor_count == 1 && is_free(s, 0))
        pair_up(s, 0, 0, PLUMB_MATCH_GUESS);
}

void plumb_matching_release(struct plumb_matching *matching)
{
    plumb_free(matching->partner);
    plumb_free(matching->matched_by);
    plumb_free(matching->taken);
    *matching = (struct plumb_matching){0};
}

enum plumb_status plumb_matching_find(const struct plumb_file *a, const struct plumb_file *b,
                                      const char *map_path, struct plumb_matching *matching,
                                      struct plumb_error *err)
{
    struct search s = {.a = a, .b = b, .found = matching};
    *matching = (struct plumb_matching){
        .partner = plumb_alloc_array(a->tensor_count, sizeof *matching->partner),
        .matched_by = plumb_alloc_array(a->tensor_count, sizeof *matching->matched_by),
        .taken = plumb_alloc_array(b->tensor_count, sizeof *matching->taken),
    };
    enum plumb_status status = PLUMB_OK;
    if (!matching->partner || !matching->matched_by || !matching->taken)
        status = plumb_fail_memory(err);
    for (size_t i = 0; i < a->tensor_count && status == PLUMB_OK; i++)
        matching->partner[i] = PLUMB_UNMATCHED;
    if (status == PLUMB_OK && map_path)
        status = match_map(&s, map_path, err);
    if (status == PLUMB_OK) {
        match_names(&s);
        status = match_rules(&s, err);
    }
    if (status == PLUMB_OK)
        status = match_shapes(&s, err);
    if (status == PLUMB_OK)
        match_only_ones(&s);
    plumb_table_release(&s.bare_b);
    plumb_arena_release(&s.arena);
    if (status)
        plumb_matching_release(matching);
    return status;
}
