/*
 * pattern_none.c - no pattern of place: another formula for the same function.
 *
 * An approximation errs by the same amount wherever the value is the same, so its error is a
 * function of the value, while errors of sums and updates of weights scatter about zero
 * whatever the value is. The elements are put into bins by value; the error's mean in each bin
 * has to explain most of what is seen, beyond what rounding to the grid scatters. On a coarse
 * grid the error shows only in the direction of the flips: within a bin they then go one way.
 * Also approximations: a small relative error, the same for large and small values; and values
 * quantised to a few levels, none further from its value than half of the gap between levels.
 */
#include "compare/pattern.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Sorting takes the time here: 4096 elements show a formula as well as more would. */
enum {
    LEAST_ELEMENTS = 256,
    MOST_ELEMENTS = 4096,
    MOST_BINS = 64,
    IN_A_BIN = 32,
    MOST_LEVELS = 256
};
static const double LARGEST_RELATIVE_L2 = 1.0 / 32;
/* 4-bit values of normal data are about 0.1 off, 8-bit values 0.01. */
static const double LARGEST_QUANTISED_L2 = 0.25, LEAST_QUANTISED_L2 = 1e-3;
/* The exact and the tanh form of GELU on normal inputs give 0.72, noise next to nothing. */
static const double LEAST_EXPLAINED = 0.55;
static const double LEAST_SIDED = 3;

struct value_error {
    double value, error, step;
};

static int by_value(const void *x, const void *y)
{
    const double a = ((const struct value_error *)x)->value;
    const double b = ((const struct value_error *)y)->value;
    return (a > b) - (a < b);
}

static size_t collect(const struct plumb_evidence *e, struct value_error *list)
{
    size_t count = 0;
    const size_t every = (e->sample.count + MOST_ELEMENTS - 1) / MOST_ELEMENTS;
    for (size_t i = 0; i < e->sample.count; i += every) {
        const double a = e->rounded_a[i], b = e->rounded_b[i];
        if (!isfinite(a) || !isfinite(b) || (a == 0 && b == 0))
            continue;
        list[count++] =
            (struct value_error){a, b - a, plumb_grid_step(e->grid, fmax(fabs(a), fabs(b)))};
    }
    return count;
}

/* The share of the squared error that the mean error of each bin explains, rounding to the
 * grid included: a mean error m below a step s shows as steps of s in a share m/s. */
static double explained_share(const struct value_error *list, size_t count)
{
    const size_t bins = count / IN_A_BIN < MOST_BINS ? count / IN_A_BIN : MOST_BINS;
    double total = 0, explained = 0;
    for (size_t bin = 0; bin < bins; bin++) {
        const size_t first = bin * count / bins, last = (bin + 1) * count / bins;
        double sum = 0, squares = 0, step = 0;
        for (size_t i = first; i < last; i++) {
            sum += list[i].error;
            squares += list[i].error * list[i].error;
            step += list[i].step;
        }
        const double n = (double)(last - first);
        const double mean = sum / n;
        step /= n;
        const double scatter = squares / n - mean * mean;
        total += squares;
        /* A mean that chance would give explains nothing. */
        if (mean * mean > 9 * scatter / n)
            explained += n * (mean * mean + fmin(scatter, fmax(fabs(mean) * step, 0)));
    }
    return total > 0 ? explained / total : 0;
}

/* How one-sided the flips of each bin are: 1 if their directions are chance. */
static double one_sidedness(const struct value_error *list, size_t count)
{
    const size_t bins = count / IN_A_BIN < MOST_BINS ? count / IN_A_BIN : MOST_BINS;
    double flips = 0, squares = 0;
    for (size_t bin = 0; bin < bins; bin++) {
        const size_t first = bin * count / bins, last = (bin + 1) * count / bins;
        double balance = 0;
        for (size_t i = first; i < last; i++) {
            balance += (list[i].error > 0) - (list[i].error < 0);
            flips += list[i].error != 0;
        }
        squares += balance * balance;
    }
    return flips >= 2 * (double)bins ? squares / flips : 0;
}

static int by_number(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Sorts and counts distinct numbers; the gap between two neighbours that most elements lie
 * between in `gap`, the largest in `widest`. */
static size_t count_levels(double *numbers, size_t count, double *gap, double *widest)
{
    size_t levels = count > 0, run = 0, longest = 0;
    *gap = *widest = 0;
    qsort(numbers, count, sizeof *numbers, by_number);
    for (size_t i = 1; i < count; i++) {
        const double step = numbers[i] - numbers[i - 1];
        run++;
        if (step == 0)
            continue;
        if (run > longest) {
            longest = run;
            *gap = step;
        }
        levels++;
        run = 0;
        *widest = fmax(*widest, step);
    }
    return levels;
}

/* Whether B has few levels, A many, and every value went to a level beside it. */
static bool is_quantised(const struct value_error *list, size_t count, size_t *levels,
                         double *gap, struct plumb_error *err, enum plumb_status *status)
{
    double worst = 0, squares = 0, widest, unused;
    double *numbers = plumb_alloc_array(count, sizeof *numbers);
    if (!numbers) {
        *status = plumb_fail_memory(err);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] = list[i].value;
        worst = fmax(worst, fabs(list[i].error));
        squares += list[i].error * list[i].error;
    }
    const size_t in_a = count_levels(numbers, count, &unused, &unused);
    for (size_t i = 0; i < count; i++)
        numbers[i] = list[i].value + list[i].error;
    *levels = count_levels(numbers, count, gap, &widest);
    plumb_free(numbers);
    return *levels >= 4 && *levels <= MOST_LEVELS && in_a > 2 * *levels &&
           worst <= 0.51 * widest && sqrt(squares / (double)count) < *gap;
}

