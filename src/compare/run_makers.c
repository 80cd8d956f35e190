/*
 * run_makers.c - where the inputs of a step's ops come from: the earlier output with the same values.
 *
 * Views and copies are looked through, on both sides alike, because frameworks differ in which of
 * them they show: the maker of a transposed view is the op that computed its values.
 */
#include "base/text.h"
#include "compare/number_map.h"
#include "compare/op_names.h"
#include "compare/run_align.h"
#include "compare/run_near.h"

#include <string.h>

enum { ENOUGH_TO_TELL = 8 }; /* elements: of fewer, extremes and norm may agree by chance */

struct sourcing {
    struct plumb_step_side *side;
    const struct plumb_row *rows;
    const struct plumb_names *names;
    struct plumb_number_map exact, reordered;
};

static uint64_t mix_double(uint64_t key, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return plumb_key_mix(key, bits);
}

uint64_t plumb_row_values_key(const struct plumb_row *row)
{
    if (row->fingerprint || !row->has_stats)
        return row->fingerprint;
    const double numbers[] = {row->stats.l2, row->stats.min, row->stats.max, row->stats.mean};
    uint64_t key = (uint64_t)row->count;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        key = mix_double(key, numbers[i]);
    return key;
}

uint64_t plumb_row_order_free_key(const struct plumb_row *row)
{
    if (row->count < ENOUGH_TO_TELL || !plumb_row_is_telling(row))
        return 0;
    return mix_double(mix_double((uint64_t)row->count, row->stats.min), row->stats.max);
}

/* The output whose values these are, or PLUMB_NO_ROW. */
static int32_t find_maker(const struct sourcing *sourcing, const struct plumb_row *row)
{
    const uint64_t key = plumb_row_values_key(row), order_free = plumb_row_order_free_key(row);
    const int32_t exact = key ? *plumb_number_map_at(&sourcing->exact, key) : PLUMB_NO_ROW;
    if (exact != PLUMB_NO_ROW || !order_free)
        return exact;
    const int32_t found = *plumb_number_map_at(&sourcing->reordered, order_free);
    return found != PLUMB_NO_ROW && plumb_row_is_reordered(&sourcing->rows[found], row)
               ? found
               : PLUMB_NO_ROW;
}

/* If the op only shows its input in another way: who made that; else PLUMB_NO_ROW. */
static int32_t behind_copy(const struct sourcing *sourcing, size_t row)
{
    const struct plumb_step_side *side = sourcing->side;
    struct plumb_step_op *op = &side->ops[side->op_of[row]];
    if (sourcing->rows[row].role == PLUMB_ROW_PARAM ||
        !plumb_op_is_copy(sourcing->names->texts[op->name]))
        return PLUMB_NO_ROW;
    for (int32_t in = (int32_t)op->first; in != PLUMB_NO_ROW && in < (int32_t)row;
         in = side->next[in]) {
        const struct plumb_row *a = &sourcing->rows[in], *b = &sourcing->rows[row];
        const bool same = a->fingerprint && a->fingerprint == b->fingerprint;
        const bool cast = a->dtype != b->dtype && plumb_row_is_near(a, b);
        if (a->role == PLUMB_ROW_OUT || a->count != b->count ||
            !(same || cast || plumb_row_is_reordered(a, b)))
            continue;
        op->copy = true;
        return side->source[in];
    }
    return PLUMB_NO_ROW;
}

/* The gradient of a parameter, recorded apart from the op that made it? */
static bool is_listed_gradient(const struct sourcing *sourcing, size_t row)
{
    const struct plumb_step_side *side = sourcing->side;
    const struct plumb_step_op *op = &side->ops[side->op_of[row]];
    return op->phase == PLUMB_PHASE_BACKWARD &&
           plumb_text_starts(sourcing->names->texts[sourcing->rows[row].slot], "grad:") &&
           sourcing->rows[op->first].role == PLUMB_ROW_OUT;
}

/* The op that made these values from gradients, after the backward pass; else PLUMB_NO_ROW. */
static int32_t after_backward(const struct sourcing *sourcing, uint64_t key)
{
    const int32_t made = key ? *plumb_number_map_at(&sourcing->exact, key) : PLUMB_NO_ROW;
    return made != PLUMB_NO_ROW && sourcing->rows[made].phase == PLUMB_PHASE_FORWARD
               ? made
               : PLUMB_NO_ROW;
}

static void remember(const struct sourcing *sourcing, size_t row)
{
    const uint64_t key = plumb_row_values_key(&sourcing->rows[row]);
    const uint64_t order_free = plumb_row_order_free_key(&sourcing->rows[row]);
    const int32_t behind = is_listed_gradient(sourcing, row) ? after_backward(sourcing, key)
                                                             : behind_copy(sourcing, row);
    const int32_t maker = behind == PLUMB_NO_ROW ? (int32_t)row : behind;
    if (key)
        *plumb_number_map_at(&sourcing->exact, key) = maker;
    if (order_free)
        *plumb_number_map_at(&sourcing->reordered, order_free) = maker;
}

bool plumb_sources_find(struct plumb_step_side *side, const struct plumb_row *rows,
                        const struct plumb_names *names)
{
    struct sourcing sourcing = {.side = side, .rows = rows, .names = names};
    const bool first = plumb_number_map_make(&sourcing.exact, side->row_count);
    const bool made = plumb_number_map_make(&sourcing.reordered, side->row_count) && first;
    for (size_t i = 0; made && i < side->row_count; i++) {
        const uint64_t key = plumb_row_values_key(&rows[i]);
        const bool made_here = rows[i].role == PLUMB_ROW_OUT;
        const int32_t exact = key ? *plumb_number_map_at(&sourcing.exact, key) : PLUMB_NO_ROW;
        side->source[i] = made_here ? exact : find_maker(&sourcing, &rows[i]);
        /* A parameter may be taken as any tensor is. */
        if (made_here || (rows[i].role == PLUMB_ROW_PARAM && side->source[i] == PLUMB_NO_ROW))
            remember(&sourcing, i);
    }
    plumb_number_map_release(&sourcing.reordered);
    plumb_number_map_release(&sourcing.exact);
    return made;
}
