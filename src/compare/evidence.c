/* evidence.c - measures a pair's differences against the error model. */
#include "compare/evidence.h"

#include "base/error.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Measured on sums of K products of N(0,1): one order is 0.30 u sqrt(K) away from the exact
 * value, two orders 0.43 u sqrt(K) from each other, relative to the rms of the results. */
static const double TWO_ORDERS = 0.43;
static const double LONGEST_SUM = 65536;
/* Data with longer tails than the normal distribution has more; twice covers what we tried. */
static const double ROOM = 2;
/* The largest of 10^9 normal deviates is 6.1 standard deviations out. */
static const double DEVIATIONS = 6;
/* Scale is a root mean square of this many neighbours in logical order. */
enum { NEIGHBOURS = 64 };
/* Neighbours of all zeros in a tensor of larger values: cancellation, not a smaller scale. */
static const double LEAST_SCALE = 1.0 / 32;
/* Values that are few have a rms far below their true scale once in a while. It is below
 * P^(1/n) of it in about a share P of all cases (lower tail of the chi distribution). */
static const double UNLUCKY = 1e-4;
static const double MOST_INFLATED = 1.0 / 1024;
/* A reordered sum touches many elements; this few, in that many, were touched otherwise. */
enum { A_HANDFUL = 8, TOUCHED_BY_SUMS = 128 };

static double min_double(double x, double y)
{
    return x < y ? x : y;
}

static double max_double(double x, double y)
{
    return x > y ? x : y;
}

static bool both_finite(double a, double b)
{
    return isfinite(a) && isfinite(b);
}

static bool same_nonfinite(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static double root_mean_square(const double *values, size_t count)
{
    double sum = 0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) {
            sum += values[i] * values[i];
            finite++;
        }
    if (isfinite(sum) || finite == 0)
        return finite ? sqrt(sum / (double)finite) : 0;
    double largest = 0; /* squares overflow: the largest value does as a scale */
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            largest = max_double(largest, fabs(values[i]));
    return largest;
}

/* ---- grids ---------------------------------------------------------------------------- */

static double *round_all(const struct plumb_grid *grid, const double *values, size_t count)
{
    double *rounded = plumb_alloc_array(count, sizeof *rounded);
    for (size_t i = 0; rounded && i < count; i++)
        rounded[i] = plumb_grid_round(grid, values[i], PLUMB_ROUND_NEAREST_EVEN);
    return rounded;
}

static enum plumb_status put_on_one_grid(struct plumb_evidence *e, struct plumb_error *err)
{
    struct plumb_sample *s = &e->sample;
    const struct plumb_grid *own_a = plumb_grid_of(e->a->dtype);
    const struct plumb_grid *own_b = plumb_grid_of(e->b->dtype);
    e->rounded_a = s->a;
    e->rounded_b = s->b;
    if (!own_a || !own_b)
        return PLUMB_OK;
    e->grid_a = plumb_grid_find(own_a, s->a, s->count);
    e->grid_b = plumb_grid_find(own_b, s->b, s->count);
    const bool b_is_coarser = e->grid_b->bits < e->grid_a->bits;
    e->grid = b_is_coarser ? e->grid_b : e->grid_a;
    if (e->grid_a == e->grid_b)
        return PLUMB_OK;
    double *rounded = round_all(e->grid, b_is_coarser ? s->a : s->b, s->count);
    if (!rounded)
        return plumb_fail_memory(err);
    *(b_is_coarser ? &e->rounded_a : &e->rounded_b) = rounded;
    return PLUMB_OK;
}

/* ---- scale ---------------------------------------------------------------------------- */

