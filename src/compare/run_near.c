/* run_near.c - see run_near.h. */
#include "compare/run_near.h"

#include "model/dtype.h"

#include <math.h>

static const double near_values = 1e-3, near_half_values = 2e-2, same_sum = 1e-12;

static bool is_narrow(const struct plumb_row *row)
{
    return plumb_dtype_size((enum plumb_dtype)row->dtype) < 4;
}

double plumb_row_nearness(const struct plumb_row *a, const struct plumb_row *b)
{
    return is_narrow(a) || is_narrow(b) ? near_half_values : near_values;
}

static bool is_finite(const struct plumb_stats *stats)
{
    return !stats->nan && !stats->pos_inf && !stats->neg_inf && isfinite(stats->l2) &&
           isfinite(stats->min) && isfinite(stats->max);
}

bool plumb_row_is_telling(const struct plumb_row *row)
{
    return row->has_stats && is_finite(&row->stats) && row->stats.l2 > 0 &&
           (row->stats.min < row->stats.max || row->count == 1);
}

static bool within(double a, double b, double limit)
{
    return isnan(a) || isnan(b) || fabs(a - b) <= limit;
}

bool plumb_row_is_near(const struct plumb_row *a, const struct plumb_row *b)
{
    if (a->count != b->count || !a->has_stats || !b->has_stats)
        return false;
    const struct plumb_stats *x = &a->stats, *y = &b->stats;
    if (!is_finite(x) || !is_finite(y))
        return false;
    const double near = plumb_row_nearness(a, b);
    const double size = near * fmax(fabs(x->min), fabs(x->max));
    return within(x->l2, y->l2, near * x->l2) && within(x->min, y->min, size) &&
           within(x->max, y->max, size) && within(x->mean, y->mean, size);
}

bool plumb_row_is_reordered(const struct plumb_row *a, const struct plumb_row *b)
{
    const struct plumb_stats *x = &a->stats, *y = &b->stats;
    return a->count == b->count && a->has_stats && b->has_stats && a->dtype == b->dtype &&
           is_finite(x) && is_finite(y) && x->min == y->min && x->max == y->max &&
           within(x->l2, y->l2, same_sum * x->l2);
}
