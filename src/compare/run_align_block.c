/*
 * run_align_block.c - one op on one side, several on the other.
 *
 * addmm against MatMul and BiasAdd, a fused attention against matmul, softmax, matmul: a pair is made
 * of the ops that leave the result, and the ops without a partner that lead to it become parts of
 * it. What a block takes is what its parts take from outside of it.
 */
#include "compare/op_names.h"
#include "compare/run_align.h"
#include "compare/run_near.h"

#include <string.h>

enum { DEEPEST = 64, ENOUGH_TO_TELL = 8 /* elements */ };

struct blocking {
    struct plumb_alignment *alignment;
    const struct plumb_row *rows_a, *rows_b;
    const struct plumb_names *names;
};

/* One side of it, and the other. */
struct block_side {
    struct plumb_step_side *side;
    const struct plumb_row *rows;
    const struct plumb_names *names;
};

static bool same_path(const struct block_side *on, const struct plumb_step_op *a,
                      const struct plumb_step_op *b)
{
    const char *const *texts = on->names->texts;
    const size_t length = plumb_label_path(texts[a->match], texts[a->name]);
    return length && length == plumb_label_path(texts[b->match], texts[b->name]) &&
           memcmp(texts[a->match], texts[b->match], length) == 0;
}

/* ---- parts ----------------------------------------------------------------------------------------- */

static bool is_loose(const struct plumb_step_op *op)
{
    return op->partner == PLUMB_NO_ROW && op->part_of == PLUMB_NO_ROW;
}

/* Makes the loose ops that lead to `op` parts of `head`. */
static void gather_parts(const struct block_side *on, int32_t head, int32_t op, bool anywhere,
                         int depth)
{
    const struct plumb_step_side *side = on->side;
    for (int32_t row = (int32_t)side->ops[op].first; row != PLUMB_NO_ROW && depth < DEEPEST;
         row = side->next[row]) {
        const int32_t source = side->source[row];
        const int32_t maker = source == PLUMB_NO_ROW ? PLUMB_NO_ROW : side->op_of[source];
        if (on->rows[row].role == PLUMB_ROW_OUT || maker == PLUMB_NO_ROW || maker == head ||
            !is_loose(&side->ops[maker]) || side->ops[maker].phase != side->ops[head].phase ||
            (!anywhere && !same_path(on, &side->ops[maker], &side->ops[head])))
            continue;
        side->ops[maker].part_of = head;
        gather_parts(on, head, maker, anywhere, depth + 1);
    }
}

static bool comes_from(const struct plumb_step_side *side, int32_t row, int32_t head)
{
    const int32_t source = side->source[row];
    return source != PLUMB_NO_ROW && side->ops[side->op_of[source]].part_of == head;
}

/* The rows of a block: what its parts take from outside, then those of the op that ends it. */
static void chain_rows(const struct block_side *on, int32_t head)
{
    struct plumb_step_side *side = on->side;
    struct plumb_step_op *op = &side->ops[head];
    int32_t last = PLUMB_NO_ROW, first = PLUMB_NO_ROW;
    for (int32_t row = 0; row <= (int32_t)op->last; row++) {
        const struct plumb_step_op *owner = &side->ops[side->op_of[row]];
        const bool own = side->op_of[row] == head;
        const bool taken = on->rows[row].role != PLUMB_ROW_OUT;
        if ((!own && (owner->part_of != head || !taken)) ||
            (taken && comes_from(side, row, head)))
            continue;
        if (last == PLUMB_NO_ROW)
            first = row;
        else
            side->next[last] = row;
        last = row;
    }
    if (last == PLUMB_NO_ROW)
        return;
    side->next[last] = PLUMB_NO_ROW;
    op->first = (uint32_t)first;
}

static void absorb(const struct block_side *on, int32_t head, bool anywhere)
{
    const struct plumb_step_side *side = on->side;
    bool any = false;
    gather_parts(on, head, head, anywhere, 0);
    for (size_t i = 0; i < side->op_count && !any; i++)
        any = side->ops[i].part_of == head;
    if (any)
        chain_rows(on, head);
}

static void absorb_both(const struct blocking *blocking, int32_t a, bool anywhere)
{
    struct plumb_alignment *alignment = blocking->alignment;
    const struct block_side on_a = {&alignment->a, blocking->rows_a, blocking->names};
    const struct block_side on_b = {&alignment->b, blocking->rows_b, blocking->names};
    absorb(&on_a, a, anywhere);
    absorb(&on_b, alignment->a.ops[a].partner, anywhere);
}

/* ---- where a block ends ------------------------------------------------------------------------------ */

/* The loose op of the same module that takes what `op` makes and makes as much; PLUMB_NO_ROW. */
static int32_t find_ending(const struct block_side *on, int32_t op)
{
    const struct plumb_step_side *side = on->side;
    const struct plumb_step_op *made_by = &side->ops[op];
    for (int32_t row = made_by->out + 1; row < (int32_t)side->row_count; row++) {
        const int32_t next = side->op_of[row];
        const struct plumb_step_op *other = &side->ops[next];
        if (on->rows[row].role != PLUMB_ROW_OUT && side->source[row] == made_by->out &&
            is_loose(other) && !other->copy && other->phase == made_by->phase &&
            other->out != PLUMB_NO_ROW &&
            on->rows[other->out].count == on->rows[made_by->out].count &&
            same_path(on, other, made_by))
            return next;
    }
    return PLUMB_NO_ROW;
}