static enum plumb_status find_scales(struct plumb_evidence *e, struct plumb_error *err)
{
    const struct plumb_sample *s = &e->sample;
    e->scale = plumb_alloc_array(s->count, sizeof *e->scale);
    if (!e->scale)
        return plumb_fail_memory(err);
    e->rms_a = root_mean_square(s->a, s->count);
    for (size_t first = 0; first < s->count; first += NEIGHBOURS) {
        const size_t left = s->count - first;
        const size_t count = left < NEIGHBOURS ? left : NEIGHBOURS;
        const double near_rms = root_mean_square(s->a + first, count);
        const double least = max_double(near_rms, e->rms_a * LEAST_SCALE);
        for (size_t i = first; i < first + count; i++)
            e->scale[i] = isfinite(s->a[i]) ? max_double(fabs(s->a[i]), least) : least;
    }
    return PLUMB_OK;
}

/* ---- what is allowed ------------------------------------------------------------------ */

static uint64_t count_nonzero_in_sample(const struct plumb_evidence *e)
{
    uint64_t nonzero = 0;
    for (size_t i = 0; i < e->sample.count; i++)
        nonzero += e->sample.a[i] != 0 || e->sample.b[i] != 0;
    return nonzero;
}

static void set_allowance(struct plumb_evidence *e)
{
    const uint64_t in_sample = count_nonzero_in_sample(e);
    e->nonzero = in_sample;
    if (!e->sample.whole && e->sample.count)
        e->nonzero = (uint64_t)((double)e->comparison->count * (double)in_sample /
                                (double)e->sample.count);
    e->unit = e->grid->bits > 24 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
    e->allowed_rms = ROOM * TWO_ORDERS * sqrt(LONGEST_SUM) * e->unit;
    /* A trained weight is no sum that could have cancelled: few values are no excuse. */
    if (in_sample > 0 && in_sample < NEIGHBOURS && !e->a->weight) {
        const double inflated = e->allowed_rms * pow(UNLUCKY, -1 / (double)in_sample);
        e->allowed_rms = max_double(e->allowed_rms, min_double(inflated, MOST_INFLATED));
    }
}

static double step_at(const struct plumb_evidence *e, double a, double b)
{
    return plumb_grid_step(e->grid, max_double(fabs(a), fabs(b)));
}

/* The largest difference that rounding gives an element of this scale. */
static double allowed_here(const struct plumb_evidence *e, double a, double b, double scale)
{
    return step_at(e, a, b) + DEVIATIONS * e->sparse_share * e->allowed_rms * scale;
}

static bool is_beyond(const struct plumb_evidence *e, double a, double b, double scale)
{
    if (!both_finite(a, b))
        return !same_nonfinite(a, b);
    if (a == b)
        return false;
    return !e->grid || fabs(b - a) > allowed_here(e, a, b, scale);
}

bool plumb_evidence_is_beyond(const struct plumb_evidence *evidence, double a, double b)
{
    const double least = evidence->rms_a * LEAST_SCALE;
    return is_beyond(evidence, a, b, max_double(isfinite(a) ? fabs(a) : 0, least));
}

/* ---- what is seen --------------------------------------------------------------------- */

/* Counts one element that is finite and differs on the common grid. */
static void weigh(struct plumb_evidence *e, size_t i, double *squares)
{
    const double a = e->rounded_a[i], b = e->rounded_b[i];
    const double difference = fabs(b - a);
    const double relative = difference / e->scale[i];
    *squares += relative * relative;
    const double allowed = allowed_here(e, a, b, e->scale[i]);
    e->seen_worst = max_double(e->seen_worst, difference / allowed);
    e->seen_steps =
        max_double(e->seen_steps, difference / plumb_grid_step(e->grid, e->scale[i]));
    e->beyond_far += difference > allowed_here(e, a, b, max_double(e->scale[i], e->rms_a));
}

static void find_beyond(struct plumb_evidence *e)
{
    double squares = 0;
    size_t finite = 0;
    for (size_t i = 0; i < e->sample.count; i++) {
        const double a = e->rounded_a[i], b = e->rounded_b[i];
        if (is_beyond(e, a, b, e->scale[i]))
            e->beyond[e->beyond_count++] = (uint32_t)i;
        finite += both_finite(a, b) && (a != 0 || b != 0);
        if (e->grid && both_finite(a, b) && a != b)
            weigh(e, i, &squares);
    }
    e->seen_rms = finite ? sqrt(squares / (double)finite) : 0;
}

