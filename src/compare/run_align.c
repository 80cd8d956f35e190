/* run_align.c - see run_align.h: ops of a step, pairs by name, rows of a pair, where values come from. */
#include "compare/run_align.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers to numbers ---------------------------------------------------------------------- */

struct number_map {
    uint64_t *keys;
    int32_t *values; /* PLUMB_NO_ROW: free */
    size_t mask;
};

static bool map_make(struct number_map *map, size_t count)
{
    size_t size = 16;
    while (size < 2 * count)
        size *= 2;
    map->keys = plumb_alloc_array(size, sizeof *map->keys);
    map->values = plumb_alloc_array(size, sizeof *map->values);
    map->mask = size - 1;
    for (size_t i = 0; map->values && i < size; i++)
        map->values[i] = PLUMB_NO_ROW;
    return map->keys && map->values;
}

static void map_release(struct number_map *map)
{
    plumb_free(map->keys);
    plumb_free(map->values);
}

/* Where the key is, or where it would be put. */
static int32_t *map_at(const struct number_map *map, uint64_t key)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash ^ (hash >> 32)) & map->mask;
    while (map->values[at] != PLUMB_NO_ROW && map->keys[at] != key)
        at = (at + 1) & map->mask;
    map->keys[at] = key;
    return &map->values[at];
}

/* ---- the ops of a side ------------------------------------------------------------------------ */

static uint64_t op_key(uint32_t label, unsigned phase)
{
    return (uint64_t)label << 8 | phase;
}

uint64_t plumb_step_structure(const struct plumb_row *rows, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ rows[i].place) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool side_allocate(struct plumb_arena *arena, struct plumb_step_side *side, size_t count)
{
    side->row_count = count;
    side->ops = plumb_arena_alloc(arena, count + 1, sizeof *side->ops);
    side->order = plumb_arena_alloc(arena, count + 1, sizeof *side->order);
    int32_t **const columns[] = {&side->op_of, &side->next, &side->partner, &side->source};
    side->stage = plumb_arena_alloc(arena, count + 1, sizeof *side->stage);
    bool whole = side->ops && side->order && side->stage;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        *columns[i] = plumb_arena_alloc(arena, count + 1, sizeof **columns[i]);
        whole = whole && *columns[i];
        for (size_t k = 0; *columns[i] && k < count; k++)
            (*columns[i])[k] = PLUMB_NO_ROW;
    }
    return whole;
}

/* An op that contains others has rows before and after theirs: it is done at its last row. */
static void order_ops(struct plumb_step_side *side)
{
    size_t done = 0;
    for (size_t row = 0; row < side->row_count; row++) {
        const int32_t op = side->op_of[row];
        if (side->ops[op].last == row)
            side->order[done++] = (uint32_t)op;
    }
}

static bool find_ops(struct plumb_step_side *side, const struct plumb_row *rows)
{
    struct number_map map = {0};
    const bool made = map_make(&map, side->row_count);
    for (size_t i = 0; made && i < side->row_count; i++) {
        int32_t *known = map_at(&map, op_key(rows[i].label, rows[i].phase));
        if (*known == PLUMB_NO_ROW) {
            *known = (int32_t)side->op_count++;
            side->ops[*known] = (struct plumb_step_op){.first = (uint32_t)i,
                                                       .label = rows[i].label,
                                                       .name = rows[i].op,
                                                       .out = PLUMB_NO_ROW,
                                                       .partner = PLUMB_NO_ROW,
                                                       .forward = PLUMB_NO_ROW,
                                                       .phase = rows[i].phase};
        } else {
            side->next[side->ops[*known].last] = (int32_t)i;
        }
        struct plumb_step_op *op = &side->ops[*known];
        op->last = (uint32_t)i;
        if (op->out == PLUMB_NO_ROW && rows[i].role == PLUMB_ROW_OUT)
            op->out = (int32_t)i;
        side->op_of[i] = *known;
    }
    for (size_t i = 0; made && i < side->op_count; i++)
        if (side->ops[i].phase == PLUMB_PHASE_BACKWARD)
            side->ops[i].forward =
                *map_at(&map, op_key(side->ops[i].label, PLUMB_PHASE_FORWARD));
    map_release(&map);
    if (made)
        order_ops(side);
    return made;
}

