/*
 * scan_metrics.c - from sums to metrics.
 *
 * 1 - cosine would lose all its digits for vectors that are nearly the same. With A = |a|^2,
 * B = |b|^2, D = |b - a|^2, C = (b - a).a and P = a.b it is
 *     (A D - C^2) / (sqrt(A B) (sqrt(A B) + P))
 * in which nothing cancels but the part of the difference that is parallel to a.
 */
#include "scan_compare.h"

#include <math.h>

static void merge_counts(struct plumb_comparison *counts, const struct plumb_comparison *next)
{
    counts->count += next->count;
    counts->equal += next->equal;
    counts->bit_equal += next->bit_equal;
    counts->finite += next->finite;
    counts->nan_a += next->nan_a;
    counts->nan_b += next->nan_b;
    counts->inf_a += next->inf_a;
    counts->inf_b += next->inf_b;
    counts->nan_mismatch += next->nan_mismatch;
    counts->inf_mismatch += next->inf_mismatch;
    counts->close += next->close;
    counts->within_1e3 += next->within_1e3;
    counts->within_5e3 += next->within_5e3;
    counts->zero_reference += next->zero_reference;
    for (int i = 0; i < PLUMB_ULP_BUCKETS; i++)
        counts->ulp[i] += next->ulp[i];
}

static void merge_extremes(struct plumb_comparison *counts, const struct plumb_comparison *next)
{
    if (next->max_ulp > counts->max_ulp)
        counts->max_ulp = next->max_ulp;
    if (next->max_rel > counts->max_rel)
        counts->max_rel = next->max_rel;
    if (next->max_abs_a > counts->max_abs_a)
        counts->max_abs_a = next->max_abs_a;
    if (next->max_abs_b > counts->max_abs_b)
        counts->max_abs_b = next->max_abs_b;
    if (next->max_abs > counts->max_abs) {
        counts->max_abs = next->max_abs;
        counts->worst_index = next->worst_index;
    }
    if (counts->first_index < 0)
        counts->first_index = next->first_index;
}

void plumb_compare_merge(struct plumb_compare_state *state,
                         const struct plumb_compare_state *next)
{
    merge_counts(&state->counts, &next->counts);
    merge_extremes(&state->counts, &next->counts);
    state->zero += next->zero;
    plumb_total_merge(&state->d_square, &next->d_square);
    plumb_total_merge(&state->d_absolute, &next->d_absolute);
    plumb_total_merge(&state->d_sum, &next->d_sum);
    plumb_total_merge(&state->d_outward, &next->d_outward);
    plumb_total_merge(&state->d_a, &next->d_a);
    plumb_total_merge(&state->a_square, &next->a_square);
    plumb_total_merge(&state->b_square, &next->b_square);
    plumb_total_merge(&state->dot, &next->dot);
    plumb_total_merge(&state->a_absolute, &next->a_absolute);
    plumb_total_merge(&state->relative, &next->relative);
}

/* Two vectors of zeros point the same way; one alone has no direction to share. */
static double one_minus_cosine(const struct plumb_compare_state *state)
{
    const struct plumb_wide a = plumb_total_value(&state->a_square);
    const struct plumb_wide b = plumb_total_value(&state->b_square);
    const struct plumb_wide d = plumb_total_value(&state->d_square);
    const struct plumb_wide dot = plumb_total_value(&state->dot);
    if (a.value == 0 || b.value == 0)
        return a.value == b.value ? 0 : 1;
    const struct plumb_wide norms = plumb_wide_times(plumb_wide_root(a), plumb_wide_root(b));
    if (d.value == 0)
        return 0;
    double result;
    if (plumb_wide_ratio(d, a) <= 0.25) {
        const struct plumb_wide c = plumb_total_value(&state->d_a);
        const struct plumb_wide area =
            plumb_wide_minus(plumb_wide_times(a, d), plumb_wide_times(c, c));
        result = plumb_wide_ratio(area, plumb_wide_times(norms, plumb_wide_plus(norms, dot)));
    } else {
        result = 1 - plumb_wide_ratio(dot, norms);
    }
    if (result < 0)
        return 0;
    return result > 2 ? 2 : result;
}

static double root_mean(const struct plumb_total *squares, uint64_t count)
{
    struct plumb_wide mean = plumb_total_value(squares);
    mean.value /= (double)count;
    return plumb_wide_double(plumb_wide_root(mean));
}

void plumb_compare_finish(const struct plumb_compare_state *state,
                          struct plumb_comparison *comparison)
{
    *comparison = state->counts;
    const uint64_t finite = state->counts.finite;
    const struct plumb_wide a = plumb_wide_root(plumb_total_value(&state->a_square));
    const struct plumb_wide b = plumb_wide_root(plumb_total_value(&state->b_square));
    const struct plumb_wide d = plumb_wide_root(plumb_total_value(&state->d_square));
    comparison->mean_abs = plumb_total_mean(&state->d_absolute, finite);
    comparison->mean_rel = plumb_total_mean(&state->relative, finite - state->zero);
    comparison->bias = plumb_total_mean(&state->d_sum, finite);
    comparison->bias_outward = plumb_total_mean(&state->d_outward, finite);
    comparison->mean_abs_a = plumb_total_mean(&state->a_absolute, finite);
    comparison->rmse = finite ? root_mean(&state->d_square, finite) : 0;
    comparison->norm_a = plumb_wide_double(a);
    comparison->norm_b = plumb_wide_double(b);
    comparison->relative_l2 = d.value == 0 ? 0 : plumb_wide_ratio(d, a);
    comparison->one_minus_cosine = one_minus_cosine(state);
    comparison->cosine = 1 - comparison->one_minus_cosine;
}