static void count_flips(struct plumb_evidence *e)
{
    double likely = 0;
    uint64_t flips = 0, nonzero = 0;
    for (size_t i = 0; i < e->sample.count; i++) {
        const double a = e->rounded_a[i], b = e->rounded_b[i];
        if (!both_finite(a, b) || (a == 0 && b == 0))
            continue;
        nonzero++;
        flips += a != b;
        /* E|x| of a normal deviate is 0.8 of its rms. */
        likely += min_double(1, 0.8 * e->allowed_rms * e->scale[i] / step_at(e, a, b));
    }
    const double part = nonzero ? (double)e->nonzero / (double)nonzero : 0;
    e->flips_likely = likely * part;
    /* A handful of flips in a small tensor prove nothing, but in a trained weight, which no sum
     * comes between, they do. */
    e->flips_allowed = e->flips_likely + 6 * sqrt(e->flips_likely) + (e->a->weight ? 1 : 6);
    /* On equal grids the comparison has counted all of them. */
    const struct plumb_comparison *c = e->comparison;
    e->flips = e->grid_a == e->grid_b && e->a->dtype == e->b->dtype
                   ? c->count - c->equal - c->nan_mismatch - c->inf_mismatch
                   : (uint64_t)((double)flips * part);
}

/* ---- flips that crowd in one place ------------------------------------------------------ */

enum { CROWD = 256 }; /* elements looked at together */

static size_t flips_among(const struct plumb_evidence *e, size_t first, size_t last)
{
    size_t flips = 0;
    for (size_t i = first; i < last; i++)
        flips +=
            e->rounded_a[i] != e->rounded_b[i] && both_finite(e->rounded_a[i], e->rounded_b[i]);
    return flips;
}

static bool is_crowded(const struct plumb_evidence *e, size_t first, size_t last)
{
    const double share = e->flips_likely / (double)(e->nonzero ? e->nonzero : 1);
    const double likely = share * (double)(last - first);
    return (double)flips_among(e, first, last) > likely + 6 * sqrt(likely) + 6;
}

/* Sums flip elements all over a tensor. Where nearly all flips stand close together in a small
 * part of it, nothing explains them, however small they are: a stale block of 16-bit weights
 * is one step away at most. Those elements count as beyond. */
static void mark_crowded_flips(struct plumb_evidence *e)
{
    const size_t count = e->sample.count;
    size_t crowds = 0, crowded_flips = 0;
    if (!e->grid || e->grid->bits >= 24 || e->grid_a != e->grid_b || !e->sample.exact ||
        e->flips > e->nonzero / 8)
        return;
    for (size_t first = 0; first + CROWD <= count; first += CROWD)
        if (is_crowded(e, first, first + CROWD)) {
            crowds++;
            crowded_flips += flips_among(e, first, first + CROWD);
        }
    if (crowds == 0 || crowds * 4 > e->comparison->count / CROWD ||
        (double)crowded_flips < 0.8 * (double)e->flips)
        return;
    e->beyond_count = 0;
    for (size_t i = 0; i < count; i++)
        if (is_beyond(e, e->rounded_a[i], e->rounded_b[i], e->scale[i]) ||
            (e->rounded_a[i] != e->rounded_b[i] &&
             is_crowded(e, i / CROWD * CROWD, i / CROWD * CROWD + CROWD)))
            e->beyond[e->beyond_count++] = (uint32_t)i;
    e->beyond_far = e->beyond_count;
    e->crowded = true;
}

