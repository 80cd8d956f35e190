/* run_align.c - see run_align.h: ops of a step, pairs by name, rows of a pair, where values come from. */
#include "compare/run_align.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "compare/number_map.h"
#include "compare/op_names.h"

#include <stdlib.h>
#include <string.h>

/* ---- the ops of a side ------------------------------------------------------------------------ */

static uint64_t op_key(uint32_t label, unsigned phase)
{
    return (uint64_t)label << 8 | phase;
}

static uint64_t op_key_any(uint64_t key, unsigned phase)
{
    return plumb_key_mix(key, phase);
}

uint64_t plumb_step_structure(const struct plumb_row *rows, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        hash = plumb_key_mix(hash, rows[i].place);
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
    struct plumb_number_map map = {0};
    const bool made = plumb_number_map_make(&map, side->row_count);
    for (size_t i = 0; made && i < side->row_count; i++) {
        int32_t *known = plumb_number_map_at(&map, op_key(rows[i].label, rows[i].phase));
        if (*known == PLUMB_NO_ROW) {
            *known = (int32_t)side->op_count++;
            side->ops[*known] = (struct plumb_step_op){.first = (uint32_t)i,
                                                       .label = rows[i].label,
                                                       .match = rows[i].match,
                                                       .name = rows[i].op,
                                                       .out = PLUMB_NO_ROW,
                                                       .partner = PLUMB_NO_ROW,
                                                       .forward = PLUMB_NO_ROW,
                                                       .part_of = PLUMB_NO_ROW,
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
                *plumb_number_map_at(&map, op_key(side->ops[i].label, PLUMB_PHASE_FORWARD));
    plumb_number_map_release(&map);
    if (made)
        order_ops(side);
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
    size_t last_backward = side->row_count;
    for (size_t i = 0; i < side->row_count; i++)
        if (rows[i].phase == PLUMB_PHASE_BACKWARD && rows[i].role == PLUMB_ROW_IN)
            last_backward = i;
    for (size_t i = 0; i < side->row_count; i++) {
        enum plumb_stage stage = of_phase[rows[i].phase];
        if (i > last_backward && stage == PLUMB_STAGE_FORWARD)
            stage = PLUMB_STAGE_UPDATE; /* what a program does with its gradients */
        if (rows[i].role == PLUMB_ROW_PARAM &&
            !plumb_slot_is_running(names->texts[rows[i].slot])) /* forward makes those */
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
    struct plumb_number_map map = {0};
    const bool made = plumb_number_map_make(&map, b->op_count);
    for (size_t i = 0; made && i < b->op_count; i++)
        *plumb_number_map_at(&map, op_key(b->ops[i].label, b->ops[i].phase)) = (int32_t)i;
    for (size_t i = 0; made && i < a->op_count; i++) {
        const int32_t partner =
            *plumb_number_map_at(&map, op_key(a->ops[i].match, a->ops[i].phase));
        a->ops[i].partner = partner;
        if (partner != PLUMB_NO_ROW)
            b->ops[partner].partner = (int32_t)i;
    }
    plumb_number_map_release(&map);
    return made;
}

/* Modules and updates that two frameworks call differently; what is not the only one of its key is
 * left alone. */
static bool pair_by_key(struct plumb_alignment *alignment, const struct plumb_names *names)
{
    enum { TAKEN_TWICE = -2 };
    struct plumb_step_side *a = &alignment->a, *b = &alignment->b;
    struct plumb_number_map in_a = {0}, in_b = {0};
    const bool first = plumb_number_map_make(&in_a, a->op_count);
    const bool made = plumb_number_map_make(&in_b, b->op_count) && first;
    for (int side = 0; made && side < 2; side++) {
        const struct plumb_step_side *from = side ? b : a;
        for (size_t i = 0; i < from->op_count; i++) {
            const char *name = names->texts[from->ops[i].name];
            if (from->ops[i].partner != PLUMB_NO_ROW ||
                (!plumb_op_is_class(name) && strcmp(name, "update") != 0))
                continue;
            int32_t *known = plumb_number_map_at(
                side ? &in_b : &in_a,
                op_key_any(plumb_label_key(names->texts[from->ops[i].match], name),
                           from->ops[i].phase));
            *known = *known == PLUMB_NO_ROW ? (int32_t)i : TAKEN_TWICE;
        }
    }
    for (size_t i = 0; made && i <= in_a.mask; i++) {
        if (in_a.values[i] < 0)
            continue;
        const int32_t other = *plumb_number_map_at(&in_b, in_a.keys[i]);
        if (other < 0)
            continue;
        a->ops[in_a.values[i]].partner = other;
        b->ops[other].partner = in_a.values[i];
        a->ops[in_a.values[i]].matched_by = b->ops[other].matched_by = PLUMB_MATCH_RULE;
    }
    plumb_number_map_release(&in_b);
    plumb_number_map_release(&in_a);
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
        const struct plumb_gap gap = {
            a,      b,      rows_a,       rows_b,       names,
            walk.a, walk.b, walk.count_a, walk.count_b, alignment->across};
        if (walk.count_a && walk.count_b)
            status = plumb_gap_pair(&gap, err);
        walk.count_a = walk.count_b = 0;
    }
    return status;
}

/* Parts of blocks are not alone; nor are the ops of an update that is compared as a whole, nor views. */
static size_t count_only(const struct plumb_step_side *side)
{
    size_t count = 0;
    for (size_t i = 0; i < side->op_count; i++)
        count += plumb_step_op_is_alone(side, i);
    return count;
}

bool plumb_step_op_is_alone(const struct plumb_step_side *side, size_t op)
{
    const struct plumb_step_op *of = &side->ops[op];
    return of->partner == PLUMB_NO_ROW && of->part_of == PLUMB_NO_ROW && !of->copy &&
           !(side->has_updates && of->phase == PLUMB_PHASE_OPTIMIZER);
}

static void count_pairs(struct plumb_alignment *alignment, const struct plumb_names *names)
{
    for (size_t i = 0; i < alignment->a.op_count; i++) {
        const struct plumb_step_op *op = &alignment->a.ops[i];
        const bool update =
            op->partner != PLUMB_NO_ROW && strcmp(names->texts[op->name], "update") == 0;
        alignment->a.has_updates |= update;
        alignment->guessed += op->matched_by != PLUMB_MATCH_NAME;
    }
    alignment->b.has_updates = alignment->a.has_updates;
    alignment->only_a = count_only(&alignment->a);
    alignment->only_b = count_only(&alignment->b);
}

enum plumb_status plumb_alignment_new(const struct plumb_step_rows *a,
                                      const struct plumb_step_rows *b, bool across,
                                      const struct plumb_names *names,
                                      struct plumb_alignment **out, struct plumb_error *err)
{
    struct plumb_alignment *alignment = plumb_alloc_array(1, sizeof *alignment);
    if (!alignment)
        return plumb_fail_memory(err);
    alignment->across = across;
    alignment->a.structure = plumb_step_structure(a->rows, a->count);
    alignment->b.structure = plumb_step_structure(b->rows, b->count);
    enum plumb_status status =
        side_allocate(&alignment->arena, &alignment->a, a->count) &&
                side_allocate(&alignment->arena, &alignment->b, b->count) &&
                find_ops(&alignment->a, a->rows) && find_ops(&alignment->b, b->rows) &&
                plumb_sources_find(&alignment->a, a->rows, names) &&
                plumb_sources_find(&alignment->b, b->rows, names) && pair_by_name(alignment) &&
                pair_by_key(alignment, names)
            ? PLUMB_OK
            : plumb_fail_memory(err);
    if (!status)
        status = plumb_values_pair(alignment, a->rows, b->rows, names, err);
    if (!status)
        status = pair_gaps(alignment, a->rows, b->rows, names, err);
    if (status) {
        plumb_alignment_free(alignment);
        return status;
    }
    find_stages(&alignment->a, a->rows, names);
    find_stages(&alignment->b, b->rows, names);
    plumb_blocks_find(alignment, a->rows, b->rows, names);
    count_pairs(alignment, names);
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