static bool all_whole(const struct value_error *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].value != trunc(list[i].value))
            return false;
    return true;
}

/* rms of the relative error among values [first, last) of a list sorted by magnitude. */
static double relative_error(const struct value_error *list, size_t first, size_t last)
{
    double squares = 0;
    for (size_t i = first; i < last; i++)
        squares += list[i].error * list[i].error / (list[i].value * list[i].value);
    return sqrt(squares / (double)(last - first));
}

/* Small relative errors that do not grow toward small values, over a range of magnitudes. */
static bool is_relative(struct value_error *list, size_t count, double *relative)
{
    for (size_t i = 0; i < count; i++) {
        list[i].value = fabs(list[i].value);
        if (list[i].value == 0)
            return false;
    }
    qsort(list, count, sizeof *list, by_value);
    const size_t quarter = count / 4;
    if (list[count - 1 - count / 20].value < 16 * list[count / 20].value)
        return false;
    const double small = relative_error(list, 0, quarter);
    const double large = relative_error(list, count - quarter, count);
    *relative = relative_error(list, 0, count);
    return *relative < LARGEST_RELATIVE_L2 && small < 4 * large;
}

/* Says what kind of formula a list of at least LEAST_ELEMENTS shows; leaves it changed. */
static bool recognise(const struct plumb_evidence *e, struct value_error *list, size_t count,
                      struct plumb_judgement *judgement)
{
    const struct plumb_comparison *c = e->comparison;
    qsort(list, count, sizeof *list, by_value);
    const double share = explained_share(list, count);
    const double sided = e->grid->bits <= 11 && !e->a->weight ? one_sidedness(list, count) : 0;
    double relative;
    if (share > LEAST_EXPLAINED)
        plumb_judgement_set(judgement, PLUMB_APPROXIMATION,
                            "the error is a function of the value (that explains %.0f %% of "
                            "it), as of another formula: largest %.3g, relative L2 %.3g where "
                            "rounding allows %.2g",
                            100 * fmin(share, 1), c->max_abs, c->relative_l2, e->allowed_rms);
    else if (sided > LEAST_SIDED)
        plumb_judgement_set(
            judgement, PLUMB_APPROXIMATION,
            "%.2g %% of elements flipped where fp32 sums allow %.2g %%, and "
            "equal values in the same direction (%.1f times what chance gives), "
            "as of another formula; relative L2 %.3g",
            100 * (double)e->flips / (double)(e->nonzero ? e->nonzero : 1),
            100 * e->flips_likely / (double)(e->nonzero ? e->nonzero : 1), sided,
            c->relative_l2);
    else if (!e->a->weight && is_relative(list, count, &relative))
        plumb_judgement_set(judgement, PLUMB_APPROXIMATION,
                            "small and large values have the same relative error, %.2g, as of "
                            "an approximate function; rounding allows %.2g",
                            relative, e->allowed_rms);
    else
        return false;
    return true;
}

static enum plumb_status find_quantised(const struct plumb_evidence *e,
                                        const struct value_error *list, size_t count,
                                        struct plumb_judgement *judgement, bool *found,
                                        struct plumb_error *err)
{
    size_t levels;
    double gap;
    enum plumb_status status = PLUMB_OK;
    *found = is_quantised(list, count, &levels, &gap, err, &status);
    if (*found)
        plumb_judgement_set(judgement, PLUMB_APPROXIMATION,
                            "B has only %zu different values among %zu: A quantised in steps "
                            "of about %.3g, and no error is above half a step; relative L2 "
                            "%.2g",
                            levels, count, gap, e->comparison->relative_l2);
    return status;
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    /* A formula errs in many places, not in one in fifty. */
    if (!e->grid || e->sample.count < LEAST_ELEMENTS || e->flips * 50 < e->nonzero ||
        !(e->comparison->relative_l2 <= LARGEST_QUANTISED_L2))
        return PLUMB_OK;
    struct value_error *list = plumb_alloc_array(MOST_ELEMENTS, sizeof *list);
    if (!list)
        return plumb_fail_memory(err);
    const size_t count = collect(e, list);
    enum plumb_status status = PLUMB_OK;
    if (count >= LEAST_ELEMENTS && !all_whole(list, count)) {
        if (e->comparison->relative_l2 >= LEAST_QUANTISED_L2)
            status = find_quantised(e, list, count, judgement, found, err);
        if (!status && !*found && e->comparison->relative_l2 <= LARGEST_RELATIVE_L2)
            *found = recognise(e, list, count, judgement);
    }
    plumb_free(list);
    return status;
}

const struct plumb_pattern_rule plumb_pattern_none = {
    .entry = {.name = "none",
              .summary = "no pattern of place",
              .detail =
                  "Of identical tensors, of rounding, and of approximations: the error of "
                  "another formula is\nthe same wherever the value is the same, and lies "
                  "nowhere in particular."},
    .find = find,
};
