/*
 * run_align_rows.c - which records of two paired ops belong together.
 *
 * Ops of one name have slots of one meaning. Of ops that are called differently only the result is
 * known to be the same thing; what they take is recognised by its values, then by its size.
 */
#include "base/text.h"
#include "compare/op_names.h"
#include "compare/run_align.h"
#include "compare/run_near.h"

struct row_pairing {
    struct plumb_alignment *alignment;
    const struct plumb_row *rows_a, *rows_b;
    const struct plumb_names *names;
};

static void join(const struct row_pairing *pairing, int32_t a, int32_t b)
{
    pairing->alignment->a.partner[a] = b;
    pairing->alignment->b.partner[b] = a;
}

static bool same_slot(const struct row_pairing *pairing, uint32_t a, uint32_t b)
{
    const char *const *texts = pairing->names->texts;
    return a == b || plumb_slot_key(texts[a]) == plumb_slot_key(texts[b]);
}

/* ---- ops of one name ----------------------------------------------------------------------------- */

/* The row of B's op with the slot of `row`, from the one after the last pair on; else the next free
 * one of that role and size. */
static int32_t find_row(const struct row_pairing *pairing, const struct plumb_row *row,
                        int32_t start, int32_t first)
{
    const struct plumb_step_side *b = &pairing->alignment->b;
    int32_t other = PLUMB_NO_ROW, at = start == PLUMB_NO_ROW ? first : start;
    const int32_t stop = at;
    const bool named = row->role == PLUMB_ROW_PARAM;
    do {
        const struct plumb_row *candidate = &pairing->rows_b[at];
        const bool is_free = b->partner[at] == PLUMB_NO_ROW;
        if (is_free && same_slot(pairing, row->slot, candidate->slot))
            return at;
        if (is_free && !named && other == PLUMB_NO_ROW && candidate->role == row->role &&
            candidate->count == row->count)
            other = at;
        at = b->next[at] == PLUMB_NO_ROW ? first : b->next[at];
    } while (at != stop);
    return other;
}

static size_t count_slot(const struct plumb_step_side *side, const struct plumb_row *rows,
                         const struct row_pairing *pairing, int32_t first, uint32_t slot)
{
    size_t count = 0;
    for (int32_t row = first; row != PLUMB_NO_ROW; row = side->next[row])
        count += same_slot(pairing, rows[row].slot, slot);
    return count;
}

/* After several backward passes torch shows the sum of the gradients, MindSpore each pass's own. */
static bool is_summed(const struct row_pairing *pairing, const struct plumb_step_op *a,
                      const struct plumb_step_op *b, uint32_t slot)
{
    const struct plumb_alignment *alignment = pairing->alignment;
    if (!alignment->across || !plumb_text_starts(pairing->names->texts[slot], "grad:"))
        return false;
    return count_slot(&alignment->a, pairing->rows_a, pairing, (int32_t)a->first, slot) > 1 ||
           count_slot(&alignment->b, pairing->rows_b, pairing, (int32_t)b->first, slot) > 1;
}

static void pair_by_slot(const struct row_pairing *pairing, const struct plumb_step_op *op,
                         const struct plumb_step_op *other)
{
    const struct plumb_step_side *a = &pairing->alignment->a, *b = &pairing->alignment->b;
    const int32_t first = (int32_t)other->first;
    int32_t start = first;
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = a->next[row]) {
        if (is_summed(pairing, op, other, pairing->rows_a[row].slot))
            continue;
        const int32_t found = find_row(pairing, &pairing->rows_a[row], start, first);
        if (found == PLUMB_NO_ROW)
            continue;
        join(pairing, row, found);
        start = b->next[found];
    }
}

/* The user's map says which slot is which; what it leaves out has no partner. */
static void pair_by_map(const struct row_pairing *pairing, const struct plumb_step_op *op,
                        const struct plumb_step_op *other)
{
    const struct plumb_step_side *a = &pairing->alignment->a, *b = &pairing->alignment->b;
    for (int32_t i = (int32_t)op->first; i != PLUMB_NO_ROW; i = a->next[i])
        for (int32_t k = (int32_t)other->first;
             k != PLUMB_NO_ROW && a->partner[i] == PLUMB_NO_ROW; k = b->next[k])
            if (b->partner[k] == PLUMB_NO_ROW &&
                pairing->rows_a[i].match_slot == pairing->rows_b[k].slot)
                join(pairing, i, k);
}

