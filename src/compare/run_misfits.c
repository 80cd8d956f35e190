/*
 * run_misfits.c - pairs of equal names that are not the same op, between two frameworks.
 *
 * Outside of all modules an op is named by its kind and a count ("Tensor.__add__#3"), and two
 * frameworks count different ones there. Such a pair that agrees in no size is taken apart: both
 * stand on one side only.
 */
#include "compare/run_align.h"

#include <string.h>

static bool is_in_no_module(const struct plumb_names *names, const struct plumb_step_op *op)
{
    const char *label = names->texts[op->label], *name = names->texts[op->name];
    const size_t length = strlen(name);
    return strncmp(label, name, length) == 0 && (!label[length] || label[length] == '#');
}

static bool fits(const struct plumb_step_side *side, const struct plumb_step_op *op,
                 const struct plumb_row *a, const struct plumb_row *b)
{
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = side->next[row])
        if (side->partner[row] != PLUMB_NO_ROW && a[row].count == b[side->partner[row]].count)
            return true;
    return false;
}

static void take_apart(struct plumb_alignment *alignment, struct plumb_step_op *op)
{
    struct plumb_step_side *a = &alignment->a, *b = &alignment->b;
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = a->next[row]) {
        if (a->partner[row] != PLUMB_NO_ROW)
            b->partner[a->partner[row]] = PLUMB_NO_ROW;
        a->partner[row] = PLUMB_NO_ROW;
    }
    b->ops[op->partner].partner = PLUMB_NO_ROW;
    op->partner = PLUMB_NO_ROW;
    alignment->only_a++;
    alignment->only_b++;
}

void plumb_alignment_drop_misfits(struct plumb_alignment *alignment,
                                  const struct plumb_names *names, const struct plumb_row *a,
                                  const struct plumb_row *b)
{
    struct plumb_step_side *side = &alignment->a;
    for (size_t i = 0; i < side->op_count; i++) {
        struct plumb_step_op *op = &side->ops[i];
        if (op->partner != PLUMB_NO_ROW && is_in_no_module(names, op) && !fits(side, op, a, b))
            take_apart(alignment, op);
    }
}
