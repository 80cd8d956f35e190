/*
 * pattern_bit_flip.c - one or a few elements with a single bit changed.
 *
 * Changed values that differ from the right ones in exactly one bit do not come out of any
 * arithmetic: memory, a link or a file was damaged. Asked only for changes that are too large
 * for rounding, because a step to the neighbouring value is often one bit as well.
 */
#include "compare/pattern.h"

#include <math.h>

enum { MOST_FLIPS = 16, LEAST_INTEGER_BIT = 8 };

static const char *bit_role(const struct plumb_operand *operand, int bit)
{
    const struct plumb_grid *grid = plumb_grid_of(operand->dtype);
    if (!grid || grid->tapered)
        return "of";
    if (bit == 8 * (int)plumb_dtype_size(operand->dtype) - 1)
        return "(sign) of";
    return bit >= grid->bits - 1 ? "(exponent) of" : "(mantissa) of";
}

/* The changed bit of an element, or -1 if several changed. */
static enum plumb_status changed_bit(const struct plumb_evidence *e, int64_t index, int *bit,
                                     struct plumb_error *err)
{
    uint64_t a, b;
    enum plumb_status status = plumb_operand_bits(e->a, index, &a, err);
    if (!status)
        status = plumb_operand_bits(e->b, index, &b, err);
    if (status)
        return status;
    *bit = __builtin_popcountll(a ^ b) == 1 ? __builtin_ctzll(a ^ b) : -1;
    /* Small integers one bit apart are common: counts, indices. */
    if (!e->grid && *bit < LEAST_INTEGER_BIT)
        *bit = -1;
    return PLUMB_OK;
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    const size_t count = e->beyond_count;
    if (count == 0 || count > MOST_FLIPS || !e->sample.exact || e->a->dtype != e->b->dtype ||
        (e->grid && !plumb_evidence_rest_is_calm(e)))
        return PLUMB_OK;
    int first_bit = -1;
    for (size_t i = 0; i < count; i++) {
        int bit;
        const enum plumb_status status =
            changed_bit(e, e->sample.index[e->beyond[i]], &bit, err);
        if (status)
            return status;
        if (bit < 0)
            return PLUMB_OK;
        if (i == 0)
            first_bit = bit;
    }
    char place[PLUMB_PLACE_SIZE], allowed[128];
    const size_t at = e->beyond[0];
    plumb_evidence_place(e->a, e->sample.index[at], place);
    plumb_allowance_text(e, allowed, sizeof allowed);
    plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                        "bit %d %s element %s is flipped: %.9g became %.9g; %s; %zu of %llu "
                        "elements changed this way",
                        first_bit, bit_role(e->a, first_bit), place, e->sample.a[at],
                        e->sample.b[at], allowed, count,
                        (unsigned long long)e->comparison->count);
    *found = true;
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_bit_flip = {
    .entry = {.name = "bit-flip",
              .summary = "single bits changed in one or a few elements",
              .detail = "The changed elements differ from the right ones in exactly one bit "
                        "each. No arithmetic does\nthat: suspect memory, a link or a disk, "
                        "read the file again and compare its checksum."},
    .find = find,
};