/* Values as a number: their fingerprint, or what the statistics say if there is none. */
static uint64_t values_key(const struct plumb_row *row)
{
    if (row->fingerprint || !row->has_stats)
        return row->fingerprint;
    uint64_t key = (uint64_t)row->count;
    const double numbers[] = {row->stats.l2, row->stats.min, row->stats.max, row->stats.mean};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        key = (key ^ bits) * 0x9e3779b97f4a7c15u;
        key ^= key >> 29;
    }
    return key;
}

static bool find_sources(struct plumb_step_side *side, const struct plumb_row *rows)
{
    struct number_map map = {0};
    const bool made = map_make(&map, side->row_count);
    for (size_t i = 0; made && i < side->row_count; i++) {
        const uint64_t key = values_key(&rows[i]);
        if (!key)
            continue;
        int32_t *known = map_at(&map, key);
        side->source[i] = *known;
        if (rows[i].role == PLUMB_ROW_OUT)
            *known = (int32_t)i;
    }
    map_release(&map);
    return made;
}

/* What a recorder or a loader calls the batch. */
static bool is_data(const char *label)
{
    return plumb_text_starts(label, "data.") || plumb_text_starts(label, "batch") ||
           plumb_text_starts(label, "dataloader");
}

static void find_stages(struct plumb_step_side *side, const struct plumb_row *rows,
                        const struct plumb_names *names)
{
    static const enum plumb_stage of_phase[PLUMB_PHASE_COUNT] = {
        [PLUMB_PHASE_FORWARD] = PLUMB_STAGE_FORWARD,
        [PLUMB_PHASE_BACKWARD] = PLUMB_STAGE_BACKWARD,
        [PLUMB_PHASE_OPTIMIZER] = PLUMB_STAGE_UPDATE,
        [PLUMB_PHASE_COLLECTIVE] = PLUMB_STAGE_REDUCE,
    };
    for (size_t i = 0; i < side->row_count; i++) {
        enum plumb_stage stage = of_phase[rows[i].phase];
        if (rows[i].role == PLUMB_ROW_PARAM)
            stage = PLUMB_STAGE_WEIGHTS;
        else if (stage == PLUMB_STAGE_FORWARD && is_data(names->texts[rows[i].label]))
            stage = PLUMB_STAGE_DATA;
        side->stage[i] = (unsigned char)stage;
    }
}

/* ---- pairs ------------------------------------------------------------------------------------ */

static bool pair_by_name(struct plumb_alignment *alignment)
{
    struct plumb_step_side *a = &alignment->a, *b = &alignment->b;
    struct number_map map = {0};
    const bool made = map_make(&map, b->op_count);
    for (size_t i = 0; made && i < b->op_count; i++)
        *map_at(&map, op_key(b->ops[i].label, b->ops[i].phase)) = (int32_t)i;
    for (size_t i = 0; made && i < a->op_count; i++) {
        const int32_t partner = *map_at(&map, op_key(a->ops[i].label, a->ops[i].phase));
        a->ops[i].partner = partner;
        if (partner != PLUMB_NO_ROW)
            b->ops[partner].partner = (int32_t)i;
    }
    map_release(&map);
    return made;
}

/* Lists what has no partner between two pairs, in the order of execution. */
struct gap_walk {
    uint32_t *a, *b;
    size_t count_a, count_b;
    size_t at_b; /* place in B's order up to which everything is listed */
};

static void list_until(struct gap_walk *walk, const struct plumb_step_side *b, size_t end)
{
    for (; walk->at_b < end; walk->at_b++)
        if (b->ops[b->order[walk->at_b]].partner == PLUMB_NO_ROW)
            walk->b[walk->count_b++] = b->order[walk->at_b];
}

static enum plumb_status pair_gaps(struct plumb_alignment *alignment,
                                   const struct plumb_row *rows_a,
                                   const struct plumb_row *rows_b,
                                   const struct plumb_names *names, struct plumb_error *err)
{
    struct plumb_step_side *a = &alignment->a, *b = &alignment->b;
    uint32_t *place_b = plumb_arena_alloc(&alignment->arena, b->op_count + 1, sizeof *place_b);
    struct gap_walk walk = {
        .a = plumb_arena_alloc(&alignment->arena, a->op_count + 1, sizeof *walk.a),
        .b = plumb_arena_alloc(&alignment->arena, b->op_count + 1, sizeof *walk.b)};
    enum plumb_status status = PLUMB_OK;
    if (!place_b || !walk.a || !walk.b)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < b->op_count; i++)
        place_b[b->order[i]] = (uint32_t)i;
    for (size_t i = 0; i <= a->op_count && !status; i++) {
        const bool end = i == a->op_count;
        const struct plumb_step_op *op = end ? NULL : &a->ops[a->order[i]];
        if (op && op->partner == PLUMB_NO_ROW) {
            walk.a[walk.count_a++] = a->order[i];
            continue;
        }
        const size_t until = end ? b->op_count : place_b[op->partner];
        if (!end && until < walk.at_b)
            continue; /* done in another order: no border */
        list_until(&walk, b, until);
        const struct plumb_gap gap = {a,      b,      rows_a,       rows_b,      names,
                                      walk.a, walk.b, walk.count_a, walk.count_b};
        if (walk.count_a && walk.count_b)
            status = plumb_gap_pair(&gap, err);
        walk.count_a = walk.count_b = 0;
    }
    return status;
}

