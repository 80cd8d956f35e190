/*
 * pattern_rounding_mode.c - the same results, rounded to their type in another way.
 *
 * If one side still has the bits the other has lost, each mode is simply tried. If both are on
 * the same grid, the mode of B shows in where it stands one step from A:
 *     toward zero   half of all elements, all closer to zero
 *     up, down      half of all elements, all in that direction
 *     to odd        half of all elements, and all of B odd: A's odd elements stay
 *     nearest-away  only ties: few elements, all outward, all even in A and odd in B
 * and the mode of A in the same way with the sides exchanged.
 */
#include "compare/pattern.h"

#include <math.h>

/* What the elements that differ have in common. */
struct flip_counts {
    size_t elements; /* finite, not both zero */
    size_t flips, one_step;
    size_t inward, up;
    size_t odd_a, odd_b;               /* of all elements */
    size_t flips_even_a, flips_even_b; /* of the flips */
    double outward, size_a;            /* sums of outward error and of |a| */
};

enum {
    LEAST_FLIPS = 12, /* all on one side by chance: 2^-12 */
    MODE_FLIPS_PERCENT = 10,
};

static const char *const mode_words[PLUMB_ROUND_COUNT] = {
    [PLUMB_ROUND_NEAREST_EVEN] = "to nearest even",
    [PLUMB_ROUND_NEAREST_AWAY] = "to nearest with ties away from zero",
    [PLUMB_ROUND_TO_ODD] = "to odd",
    [PLUMB_ROUND_UP] = "up",
    [PLUMB_ROUND_DOWN] = "down",
    [PLUMB_ROUND_TO_ZERO] = "toward zero (truncated)",
};

static void count_flips(const struct plumb_evidence *e, struct flip_counts *n)
{
    for (size_t i = 0; i < e->sample.count; i++) {
        const double a = e->rounded_a[i], b = e->rounded_b[i];
        if (!isfinite(a) || !isfinite(b) || (a == 0 && b == 0))
            continue;
        const bool odd_a = plumb_grid_is_odd(e->grid, a);
        const bool odd_b = plumb_grid_is_odd(e->grid, b);
        n->elements++;
        n->odd_a += odd_a;
        n->odd_b += odd_b;
        n->outward += a < 0 ? a - b : b - a;
        n->size_a += fabs(a);
        if (a == b)
            continue;
        const double larger = fmax(fabs(a), fabs(b));
        n->flips++;
        n->one_step += fabs(b - a) <= plumb_grid_step(e->grid, larger);
        n->inward += fabs(b) < fabs(a);
        n->up += b > a;
        n->flips_even_a += !odd_a;
        n->flips_even_b += !odd_b;
    }
}

static bool nearly_all(size_t part, size_t whole)
{
    return part * 100 >= whole * 97;
}

static bool nearly_none(size_t part, size_t whole)
{
    return part * 100 <= whole * 3;
}

/* The mode that explains the flips; false if none does. */
static bool mode_from_flips(const struct flip_counts *n, enum plumb_round *mode, bool *is_a)
{
    const bool half = n->flips * 100 >= n->elements * MODE_FLIPS_PERCENT;
    *is_a = false;
    if (half && nearly_all(n->odd_b, n->elements) && !nearly_all(n->odd_a, n->elements)) {
        *mode = PLUMB_ROUND_TO_ODD;
    } else if (half && nearly_all(n->odd_a, n->elements) &&
               !nearly_all(n->odd_b, n->elements)) {
        *mode = PLUMB_ROUND_TO_ODD;
        *is_a = true;
    } else if (half && nearly_all(n->inward, n->flips)) {
        *mode = PLUMB_ROUND_TO_ZERO;
    } else if (half && nearly_none(n->inward, n->flips) &&
               !nearly_all(n->flips_even_a, n->flips)) {
        *mode = PLUMB_ROUND_TO_ZERO;
        *is_a = true;
    } else if (half && nearly_all(n->up, n->flips)) {
        *mode = PLUMB_ROUND_UP;
    } else if (half && nearly_none(n->up, n->flips)) {
        *mode = PLUMB_ROUND_DOWN;
    } else if (nearly_none(n->inward, n->flips) && n->flips_even_a == n->flips) {
        *mode = PLUMB_ROUND_NEAREST_AWAY;
    } else if (nearly_all(n->inward, n->flips) && n->flips_even_b == n->flips) {
        *mode = PLUMB_ROUND_NEAREST_AWAY;
        *is_a = true;
    } else {
        return false;
    }
    return true;
}