/* Sums that flip only a handful of elements must be that much shorter than the longest. */
static void judge_sparseness(struct plumb_evidence *e)
{
    const double flips = (double)e->flips;
    e->sparse_changes = e->grid_a == e->grid_b && e->sample.exact && e->flips <= A_HANDFUL &&
                        e->flips * TOUCHED_BY_SUMS <= e->nonzero;
    e->sparse_share = 1;
    if (e->sparse_changes && e->flips_likely > 0)
        e->sparse_share = min_double(1, (flips + 6 * sqrt(flips) + 6) / e->flips_likely);
}

enum plumb_status plumb_evidence_gather(struct plumb_evidence *e, const struct plumb_operand *a,
                                        const struct plumb_operand *b,
                                        const struct plumb_comparison *comparison,
                                        const struct plumb_block_map *map,
                                        struct plumb_error *err)
{
    *e = (struct plumb_evidence){.a = a, .b = b, .comparison = comparison};
    enum plumb_status status = plumb_sample_read(a, b, comparison, map, &e->sample, err);
    if (!status)
        status = put_on_one_grid(e, err);
    if (!status)
        status = find_scales(e, err);
    if (status)
        return status;
    e->beyond = plumb_alloc_array(e->sample.count, sizeof *e->beyond);
    if (!e->beyond)
        return plumb_fail_memory(err);
    if (e->grid) {
        set_allowance(e);
        count_flips(e);
        judge_sparseness(e);
    }
    find_beyond(e);
    mark_crowded_flips(e);
    return PLUMB_OK;
}

void plumb_evidence_release(struct plumb_evidence *e)
{
    if (e->rounded_a != e->sample.a)
        plumb_free(e->rounded_a);
    if (e->rounded_b != e->sample.b)
        plumb_free(e->rounded_b);
    plumb_free(e->scale);
    plumb_free(e->beyond);
    plumb_sample_release(&e->sample);
}

/* ---- conclusions ---------------------------------------------------------------------- */

bool plumb_evidence_flips_fit(const struct plumb_evidence *e)
{
    return (double)e->flips <= e->flips_allowed;
}

bool plumb_evidence_rest_is_calm(const struct plumb_evidence *e)
{
    const double calm = e->flips_likely + 3 * sqrt(e->flips_likely) + 2;
    return (double)e->flips <= calm + (double)e->beyond_count;
}

bool plumb_evidence_is_rounding(const struct plumb_evidence *e)
{
    if (!e->grid || e->beyond_far > 0)
        return false;
    /* A few elements of a column with large terms cancel below the scale of their row. */
    if (e->beyond_count > 1 + e->sample.count / 1000 || (e->sparse_changes && e->beyond_count))
        return false;
    if (!plumb_evidence_flips_fit(e))
        return false;
    return e->grid->bits < 24 || e->seen_rms <= e->allowed_rms + e->unit;
}

double plumb_evidence_sum_length(const struct plumb_evidence *e)
{
    double ratio = e->seen_rms / (TWO_ORDERS * e->unit);
    if (e->grid->bits < 24 && e->flips_likely > 0)
        ratio = (double)e->flips / e->flips_likely * ROOM * sqrt(LONGEST_SUM);
    return max_double(1, ratio * ratio);
}

void plumb_evidence_place(const struct plumb_operand *operand, int64_t index,
                          char place[PLUMB_PLACE_SIZE])
{
    int64_t at[PLUMB_MAX_RANK + 1];
    int64_t left = index;
    for (int i = operand->rank - 1; i >= 0; i--) {
        at[i] = left % operand->shape[i];
        left /= operand->shape[i];
    }
    size_t used = 0;
    place[0] = '\0';
    for (int i = 0; i < operand->rank && used + 24 < PLUMB_PLACE_SIZE; i++)
        used += (size_t)snprintf(place + used, PLUMB_PLACE_SIZE - used, "%s%lld",
                                 i ? ", " : "[", (long long)at[i]);
    (void)snprintf(place + used, PLUMB_PLACE_SIZE - used, "%s", operand->rank ? "]" : "[]");
}
