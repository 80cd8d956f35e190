/*
 * pattern_shifted.c - B is A plus a constant, or A moved along by some elements.
 *
 * The second is looked for by taking 16 elements of B that are not all alike and finding the
 * same run in A nearby; the move must then hold at other places of the tensor as well.
 */
#include "compare/pattern.h"

#include <math.h>
#include <stdio.h>

enum { RUN = 16, REACH = 4096, CHECKS = 32 };

static bool find_constant(const struct plumb_evidence *e, double *constant)
{
    const struct plumb_sample *s = &e->sample;
    double sum = 0, squares = 0;
    size_t finite = 0, off = 0;
    for (size_t i = 0; i < s->count; i++)
        if (isfinite(s->a[i]) && isfinite(s->b[i])) {
            sum += s->b[i] - s->a[i];
            squares += (s->b[i] - s->a[i]) * (s->b[i] - s->a[i]);
            finite++;
        }
    if (finite < 4)
        return false;
    *constant = sum / (double)finite;
    if (*constant * sum < 0.75 * squares)
        return false; /* the mean does not explain the differences */
    for (size_t i = 0; i < s->count; i++) {
        if (!isfinite(s->a[i]) || !isfinite(s->b[i]))
            continue;
        const double away = fabs(s->b[i] - s->a[i] - *constant);
        const double larger = fmax(fabs(s->a[i]), fabs(s->b[i]));
        off += e->grid ? away > 2 * plumb_grid_step(e->grid, larger) +
                                    12 * e->allowed_rms * (e->scale[i] + fabs(*constant))
                       : away > 0.5;
    }
    /* The constant has to stand out from the room that was given. */
    const double room = e->grid ? 4 * plumb_grid_step(e->grid, e->rms_a) : 0.5;
    return off * 100 <= finite && fabs(*constant) > room;
}

/* A run of B whose values are not all alike, from the middle of the sample outward. */
static bool choose_run(const struct plumb_sample *s, size_t *start)
{
    for (size_t step = 0; step + RUN <= s->count; step += RUN) {
        const size_t i = (s->count / 2 + step) % (s->count - RUN + 1);
        size_t changes = 0;
        for (size_t k = 1; k < RUN; k++)
            changes += s->b[i + k] != s->b[i + k - 1];
        if (changes >= RUN / 2 && s->index[i + RUN - 1] == s->index[i] + RUN - 1) {
            *start = i;
            return true;
        }
    }
    return false;
}

static bool equal_runs(const double *x, const double *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (x[i] != y[i] && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

/* How often B[i] == A[i - offset] on places spread over the sample. */
static enum plumb_status moved_share(const struct plumb_evidence *e, int64_t offset,
                                     double *share, struct plumb_error *err)
{
    const struct plumb_sample *s = &e->sample;
    size_t equal = 0, tried = 0;
    for (size_t k = 0; k < CHECKS && s->count >= RUN; k++) {
        const size_t at = k * (s->count - RUN) / (CHECKS - 1);
        const int64_t from = s->index[at] - offset;
        if (from < 0 || from + RUN > e->a->count ||
            s->index[at + RUN - 1] != s->index[at] + RUN - 1)
            continue;
        double values[RUN];
        const enum plumb_status status = plumb_operand_values(e->a, from, RUN, values, err);
        if (status)
            return status;
        for (size_t i = 0; i < RUN; i++)
            equal += values[i] == s->b[at + i];
        tried += RUN;
    }
    *share = tried >= 2 * RUN ? (double)equal / (double)tried : 0;
    return PLUMB_OK;
}

static enum plumb_status find_offset(const struct plumb_evidence *e, int64_t *offset,
                                     double *share, struct plumb_error *err)
{
    size_t start;
    *share = 0;
    if (!choose_run(&e->sample, &start))
        return PLUMB_OK;
    const int64_t at = e->sample.index[start];
    const int64_t first = at > REACH ? at - REACH : 0;
    const int64_t last = at + REACH + RUN < e->a->count ? at + REACH + RUN : e->a->count;
    double values[2 * REACH + RUN];
    const enum plumb_status status =
        plumb_operand_values(e->a, first, last - first, values, err);
    if (status)
        return status;
    for (int64_t i = 0; i + RUN <= last - first; i++) {
        if (first + i == at || !equal_runs(values + i, e->sample.b + start, RUN))
            continue;
        *offset = at - (first + i);
        return moved_share(e, *offset, share, err);
    }
    return PLUMB_OK;
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    double constant, share;
    int64_t offset = 0;
    if (e->beyond_count * 4 < e->sample.count)
        return PLUMB_OK;
    if (find_constant(e, &constant)) {
        *found = true;
        plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                            "B is A %s %.6g throughout, where 0 is allowed; the scale of A is "
                            "%.3g",
                            constant < 0 ? "minus" : "plus", fabs(constant), e->rms_a);
        return PLUMB_OK;
    }
    const enum plumb_status status = find_offset(e, &offset, &share, err);
    if (status || share < 0.8)
        return status;
    *found = true;
    plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                        "B is A moved by %+lld elements: B[i] equals A[i%+lld] for %.1f %% of "
                        "the elements looked at, where they should be equal in place",
                        (long long)offset, (long long)-offset, 100 * share);
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_shifted = {
    .entry = {.name = "shifted",
              .summary = "B is A plus a constant, or A moved by some elements",
              .detail = "Either every element has the same difference (a bias added twice or "
                        "not at all), or the\nvalues are right but stand some places further "
                        "on (an offset in a buffer, labels shifted\nby one token)."},
    .find = find,
};