/* The row of B's op with the slot of `row`, from the one after the last pair on; else, for ops that
 * are not called the same, the next free one of that role and size. */
static int32_t find_row(const struct plumb_alignment *alignment, const struct plumb_row *row,
                        const struct plumb_row *rows_b, int32_t start, int32_t first)
{
    const struct plumb_step_side *b = &alignment->b;
    int32_t other = PLUMB_NO_ROW, at = start == PLUMB_NO_ROW ? first : start;
    const int32_t stop = at;
    do {
        const bool is_free = b->partner[at] == PLUMB_NO_ROW;
        if (is_free && rows_b[at].slot == row->slot)
            return at;
        if (is_free && other == PLUMB_NO_ROW && rows_b[at].role == row->role &&
            rows_b[at].count == row->count)
            other = at;
        at = b->next[at] == PLUMB_NO_ROW ? first : b->next[at];
    } while (at != stop);
    return other;
}

static void pair_rows(struct plumb_alignment *alignment, const struct plumb_row *rows_a,
                      const struct plumb_row *rows_b)
{
    struct plumb_step_side *a = &alignment->a, *b = &alignment->b;
    for (size_t i = 0; i < a->op_count; i++) {
        const struct plumb_step_op *op = &a->ops[i];
        if (op->partner == PLUMB_NO_ROW)
            continue;
        const int32_t first = (int32_t)b->ops[op->partner].first;
        int32_t start = first;
        for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = a->next[row]) {
            const int32_t found = find_row(alignment, &rows_a[row], rows_b, start, first);
            if (found == PLUMB_NO_ROW)
                continue;
            a->partner[row] = found;
            b->partner[found] = row;
            start = b->next[found];
        }
    }
}

static void count_pairs(struct plumb_alignment *alignment)
{
    for (size_t i = 0; i < alignment->a.op_count; i++) {
        alignment->only_a += alignment->a.ops[i].partner == PLUMB_NO_ROW;
        alignment->guessed += alignment->a.ops[i].matched_by != PLUMB_MATCH_NAME;
    }
    for (size_t i = 0; i < alignment->b.op_count; i++)
        alignment->only_b += alignment->b.ops[i].partner == PLUMB_NO_ROW;
}

enum plumb_status plumb_alignment_new(const struct plumb_row *a, size_t count_a,
                                      const struct plumb_row *b, size_t count_b,
                                      const struct plumb_names *names,
                                      struct plumb_alignment **out, struct plumb_error *err)
{
    struct plumb_alignment *alignment = plumb_alloc_array(1, sizeof *alignment);
    if (!alignment)
        return plumb_fail_memory(err);
    alignment->a.structure = plumb_step_structure(a, count_a);
    alignment->b.structure = plumb_step_structure(b, count_b);
    enum plumb_status status =
        side_allocate(&alignment->arena, &alignment->a, count_a) &&
                side_allocate(&alignment->arena, &alignment->b, count_b) &&
                find_ops(&alignment->a, a) && find_ops(&alignment->b, b) &&
                find_sources(&alignment->a, a) && find_sources(&alignment->b, b) &&
                pair_by_name(alignment)
            ? PLUMB_OK
            : plumb_fail_memory(err);
    if (!status)
        status = pair_gaps(alignment, a, b, names, err);
    if (status) {
        plumb_alignment_free(alignment);
        return status;
    }
    find_stages(&alignment->a, a, names);
    find_stages(&alignment->b, b, names);
    pair_rows(alignment, a, b);
    count_pairs(alignment);
    *out = alignment;
    return PLUMB_OK;
}

void plumb_alignment_free(struct plumb_alignment *alignment)
{
    if (!alignment)
        return;
    plumb_arena_release(&alignment->arena);
    plumb_free(alignment);
}
