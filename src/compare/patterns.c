/* patterns.c - the lists of patterns and verdicts, and what the rules share. */
#include "compare/pattern.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct named_rule {
    enum plumb_pattern pattern;
    const struct plumb_pattern_rule *rule;
};

static const struct named_rule rules[] = {
#define PATTERN(name, value) {value, &plumb_pattern_##name},
#include "compare/patterns.def"
#undef PATTERN
};

static const struct plumb_entry verdicts[PLUMB_VERDICT_COUNT] = {
    [PLUMB_IDENTICAL] = {"identical", "every element has the same value",
                         "-0 equals 0, and NaN equals NaN. The dtypes may differ if all values "
                         "are the same."},
    [PLUMB_ROUNDING] =
        {"rounding", "two correct computations differ like this",
         "The difference is explained by the last rounding of each element, by fp32 sums\n"
         "(fp64 for f64) of up to 65536 terms in another order, by another rounding mode,\n"
         "or by a cast of one side to a narrower type. Nothing needs to be done."},
    [PLUMB_APPROXIMATION] =
        {"approximation", "a less exact formula or accumulator, not a wrong one",
         "Too large for rounding, but of a kind that a faster formula (tanh for erf in GELU)\n"
         "or sums in a narrow type leave behind. Whether it is acceptable is yours to say."},
    [PLUMB_DIFFERENT] =
        {"different", "the values are not the same thing",
         "Neither rounding nor an approximation explains it; the pattern says what kind of\n"
         "difference it is and the reason where it lies. Also when a tensor is missing on one\n"
         "side or has another shape."},
    [PLUMB_INCOMPLETE] =
        {"incomplete", "no difference found, but not all of a run could be read",
         "Of runs only. What could be compared is identical or differs as rounding makes it;\n"
         "records of one side are damaged, cut off or not written yet. It says which."},
};

const struct plumb_entry *plumb_pattern_entry(size_t i)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if ((size_t)rules[k].pattern == i)
            return &rules[k].rule->entry;
    return NULL;
}

const struct plumb_entry *plumb_verdict_entry(size_t i)
{
    return i < PLUMB_VERDICT_COUNT ? &verdicts[i] : NULL;
}

const char *plumb_verdict_name(enum plumb_verdict verdict)
{
    const struct plumb_entry *entry = plumb_verdict_entry((size_t)verdict);
    return entry ? entry->name : "unknown";
}

const char *plumb_pattern_name(enum plumb_pattern pattern)
{
    const struct plumb_entry *entry = plumb_pattern_entry((size_t)pattern);
    return entry ? entry->name : "unknown";
}

enum plumb_status plumb_pattern_find(const struct plumb_evidence *evidence,
                                     struct plumb_judgement *judgement, struct plumb_error *err)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        bool found = false;
        const enum plumb_status status = rules[i].rule->find(evidence, judgement, &found, err);
        if (status)
            return status;
        if (found) {
            judgement->pattern = rules[i].pattern;
            return PLUMB_OK;
        }
    }
    judgement->pattern = PLUMB_PATTERN_EVERYWHERE;
    return PLUMB_OK;
}

void plumb_judgement_set(struct plumb_judgement *judgement, enum plumb_verdict verdict,
                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    judgement->verdict = verdict;
    (void)vsnprintf(judgement->reason, sizeof judgement->reason, format, args);
    va_end(args);
}

static bool all_zero(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != 0)
            return false;
    return true;
}

static bool all_alike(const double *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

/* True if b is a times one factor, up to the rounding of both. */
static bool all_scaled(const struct plumb_evidence *e, const double *a, const double *b,
                       size_t count, double *factor)
{
    double ab = 0, aa = 0, moved = 0, left = 0;
    size_t nonzero = 0, off = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return false;
        ab += a[i] * b[i];
        aa += a[i] * a[i];
        nonzero += a[i] != 0;
    }
    if (nonzero < 4 || !(aa > 0) || !isfinite(ab) || !isfinite(aa))
        return false;
    *factor = ab / aa;
    const double scale = fabs(*factor) * sqrt(aa / (double)nonzero);
    for (size_t i = 0; i < count; i++) {
        const double expected = *factor * a[i];
        moved += (b[i] - a[i]) * (b[i] - a[i]);
        left += (b[i] - expected) * (b[i] - expected);
        if (!e->grid)
            off += fabs(b[i] - expected) > 0.5;
        else
            off +=
                fabs(b[i] - expected) > plumb_grid_step(e->grid, b[i]) +
                                            fabs(*factor) * plumb_grid_step(e->grid, a[i]) +
                                            12 * e->allowed_rms * fmax(fabs(expected), scale);
    }
    /* The factor has to explain the difference, not only to fit within the tolerance. */
    return off * 100 <= count && left <= 0.25 * moved;
}

void plumb_change_describe(const struct plumb_evidence *e, const double *a, const double *b,
                           size_t count, struct plumb_change *change)
{
    change->kind = PLUMB_CHANGE_OTHER;
    change->factor = 0;
    if (count == 0 || (all_zero(b, count) && !all_zero(a, count))) {
        change->kind = PLUMB_CHANGE_ZEROED;
        (void)snprintf(change->text, sizeof change->text, "zero in B");
    } else if (all_scaled(e, a, b, count, &change->factor)) {
        change->kind = PLUMB_CHANGE_SCALED;
        (void)snprintf(change->text, sizeof change->text, "%.*g times A",
                       e->grid && e->grid->bits <= 11 ? 3 : 6, change->factor);
    } else if (count >= 4 && all_alike(b, count)) {
        change->kind = PLUMB_CHANGE_CONSTANT;
        change->factor = b[0];
        (void)snprintf(change->text, sizeof change->text, "%.6g throughout B", b[0]);
    } else {
        (void)snprintf(change->text, sizeof change->text, "different values in B");
    }
}

/* A constant that was rounded once puts up to 1.5 u on all elements; more is no rounding. */
static const double LEAST_FACTOR_UNITS = 16;

bool plumb_change_common_factor(const struct plumb_evidence *e, double *factor,
                                double *explained)
{
    double ab = 0, aa = 0, moved = 0;
    size_t count = 0;
    for (size_t i = 0; i < e->sample.count; i++) {
        const double a = e->sample.a[i], difference = e->sample.b[i] - a;
        if (!isfinite(difference) || a == 0)
            continue;
        ab += a * difference;
        aa += a * a;
        moved += difference * difference;
        count++;
    }
    if (count < 256 || !(aa > 0) || !(moved > 0) || e->grid->bits < 24)
        return false;
    *factor = 1 + ab / aa;
    *explained = ab * ab / aa / moved;
    return *explained > 0.8 && fabs(*factor - 1) > LEAST_FACTOR_UNITS * e->unit;
}

void plumb_allowance_text(const struct plumb_evidence *e, char *text, size_t size)
{
    if (!e->grid)
        (void)snprintf(text, size, "integers allow none");
    else
        (void)snprintf(text, size, "rounding%s allows one step of %s and %.2g of the scale",
                       e->sparse_changes ? " this rare" : "", e->grid->name,
                       6 * e->sparse_share * e->allowed_rms);
}
