/*
 * judge.c - decides what a difference means.
 *
 * The order: identical; a cast to a narrower type; rounding as the error model allows it
 * (evidence.h); then the patterns, from the specific to the general (patterns.def).
 * docs/verdicts.md gives the model and the reasons of its limits.
 */
#include "compare/judge.h"

#include "compare/cancellation.h"
#include "compare/pattern.h"

#include <math.h>

static void judge_identical(const struct plumb_operand *a, const struct plumb_operand *b,
                            const struct plumb_comparison *c, struct plumb_judgement *judgement)
{
    judgement->pattern = PLUMB_PATTERN_NONE;
    if (c->count == 0)
        plumb_judgement_set(judgement, PLUMB_IDENTICAL, "no elements");
    else if (a->dtype != b->dtype)
        plumb_judgement_set(
            judgement, PLUMB_IDENTICAL,
            "all %llu elements have equal values, stored as %s in A and %s in B",
            (unsigned long long)c->count, plumb_dtype_name(a->dtype),
            plumb_dtype_name(b->dtype));
    else if (c->bit_equal < c->count)
        plumb_judgement_set(judgement, PLUMB_IDENTICAL,
                            "all %llu elements have equal values; %llu differ in the sign of "
                            "zero or the bits of NaN",
                            (unsigned long long)c->count,
                            (unsigned long long)(c->count - c->bit_equal));
    else
        plumb_judgement_set(judgement, PLUMB_IDENTICAL, "all %llu elements are equal",
                            (unsigned long long)c->count);
}

/* One side on a coarser grid than the other, and equal to it after rounding to nearest even. */
static bool judge_cast(const struct plumb_evidence *e, struct plumb_judgement *judgement)
{
    if (!e->grid || e->grid_a->bits == e->grid_b->bits || e->flips > 0 || e->beyond_count > 0 ||
        e->sample.count == 0)
        return false;
    const bool b_is_coarse = e->grid == e->grid_b;
    plumb_judgement_set(judgement, PLUMB_ROUNDING,
                        "%s is %s cast to %s: rounding to nearest even gives it exactly; "
                        "relative L2 %.2g where %s allows %.2g",
                        b_is_coarse ? "B" : "A", b_is_coarse ? "A" : "B", e->grid->name,
                        e->comparison->relative_l2, e->grid->name, ldexp(1, -e->grid->bits));
    judgement->pattern = PLUMB_PATTERN_NONE;
    return true;
}

/* Small enough for rounding, but all elements are off by the same factor: an epsilon or a
 * constant that differs. */
static bool judge_factor(const struct plumb_evidence *e, struct plumb_judgement *judgement)
{
    double factor, explained;
    if (!plumb_change_common_factor(e, &factor, &explained))
        return false;
    judgement->pattern = PLUMB_PATTERN_SCALED;
    plumb_judgement_set(judgement, PLUMB_APPROXIMATION,
                        "B is %.9g times A: that factor explains %.0f %% of the difference, "
                        "errors of rounding have none in common; look for a constant or an "
                        "epsilon that differs (relative L2 %.2g, rounding would allow %.2g)",
                        factor, 100 * explained, e->comparison->relative_l2, e->allowed_rms);
    return true;
}

static bool judge_rounding(const struct plumb_evidence *e, struct plumb_judgement *judgement)
{
    if (!plumb_evidence_is_rounding(e))
        return false;
    if (judge_factor(e, judgement))
        return true;
    const double nonzero = (double)(e->nonzero ? e->nonzero : 1);
    const double length = plumb_evidence_sum_length(e);
    char allowed[128];
    plumb_allowance_text(e, allowed, sizeof allowed);
    judgement->pattern = PLUMB_PATTERN_NONE;
    if (e->grid->bits < 24)
        plumb_judgement_set(judgement, PLUMB_ROUNDING,
                            "%.2g %% of elements flipped where fp32 sums of up to 65536 terms "
                            "allow %.2g %%; the largest error is %.2g times what its element "
                            "is allowed (%s)",
                            100 * (double)e->flips / nonzero, 100 * e->flips_allowed / nonzero,
                            e->seen_worst, allowed);
    else
        plumb_judgement_set(judgement, PLUMB_ROUNDING,
                            "errors of %.2g u rms (largest %.2g u) of the scale, as of sums of "
                            "about %.0f terms; %s sums of up to 65536 terms allow %.2g u "
                            "(largest %.2g u), u = %.2g",
                            e->seen_rms / e->unit, e->seen_steps * 2, length, e->grid->name,
                            e->allowed_rms / e->unit, 6 * e->allowed_rms / e->unit, e->unit);
    return true;
}

/* Sums whose true result is zero: their leftovers need not agree. */
static bool judge_cancelled(const struct plumb_evidence *e, struct plumb_judgement *judgement)
{
    struct plumb_cancellation c;
    if (!plumb_cancellation_find(e, &c))
        return false;
    judgement->pattern = PLUMB_PATTERN_NONE;
    plumb_judgement_set(judgement, PLUMB_ROUNDING,
                        "what is left of sums that cancelled: all values are at most %.0f "
                        "times %.2g, the last place of sums of about %.2g; they differ by up "
                        "to %.0f such steps where sums of up to 65536 terms allow %.0f",
                        c.largest, c.step, c.step * 0x1p23, c.worst, c.allowed);
    return true;
}

