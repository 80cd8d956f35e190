/* pattern_scaled.c - B is A times one number: a forgotten loss scale, mean for sum, all zeros. */
#include "compare/pattern.h"

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    (void)err;
    const struct plumb_sample *s = &e->sample;
    if (s->count < 4 || e->beyond_count * 4 < s->count)
        return PLUMB_OK;
    struct plumb_change change;
    plumb_change_describe(e, s->a, s->b, s->count, &change);
    const char *allowed = e->grid ? "rounding allows 1" : "integers allow 1";
    if (change.kind == PLUMB_CHANGE_SCALED)
        plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                            "B is %.7g times A throughout, where %s; relative L2 %.3g",
                            change.factor, allowed, e->comparison->relative_l2);
    else if (change.kind == PLUMB_CHANGE_ZEROED)
        plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                            "B is all zeros (0 times A) where A has values up to %.3g",
                            e->comparison->max_abs_a);
    else
        return PLUMB_OK;
    *found = true;
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_scaled = {
    .entry = {.name = "scaled",
              .summary = "B is A times one number",
              .detail = "All elements have the same ratio. Powers of two point to a loss scale "
                        "that was not undone;\nthe batch size or the number of ranks to a sum "
                        "where a mean was meant; -1 to a sign; 0 to\na tensor that was never "
                        "filled."},
    .find = find,
};
