/*
 * pattern_low_accumulation.c - sums that were kept in a narrow type.
 *
 * Sequential sums of K products kept in p bits are 0.30 2^-p sqrt(K) away from the exact
 * ones, relative to the rms of the results, without bias and whatever the value. For 16-bit
 * results that gives flips of a third of the elements at K = 64 up to nearly all at 16384,
 * where fp32 sums flip one in a thousand.
 */
#include "compare/pattern.h"

#include <math.h>

enum { LEAST_ELEMENTS = 64 };

/* 0.30 sqrt(2) 2^-11 sqrt(65536): the longest sums in 11 bits. Shorter ones in 8 bits, as of
 * a bf16 accumulator, lie below it as well. */
static const double LARGEST_RELATIVE_L2 = 0.06;
/* Mean |x| squared over mean x^2: 0.64 for normal deviates, 1 if all have one size, which
 * no sum gives, but an optimizer that steps by the learning rate does. */
static const double ONE_SIZE = 0.85;

struct error_moments {
    size_t count;
    double sum_abs, sum_squares, outward;
    bool one_sign; /* all values of A have the same */
};

static struct error_moments measure(const struct plumb_evidence *e)
{
    struct error_moments m = {.count = 0};
    size_t positive = 0;
    for (size_t i = 0; i < e->sample.count; i++) {
        const double a = e->rounded_a[i], b = e->rounded_b[i];
        if (!isfinite(a) || !isfinite(b) || (a == 0 && b == 0))
            continue;
        const double error = b - a;
        m.count++;
        positive += a > 0;
        m.sum_abs += fabs(error);
        m.sum_squares += error * error;
        m.outward += a < 0 ? -error : error;
    }
    m.one_sign = positive == 0 || positive == m.count;
    return m;
}

static bool looks_like_sums(const struct error_moments *m)
{
    const double n = (double)m->count;
    if (!(m->sum_squares > 0))
        return false;
    /* Terms of one sign: once the sum is large, terms below half of its step are lost. */
    if (m->one_sign && m->outward < 0)
        return true;
    const double one_size = m->sum_abs * m->sum_abs / (n * m->sum_squares);
    const double bias = fabs(m->outward) / sqrt(n * m->sum_squares);
    return one_size < ONE_SIZE && bias < 0.5;
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    (void)err;
    const double relative = e->comparison->relative_l2;
    if (!e->grid || e->grid->bits > 11 || e->a->weight || !(relative <= LARGEST_RELATIVE_L2) ||
        plumb_evidence_flips_fit(e))
        return PLUMB_OK;
    const struct error_moments m = measure(e);
    if (m.count < LEAST_ELEMENTS || !looks_like_sums(&m))
        return PLUMB_OK;
    const double per_root = 0.30 * ldexp(1, -11);
    const double rounding = 0.425 * ldexp(1, -e->grid->bits); /* of each output */
    const double sums = sqrt(fmax(relative * relative - 2 * rounding * rounding, 0));
    const double terms = sums * sums / (per_root * per_root);
    *found = true;
    plumb_judgement_set(judgement, PLUMB_APPROXIMATION,
                        "%.1f %% of elements differ by rounding-like errors where fp32 sums "
                        "allow %.2g %%; relative L2 %.2g is what sums of %s %.0f terms kept in "
                        "11 bits leave (or inputs that differed already)",
                        100.0 * (double)e->flips / (double)(e->nonzero ? e->nonzero : 1),
                        100 * e->flips_likely / (double)(e->nonzero ? e->nonzero : 1), relative,
                        terms < 100 ? "fewer than" : "about", fmax(100, terms));
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_low_accumulation = {
    .entry = {.name = "low-accumulation",
              .summary = "sums were kept in a narrow type",
              .detail = "Errors without bias and whatever the value, far more frequent than "
                        "fp32 sums give: as of an\naccumulator of 8 to 11 bits. Ask the "
                        "library for fp32 accumulation (allow_fp16_reduced_\nprecision_"
                        "reduction = False, HIGH_PRECISION). Inputs that differed already look "
                        "the same:\ncompare them first."},
    .find = find,
};