/* Few values with a small error that could still be a sum that cancelled: not called wrong. */
static bool judge_too_few(const struct plumb_evidence *e, struct plumb_judgement *judgement)
{
    enum { FEW = 64 };
    const struct plumb_comparison *c = e->comparison;
    if (!e->grid || e->a->weight || c->nan_mismatch || c->inf_mismatch || !e->sample.whole ||
        e->nonzero >= FEW)
        return false;
    const double step = ldexp(1, 1 - e->grid->bits);
    const bool within_a_step = c->max_rel <= step * 1.001 && c->zero_reference == 0;
    if (within_a_step) {
        plumb_judgement_set(judgement, PLUMB_ROUNDING,
                            "largest relative error %.2g, one step of %s allows %.2g; too few "
                            "elements (%llu) for more",
                            c->max_rel, e->grid->name, step, (unsigned long long)e->nonzero);
        return true;
    }
    const double doubtful = e->nonzero <= 2 ? 1.0 / 64 : 1.0 / 1024;
    if (!(c->relative_l2 <= doubtful) || c->relative_l2 < 4 * e->allowed_rms / 1e4)
        return false;
    plumb_judgement_set(judgement, PLUMB_APPROXIMATION,
                        "relative L2 %.2g where rounding allows %.2g, but %llu elements are "
                        "too few to tell it from a sum that cancelled (%.2g)",
                        c->relative_l2, e->allowed_rms, (unsigned long long)e->nonzero,
                        doubtful);
    return true;
}

static enum plumb_status judge_evidence(const struct plumb_evidence *e,
                                        struct plumb_judgement *judgement,
                                        struct plumb_error *err)
{
    const bool finite = !e->comparison->nan_mismatch && !e->comparison->inf_mismatch;
    if (finite && (judge_cast(e, judgement) || judge_rounding(e, judgement) ||
                   judge_cancelled(e, judgement)))
        return PLUMB_OK;
    const enum plumb_status status = plumb_pattern_find(e, judgement, err);
    if (!status && judgement->pattern == PLUMB_PATTERN_EVERYWHERE &&
        judge_too_few(e, judgement))
        judgement->pattern = PLUMB_PATTERN_NONE;
    return status;
}

enum plumb_status plumb_judge_pair(const struct plumb_operand *a, const struct plumb_operand *b,
                                   const struct plumb_comparison *comparison,
                                   const struct plumb_block_map *map,
                                   struct plumb_judgement *judgement, struct plumb_error *err)
{
    *judgement = (struct plumb_judgement){.verdict = PLUMB_IDENTICAL};
    if (comparison->equal == comparison->count) {
        judge_identical(a, b, comparison, judgement);
        return PLUMB_OK;
    }
    struct plumb_evidence evidence;
    enum plumb_status status = plumb_evidence_gather(&evidence, a, b, comparison, map, err);
    if (!status)
        status = judge_evidence(&evidence, judgement, err);
    plumb_evidence_release(&evidence);
    return status;
}

/* The comparison counts blocks and places in elements, the judges in parts of them. */
static void count_in_parts(struct plumb_comparison *comparison, struct plumb_block_map *map)
{
    comparison->first_index *= comparison->first_index > 0 ? 2 : 1;
    comparison->worst_index *= comparison->worst_index > 0 ? 2 : 1;
    map->block *= 2;
}

static enum plumb_status
judge_compared(const struct plumb_tensor *a, const struct plumb_tensor *b,
               const struct plumb_comparison *comparison, const struct plumb_block_map *map,
               struct plumb_judgement *judgement, struct plumb_error *err)
{
    struct plumb_operand x, y;
    plumb_operand_of_tensor(&x, a);
    plumb_operand_of_tensor(&y, b);
    struct plumb_comparison by_parts = *comparison;
    struct plumb_block_map map_by_parts = *map;
    if (plumb_dtype_is_complex(a->dtype))
        count_in_parts(&by_parts, &map_by_parts);
    return plumb_judge_pair(&x, &y, &by_parts, &map_by_parts, judgement, err);
}

/* Nothing to compare element by element: not an error of the caller, but a finding. */
static void judge_kinds(const struct plumb_tensor *a, const struct plumb_tensor *b,
                        struct plumb_comparison *comparison, struct plumb_judgement *judgement)
{
    *comparison = (struct plumb_comparison){
        .count = (uint64_t)a->count, .first_index = -1, .worst_index = -1};
    *judgement = (struct plumb_judgement){.pattern = PLUMB_PATTERN_EVERYWHERE};
    plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                        "%s in A, %s in B: complex and real numbers cannot be compared",
                        plumb_dtype_name(a->dtype), plumb_dtype_name(b->dtype));
}

enum plumb_status plumb_tensor_judge(const struct plumb_tensor *a, const struct plumb_tensor *b,
                                     const struct plumb_compare_options *options,
                                     struct plumb_comparison *comparison,
                                     struct plumb_judgement *judgement, struct plumb_error *err)
{
    struct plumb_block_map *map;
    if (plumb_dtype_is_complex(a->dtype) != plumb_dtype_is_complex(b->dtype) &&
        a->count == b->count) {
        judge_kinds(a, b, comparison, judgement);
        return PLUMB_OK;
    }
    enum plumb_status status = plumb_block_map_new(a->count, &map, err);
    if (status)
        return status;
    status = plumb_scan_compare(a, b, options, comparison, map, err);
    if (!status)
        status = judge_compared(a, b, comparison, map, judgement, err);
    plumb_block_map_free(map);
    return status;
}