/* A matmul whose bias is added by an op of its own ends with that op, if the other side's does not. */
static void move_endings(const struct blocking *blocking, size_t i)
{
    struct plumb_step_side *a = &blocking->alignment->a, *b = &blocking->alignment->b;
    const struct block_side on_a = {a, blocking->rows_a, blocking->names};
    const struct block_side on_b = {b, blocking->rows_b, blocking->names};
    const int32_t op_a = (int32_t)i, op_b = a->ops[i].partner;
    if (plumb_row_is_near(&blocking->rows_a[a->ops[op_a].out],
                          &blocking->rows_b[b->ops[op_b].out]))
        return;
    const int32_t end_a = find_ending(&on_a, op_a), end_b = find_ending(&on_b, op_b);
    if ((end_a == PLUMB_NO_ROW) == (end_b == PLUMB_NO_ROW))
        return;
    const int32_t new_a = end_a == PLUMB_NO_ROW ? op_a : end_a;
    const int32_t new_b = end_b == PLUMB_NO_ROW ? op_b : end_b;
    a->ops[op_a].partner = b->ops[op_b].partner = PLUMB_NO_ROW;
    a->ops[new_a].partner = new_b;
    b->ops[new_b].partner = new_a;
    a->ops[new_a].matched_by = b->ops[new_b].matched_by = PLUMB_MATCH_GUESS;
}

/* ---- blocks that only their users show ------------------------------------------------------------- */

/* Does the op take what the other side's op makes? Then it is one op more, not another way. */
static bool takes(const struct plumb_step_side *side, const struct plumb_row *rows,
                  const struct plumb_step_op *op, const struct plumb_row *made)
{
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = side->next[row])
        if (rows[row].role != PLUMB_ROW_OUT && plumb_row_is_near(&rows[row], made))
            return true;
    return false;
}

/* What both partners take was made by ops without partners: these do the same in other ways. */
static void pair_makers(const struct blocking *blocking, size_t i)
{
    struct plumb_step_side *a = &blocking->alignment->a, *b = &blocking->alignment->b;
    for (int32_t row = (int32_t)a->ops[i].first; row != PLUMB_NO_ROW; row = a->next[row]) {
        const int32_t partner = a->partner[row];
        const int32_t source_a = a->source[row];
        const int32_t source_b = partner == PLUMB_NO_ROW ? PLUMB_NO_ROW : b->source[partner];
        if (source_a == PLUMB_NO_ROW || source_b == PLUMB_NO_ROW ||
            blocking->rows_a[row].role == PLUMB_ROW_OUT)
            continue;
        struct plumb_step_op *maker_a = &a->ops[a->op_of[source_a]];
        struct plumb_step_op *maker_b = &b->ops[b->op_of[source_b]];
        if (blocking->rows_a[row].count < ENOUGH_TO_TELL || !is_loose(maker_a) ||
            !is_loose(maker_b) || maker_a->phase != maker_b->phase ||
            maker_a->out != source_a || maker_b->out != source_b ||
            takes(a, blocking->rows_a, maker_a, &blocking->rows_b[source_b]) ||
            takes(b, blocking->rows_b, maker_b, &blocking->rows_a[source_a]))
            continue;
        maker_a->partner = b->op_of[source_b];
        maker_b->partner = a->op_of[source_a];
        maker_a->matched_by = maker_b->matched_by = PLUMB_MATCH_GUESS;
        absorb_both(blocking, a->op_of[source_a], true);
        plumb_rows_pair(blocking->alignment, blocking->rows_a, blocking->rows_b,
                        blocking->names, (size_t)a->op_of[source_a]);
    }
}

/* Two ops that are called differently, by guess: they may be ends of blocks. */
static bool may_be_block(const struct plumb_alignment *alignment, size_t i)
{
    const struct plumb_step_op *op = &alignment->a.ops[i];
    return op->partner != PLUMB_NO_ROW && op->matched_by == PLUMB_MATCH_GUESS &&
           op->name != alignment->b.ops[op->partner].name && op->out != PLUMB_NO_ROW &&
           alignment->b.ops[op->partner].out != PLUMB_NO_ROW;
}

void plumb_blocks_find(struct plumb_alignment *alignment, const struct plumb_row *rows_a,
                       const struct plumb_row *rows_b, const struct plumb_names *names)
{
    const struct blocking blocking = {alignment, rows_a, rows_b, names};
    const struct plumb_step_side *a = &alignment->a;
    for (size_t i = 0; i < a->op_count; i++)
        if (may_be_block(alignment, i))
            move_endings(&blocking, i);
    for (size_t i = 0; i < a->op_count; i++)
        if (may_be_block(alignment, i))
            absorb_both(&blocking, (int32_t)i,
                        plumb_row_is_near(&rows_a[a->ops[i].out],
                                          &rows_b[alignment->b.ops[a->ops[i].partner].out]));
    for (size_t i = 0; i < a->op_count; i++)
        plumb_rows_pair(alignment, rows_a, rows_b, names, i);
    for (size_t i = a->op_count; i-- > 0;)
        if (a->ops[i].partner != PLUMB_NO_ROW)
            pair_makers(&blocking, i);
}