static void explain_flips(const struct plumb_evidence *e, const struct flip_counts *n,
                          enum plumb_round mode, bool is_a, struct plumb_judgement *judgement)
{
    const double unit = ldexp(1, -e->grid->bits);
    plumb_judgement_set(
        judgement, PLUMB_ROUNDING,
        "%s looks rounded %s in %s where the other is to nearest even: %.1f %% of elements are "
        "one "
        "step apart (summation order allows %.2g %%), %.0f %% of those toward zero, %.0f %% of "
        "B has an odd last bit, mean outward error %.2f u",
        is_a ? "A" : "B", mode_words[mode], e->grid->name,
        100.0 * (double)n->flips / (double)n->elements,
        100 * e->flips_likely / (double)(e->nonzero ? e->nonzero : 1),
        100.0 * (double)n->inward / (double)n->flips,
        100.0 * (double)n->odd_b / (double)n->elements,
        n->size_a > 0 ? n->outward / (n->size_a * unit) : 0);
}

/* Elements that casting the finer side in this mode does not reproduce. */
static size_t misses(const struct plumb_evidence *e, enum plumb_round mode, size_t enough)
{
    const bool b_is_coarse = e->grid == e->grid_b;
    const double *fine = b_is_coarse ? e->sample.a : e->sample.b;
    const double *coarse = b_is_coarse ? e->sample.b : e->sample.a;
    size_t missed = 0;
    for (size_t i = 0; i < e->sample.count && missed <= enough; i++)
        if (isfinite(fine[i]) && isfinite(coarse[i]))
            missed += plumb_grid_round(e->grid, fine[i], mode) != coarse[i];
    return missed;
}

/* Casts: one side has more bits than the other. Nearest-even is the judge's, not a pattern. */
static bool find_cast_mode(const struct plumb_evidence *e, struct plumb_judgement *judgement)
{
    const bool b_is_coarse = e->grid == e->grid_b;
    const size_t enough = e->sample.count / 100;
    for (int mode = PLUMB_ROUND_NEAREST_AWAY; mode < PLUMB_ROUND_COUNT; mode++) {
        const size_t missed = misses(e, (enum plumb_round)mode, enough);
        if (missed > enough)
            continue;
        plumb_judgement_set(judgement, PLUMB_ROUNDING,
                            "%s is %s cast to %s, rounded %s: that reproduces all but %zu of "
                            "%zu elements looked at, nearest-even misses %.1f %%",
                            b_is_coarse ? "B" : "A", b_is_coarse ? "A" : "B", e->grid->name,
                            mode_words[mode], missed, e->sample.count,
                            100.0 *
                                (double)misses(e, PLUMB_ROUND_NEAREST_EVEN, e->sample.count) /
                                (double)e->sample.count);
        return true;
    }
    return false;
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    (void)err;
    const struct plumb_comparison *c = e->comparison;
    if (!e->grid || c->nan_mismatch || c->inf_mismatch || e->beyond_far > 0)
        return PLUMB_OK;
    /* A cast is reproduced exactly, so that a few elements are enough. */
    if (e->grid_a->bits != e->grid_b->bits) {
        *found = find_cast_mode(e, judgement);
        return PLUMB_OK;
    }
    if (e->sample.count < 2 * LEAST_FLIPS)
        return PLUMB_OK;
    struct flip_counts n = {.elements = 0};
    count_flips(e, &n);
    enum plumb_round mode;
    bool is_a;
    if (n.flips < LEAST_FLIPS || !nearly_all(n.one_step, n.flips) ||
        !mode_from_flips(&n, &mode, &is_a))
        return PLUMB_OK;
    *found = true;
    explain_flips(e, &n, mode, is_a, judgement);
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_rounding_mode = {
    .entry = {.name = "rounding-mode",
              .summary = "the same results, rounded to their type in another way",
              .detail = "Half of the elements are exactly one step apart, all toward zero "
                        "(truncation), all\nin one direction (up, down), or so that one side "
                        "has only odd last bits (round to odd);\nor only ties differ, all "
                        "outward (nearest-away). Harmless by itself; truncation shrinks\n"
                        "values by half a step on average, which adds up over many layers."},
    .find = find,
};