/* ---- ops that are called differently --------------------------------------------------------------- */

static bool fits_by_value(const struct plumb_row *a, const struct plumb_row *b)
{
    return plumb_row_is_near(a, b);
}

static bool fits_by_size(const struct plumb_row *a, const struct plumb_row *b)
{
    return a->count == b->count && a->count > 1 && a->role != PLUMB_ROW_OUT;
}

static void pair_free_rows(const struct row_pairing *pairing, const struct plumb_step_op *op,
                           const struct plumb_step_op *other,
                           bool (*fits)(const struct plumb_row *a, const struct plumb_row *b))
{
    const struct plumb_step_side *a = &pairing->alignment->a, *b = &pairing->alignment->b;
    for (int32_t i = (int32_t)op->first; i != PLUMB_NO_ROW; i = a->next[i]) {
        const struct plumb_row *row = &pairing->rows_a[i];
        for (int32_t k = (int32_t)other->first;
             k != PLUMB_NO_ROW && a->partner[i] == PLUMB_NO_ROW; k = b->next[k])
            if (b->partner[k] == PLUMB_NO_ROW &&
                (row->role == PLUMB_ROW_OUT) == (pairing->rows_b[k].role == PLUMB_ROW_OUT) &&
                fits(row, &pairing->rows_b[k]))
                join(pairing, i, k);
    }
}

/* What ops of one kind take from outside of the step, in the same slot: running statistics. */
static void pair_kept_rows(const struct row_pairing *pairing, const struct plumb_step_op *op,
                           const struct plumb_step_op *other)
{
    const struct plumb_step_side *a = &pairing->alignment->a, *b = &pairing->alignment->b;
    for (int32_t i = (int32_t)op->first; i != PLUMB_NO_ROW; i = a->next[i])
        for (int32_t k = (int32_t)other->first; k != PLUMB_NO_ROW; k = b->next[k]) {
            const struct plumb_row *x = &pairing->rows_a[i], *y = &pairing->rows_b[k];
            if (a->partner[i] == PLUMB_NO_ROW && b->partner[k] == PLUMB_NO_ROW &&
                a->source[i] == PLUMB_NO_ROW && b->source[k] == PLUMB_NO_ROW &&
                x->slot == y->slot && x->count == y->count && x->role != PLUMB_ROW_OUT &&
                y->role != PLUMB_ROW_OUT)
                join(pairing, i, k);
        }
}

static void forget_rows(struct plumb_step_side *side, struct plumb_step_side *other,
                        const struct plumb_step_op *op)
{
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = side->next[row]) {
        if (side->partner[row] != PLUMB_NO_ROW)
            other->partner[side->partner[row]] = PLUMB_NO_ROW;
        side->partner[row] = PLUMB_NO_ROW;
    }
}

void plumb_rows_pair(struct plumb_alignment *alignment, const struct plumb_row *rows_a,
                     const struct plumb_row *rows_b, const struct plumb_names *names,
                     size_t op_a)
{
    const struct row_pairing pairing = {alignment, rows_a, rows_b, names};
    const struct plumb_step_op *op = &alignment->a.ops[op_a];
    if (op->partner == PLUMB_NO_ROW)
        return;
    const struct plumb_step_op *other = &alignment->b.ops[op->partner];
    forget_rows(&alignment->a, &alignment->b, op);
    forget_rows(&alignment->b, &alignment->a, other);
    if (rows_a[op->first].match_slot != PLUMB_NO_NAME && op->matched_by == PLUMB_MATCH_NAME) {
        pair_by_map(&pairing, op, other);
        return;
    }
    if (op->name == other->name || op->matched_by == PLUMB_MATCH_RULE) {
        pair_by_slot(&pairing, op, other);
        return;
    }
    const bool made = op->out != PLUMB_NO_ROW && other->out != PLUMB_NO_ROW;
    if (made)
        join(&pairing, op->out, other->out);
    pair_free_rows(&pairing, op, other, fits_by_value);
    if (plumb_op_kind(names->texts[op->name]) == plumb_op_kind(names->texts[other->name]))
        pair_kept_rows(&pairing, op, other);
    /* Where the result is the same, what has other values is another thing. */
    if (!made || !plumb_row_is_near(&rows_a[op->out], &rows_b[other->out]))
        pair_free_rows(&pairing, op, other, fits_by_size);
}
