/* pattern_nonfinite.c - NaN or infinity where the other side has a number. */
#include "compare/pattern.h"

#include <math.h>
#include <stdio.h>

/* " first at [3, 17]" for the first such element that was looked at, else "". */
static void first_place(const struct plumb_evidence *e, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < e->sample.count; i++) {
        const double a = e->sample.a[i], b = e->sample.b[i];
        if ((isfinite(a) && isfinite(b)) || a == b || (isnan(a) && isnan(b)))
            continue;
        char place[PLUMB_PLACE_SIZE];
        plumb_evidence_place(e->a, e->sample.index[i], place);
        (void)snprintf(text, size, ", for instance at %s where A is %g and B is %g", place, a,
                       b);
        return;
    }
}

/* A cast that overflowed is the usual cause of infinities and worth a word. */
static const char *overflow_hint(const struct plumb_evidence *e)
{
    const struct plumb_grid *grid = plumb_grid_of(e->b->dtype);
    const bool overflow = grid && e->comparison->inf_b > e->comparison->inf_a &&
                          e->comparison->max_abs_b <= grid->largest && grid->largest < 1e6 &&
                          e->comparison->max_abs_b > grid->largest / 16;
    return overflow ? "; B's type overflows there" : "";
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    (void)err;
    const struct plumb_comparison *c = e->comparison;
    *found = c->nan_mismatch + c->inf_mismatch > 0;
    if (!*found)
        return PLUMB_OK;
    char place[PLUMB_PLACE_SIZE + 96];
    first_place(e, place, sizeof place);
    plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                        "%llu elements are NaN and %llu infinite on one side only (A has %llu "
                        "NaN and %llu infinities, B %llu and %llu), 0 allowed%s%s",
                        (unsigned long long)c->nan_mismatch,
                        (unsigned long long)c->inf_mismatch, (unsigned long long)c->nan_a,
                        (unsigned long long)c->inf_a, (unsigned long long)c->nan_b,
                        (unsigned long long)c->inf_b, place, overflow_hint(e));
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_nonfinite = {
    .entry = {.name = "nonfinite",
              .summary = "NaN or infinity on one side only",
              .detail = "One side has NaN or infinity where the other has a number, or "
                        "infinities of opposite sign.\nLook for overflow in 16-bit types, "
                        "division by zero and logarithms of zero upstream."},
    .find = find,
};
