/* run_error.c - see run_error.h; the limits are those of docs/verdicts.md. */
#include "compare/run_error.h"

#include "model/dtype.h"
#include "model/scan_stats.h"

#include <math.h>

/* Sums of up to 65536 terms in f32, twice over: 220 units in the last place. */
static const double longest_sums = 220;
static const double few_most = 1.0 / 1024;
enum { FEW = 64, EXTREME_ELEMENT = 6 };

/* Bits of the significand, the hidden one included. */
static int bits_of(enum plumb_dtype dtype)
{
    switch ((int)dtype) {
    case PLUMB_F64:
    case PLUMB_C128:
        return 53;
    case PLUMB_F16:
        return 11;
    case PLUMB_BF16:
        return 8;
    case PLUMB_F8E4M3:
    case PLUMB_HIF8:
        return 4;
    case PLUMB_F8E5M2:
        return 3;
    default:
        return 24;
    }
}

double plumb_row_allowance(enum plumb_dtype a, enum plumb_dtype b, int64_t count)
{
    const bool real = plumb_dtype_is_float(a) || plumb_dtype_is_complex(a);
    if (!real || !(plumb_dtype_is_float(b) || plumb_dtype_is_complex(b)))
        return 0;
    const int bits = bits_of(a) < bits_of(b) ? bits_of(a) : bits_of(b);
    double allowed = longest_sums * ldexp(1, bits == 53 ? -53 : -24);
    if (count > 0 && count < FEW)
        allowed = fmin(allowed * pow(10, 4.0 / (double)count), few_most);
    return bits < 24 ? allowed + ldexp(1, -bits) : allowed;
}

static bool is_nonfinite(const struct plumb_stats *stats)
{
    return stats->nan || stats->pos_inf || stats->neg_inf;
}

/* What another tool does not say is not a number here, and cannot be compared. */
static bool equal(double a, double b)
{
    return a == b || isnan(a) || isnan(b);
}

/* Does any statistic stand on both sides? */
static bool share_statistics(const struct plumb_row *a, const struct plumb_row *b)
{
    const struct plumb_stats *x = &a->stats, *y = &b->stats;
    return a->has_stats && b->has_stats &&
           (!(isnan(x->min + y->min) && isnan(x->max + y->max) && isnan(x->mean + y->mean) &&
              isnan(x->l2 + y->l2)) ||
            is_nonfinite(x) || is_nonfinite(y));
}

/* Other tools say only whether there are any. */
static bool same_nonfinite(const struct plumb_stats *a, const struct plumb_stats *b)
{
    return !a->nan == !b->nan && !a->pos_inf == !b->pos_inf && !a->neg_inf == !b->neg_inf;
}

static bool stats_equal(const struct plumb_stats *a, const struct plumb_stats *b)
{
    return same_nonfinite(a, b) && equal(a->min, b->min) && equal(a->max, b->max) &&
           equal(a->mean, b->mean) && equal(a->l2, b->l2);
}

/* A difference of two numbers that counts only if both are there. */
static double apart(double a, double b)
{
    const double difference = fabs(a - b);
    return isfinite(difference) ? difference : 0;
}

/* Nothing moves in the last digits of sums over many values that are only in another order. Of too many values,
 * one that changes moves as little. */
static bool looks_reordered(const struct plumb_stats *a, const struct plumb_stats *b)
{
    enum { ENOUGH = 8 };
    static const double nothing = 2e-14;
    return a->count >= ENOUGH && a->count <= PLUMB_EXACT_VALUES && !a->zero && !b->zero &&
           a->min == b->min && a->max == b->max && a->min < a->max &&
           apart(a->l2, b->l2) <= nothing * a->l2 &&
           apart(a->mean, b->mean) <= nothing * a->abs_mean;
}

static void bound_by_statistics(const struct plumb_row *a, const struct plumb_row *b,
                                struct plumb_row_error *error)
{
    const struct plumb_stats *x = &a->stats, *y = &b->stats;
    const double root = sqrt((double)a->count);
    double distance = apart(x->l2, y->l2);
    distance = fmax(distance, root * apart(x->mean, y->mean));
    distance = fmax(distance, root * apart(x->std, y->std));
    distance = fmax(distance, root * apart(x->abs_mean, y->abs_mean));
    distance = fmax(distance, apart(x->min, y->min));
    distance = fmax(distance, apart(x->max, y->max));
    error->distance = distance;
    error->error = distance == 0 || isnan(x->l2) ? 0 : x->l2 > 0 ? distance / x->l2 : HUGE_VAL;
    /* Extremes are elements: each may be six times as far away as the root mean square. */
    const double usual = root > 0 ? x->l2 / root : 0;
    const double high = fmax(fabs(x->max), usual), low = fmax(fabs(x->min), usual);
    if (high > 0)
        error->error = fmax(error->error, apart(x->max, y->max) / high / EXTREME_ELEMENT);
    if (low > 0)
        error->error = fmax(error->error, apart(x->min, y->min) / low / EXTREME_ELEMENT);
    if (!same_nonfinite(x, y))
        error->error = error->distance = HUGE_VAL;
}

void plumb_row_compare(const struct plumb_row *a, const struct plumb_row *b,
                       struct plumb_row_error *error)
{
    *error = (struct plumb_row_error){.basis = PLUMB_BASIS_BITS};
    if (a->count != b->count) {
        error->shape_differs = true;
        error->error = error->distance = HUGE_VAL;
        error->basis = PLUMB_BASIS_STRUCTURE;
        return;
    }
    const bool comparable = a->fingerprint && b->fingerprint && a->dtype == b->dtype &&
                            a->fingerprint_kind == b->fingerprint_kind;
    if ((comparable && a->fingerprint == b->fingerprint) || a->count == 0) {
        error->same = true;
        return;
    }
    error->allowed =
        plumb_row_allowance((enum plumb_dtype)a->dtype, (enum plumb_dtype)b->dtype, a->count);
    if (!share_statistics(a, b)) {
        error->same = error->unknown = !comparable;
        error->error = error->distance = comparable ? (double)NAN : 0;
        return;
    }
    error->basis = PLUMB_BASIS_STATISTICS;
    error->same = !comparable && stats_equal(&a->stats, &b->stats);
    if (error->same)
        return;
    bound_by_statistics(a, b, error);
    error->reordered = comparable && looks_reordered(&a->stats, &b->stats);
}

bool plumb_row_is_affine(const struct plumb_row *a, const struct plumb_row *b, double *s,
                         double *t)
{
    const struct plumb_stats *x = &a->stats, *y = &b->stats;
    static const double close = 1e-5;
    if (!a->has_stats || !b->has_stats || !(x->std > 0) || !(y->std > 0) ||
        x->nan + y->nan + x->pos_inf + y->pos_inf + x->neg_inf + y->neg_inf)
        return false;
    *s = y->std / x->std;
    *t = y->mean - *s * x->mean;
    const double size = fmax(fabs(y->min), fabs(y->max));
    return fabs(*s * x->min + *t - y->min) <= close * size &&
           fabs(*s * x->max + *t - y->max) <= close * size &&
           (fabs(*s - 1) > close || fabs(*t) > close * size);
}
