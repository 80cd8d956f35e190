/* series_class.c - see series_class.h. */
#include "compare/series_class.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Relative differences that are no news where nothing else is known: in general, and at a first step,
 * which has no past. Repeated runs on one machine may agree to the last bit: rounding stays. */
static const double usual_band = 1e-3, first_band = 1e-4, rounding = 1e-5;
/* Noise below this may be what another order of sums makes of bf16; larger is another training. */
static const double most_noise = 1e-2;
/* Standard deviations of one step, and of a mean over many. */
static const double steps_apart = 8, means_apart = 6;
static const double repeat_margin = 3, sudden = 100;
enum { AROUND = 10, SHORTEST_WINDOW = 16, SMOOTHED = 8 };

struct view {
    const struct plumb_curves *curves;
    double *signed_error; /* (b - a) / size of both; infinite: finite on one side only */
    double *scratch;
    double scatter; /* from one step to the next */
    double early;   /* the same around the first steps, where errors have not grown yet */
};

static double error_between(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    if (!isfinite(a) || !isfinite(b))
        return HUGE_VAL;
    return (b - a) / fmax(fabs(a), fabs(b));
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Of normal noise three quarters of all changes from step to step are below 1.627 standard deviations; a
 * trend and a few spikes do not move that. */
static double find_scatter(struct view *view)
{
    size_t count = 0;
    for (size_t i = 1; i < view->curves->count; i++) {
        const double change = fabs(view->signed_error[i] - view->signed_error[i - 1]);
        if (isfinite(change))
            view->scratch[count++] = change;
    }
    if (count < SMOOTHED)
        return 0;
    qsort(view->scratch, count, sizeof *view->scratch, ascending);
    return view->scratch[count - count / 4 - 1] / 1.627;
}

/* A first step has no past, and what comes much later says nothing of it: runs that part grow noisy.
 * Bends instead of changes: an error that is there at once and grows evenly is no noise. Three quarters
 * of them are below 2.818 standard deviations. */
static double find_early_scatter(struct view *view)
{
    const double *error = view->signed_error;
    size_t count = 0;
    for (size_t i = 2; i < view->curves->count && i < 2 * SMOOTHED; i++) {
        const double bend = fabs(error[i] - 2 * error[i - 1] + error[i - 2]);
        if (isfinite(bend))
            view->scratch[count++] = bend;
    }
    if (count < SMOOTHED)
        return view->scatter;
    qsort(view->scratch, count, sizeof *view->scratch, ascending);
    return fmin(view->scratch[count - count / 4 - 1] / 2.818, view->scatter);
}

/* ---- one step ---------------------------------------------------------------------------------- */

/* What repeated runs differ by, at most. The band of a step looks a few steps ahead: a single step says
 * too little, and noise grows. */
static double find_repeat_noise(const struct plumb_curves *curves, size_t first, size_t last)
{
    double most = 0;
    for (size_t r = 0; r < curves->repeat_count; r++)
        for (size_t i = first; i <= last && i < curves->count; i++) {
            const double error = fabs(error_between(curves->a[i], curves->repeats[r][i]));
            if (!isnan(curves->repeats[r][i]) && isfinite(error))
                most = fmax(most, error);
        }
    return most;
}

/* Noise as large as the scatter is normal, unless it came all at once: errors grow from step to step,
 * and what is a hundred times all that was eight steps before, or not there at all, began here. */
static void find_own_bands(struct view *view)
{
    const double noise = steps_apart * fmin(view->scatter, most_noise);
    const double early = steps_apart * fmin(view->early, most_noise);
    double past = 0;
    bool same_so_far = true, left = false;
    for (size_t i = 0; i < view->curves->count; i++) {
        const double error = fabs(view->signed_error[i]);
        if (i >= SMOOTHED && !left)
            past = fmax(past, fabs(view->signed_error[i - SMOOTHED]));
        const bool has_past = left || i >= 2 * SMOOTHED || (i > 0 && same_so_far);
        const double allowed = has_past ? fmin(noise, sudden * past) : noise;
        view->scratch[i] = i ? fmax(usual_band, allowed) : fmax(first_band, early);
        left |= error > view->scratch[i];
        same_so_far &= error == 0;
    }
}

static void find_repeat_bands(struct view *view)
{
    const struct plumb_curves *curves = view->curves;
    double most = 0;
    for (size_t i = 0; i < curves->count; i++) {
        if (i == 0 || i + AROUND < curves->count)
            most = fmax(most, find_repeat_noise(curves, i ? i + AROUND : 0, i + AROUND));
        view->scratch[i] = fmax(repeat_margin * most, rounding);
    }
}

/* ---- means -------------------------------------------------------------------------------------- */

struct mean {
    double value;
    double deviation; /* of the mean, as far as neighbours are independent */
};

/* Neighbours that resemble each other count less: n (1 - r) / (1 + r). */
static struct mean mean_of(const double *values, size_t count)
{
    struct mean mean = {0};
    double square = 0, product = 0;
    for (size_t i = 0; i < count; i++)
        mean.value += values[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        const double x = values[i] - mean.value;
        square += x * x;
        product += i ? x * (values[i - 1] - mean.value) : 0;
    }
    const double likeness = square > 0 ? fmin(fmax(product / square, 0), 1) : 0;
    const double independent = fmax((double)count * (1 - likeness) / (1 + likeness), 2);
    mean.deviation = sqrt(square / (double)count / independent);
    return mean;
}

static size_t window_of(const struct view *view)
{
    const size_t quarter = view->curves->count / 4;
    return quarter > SHORTEST_WINDOW ? quarter : SHORTEST_WINDOW;
}

/* The same mean of repeated runs: how far the reference goes by itself. */
static double repeat_mean(struct view *view, size_t from)
{
    const struct plumb_curves *curves = view->curves;
    double most = 0;
    for (size_t r = 0; r < curves->repeat_count; r++) {
        size_t count = 0;
        for (size_t i = from; i < curves->count; i++) {
            const double error = error_between(curves->a[i], curves->repeats[r][i]);
            if (!isnan(curves->repeats[r][i]) && isfinite(error))
                view->scratch[count++] = error;
        }
        const struct mean mean = mean_of(view->scratch, count);
        most = fmax(most, fabs(mean.value) + means_apart * mean.deviation);
    }
    return most;
}

/* The first step after which the smoothed difference stays on the side where it ends. */
static size_t parting(const struct view *view, double end)
{
    static const double begun = 0.1;
    size_t first = view->curves->count;
    for (size_t i = view->curves->count; i-- > 0;) {
        double mean = 0;
        size_t count = 0;
        for (size_t k = i; k < view->curves->count && k < i + SMOOTHED; k++, count++)
            mean += view->signed_error[k];
        mean /= (double)count;
        if (!(mean / end > begun))
            break;
        first = i;
    }
    while (first < view->curves->count && !(view->signed_error[first] / end > begun))
        first++; /* a mean sees what is to come */
    return first < view->curves->count ? first : 0;
}

/* Is B above or below A in the end by more than noise leaves in a mean? */
static bool is_drift(struct view *view, size_t *from)
{
    const size_t count = view->curves->count, window = window_of(view);
    if (count < window)
        return false;
    const double *end = view->signed_error + (count - window);
    for (size_t i = 0; i < window; i++)
        if (!isfinite(end[i]))
            return false;
    const struct mean mean = mean_of(end, window);
    const double least = view->curves->repeat_count
                             ? fmax(repeat_mean(view, count - window), rounding)
                             : usual_band;
    if (!(fabs(mean.value) > least && fabs(mean.value) > means_apart * mean.deviation))
        return false;
    *from = parting(view, mean.value);
    return true;
}

/* ---- classes ------------------------------------------------------------------------------------- */

struct seen {
    size_t beyond, after; /* steps outside the band; steps since the first of them */
    bool first_beyond, nonfinite;
};

static void leave(struct plumb_series_diff *diff, int64_t step, double band)
{
    if (diff->leaves && diff->leaves_step <= step)
        return;
    diff->leaves = true;
    diff->leaves_step = step;
    diff->band = band;
}

static void see_step(const struct view *view, size_t i, struct seen *seen,
                     struct plumb_series_diff *diff)
{
    const struct plumb_curves *curves = view->curves;
    const double error = fabs(view->signed_error[i]), band = view->scratch[i];
    if (error > 0 && !diff->differs) {
        diff->differs = true;
        diff->step = curves->steps[i];
        diff->a = curves->a[i];
        diff->b = curves->b[i];
    }
    seen->nonfinite |= isfinite(curves->a[i]) != isfinite(curves->b[i]);
    diff->worst = fmax(diff->worst, error);
    seen->after += diff->leaves;
    if (!diff->leaves)
        diff->band = band;
    if (!(error > band))
        return;
    seen->beyond++;
    seen->first_beyond |= i == 0;
    leave(diff, curves->steps[i], band);
}

static enum plumb_series_class classify(struct view *view, const struct seen *seen,
                                        struct plumb_series_diff *diff)
{
    size_t from = 0;
    if (!diff->differs)
        return PLUMB_SERIES_SAME;
    if (seen->nonfinite)
        return PLUMB_SERIES_NONFINITE;
    if (seen->first_beyond)
        return PLUMB_SERIES_FIRST;
    if (is_drift(view, &from)) {
        leave(diff, view->curves->steps[from], diff->band);
        return PLUMB_SERIES_DRIFT;
    }
    if (!diff->leaves)
        return PLUMB_SERIES_NOISE;
    /* Back inside the band for most of what follows. */
    return seen->after >= 4 && seen->beyond * 4 <= seen->after ? PLUMB_SERIES_SPIKE
                                                               : PLUMB_SERIES_DRIFT;
}

bool plumb_curves_classify(const struct plumb_curves *curves, struct plumb_series_diff *diff)
{
    struct view view = {.curves = curves};
    struct seen seen = {0};
    diff->common = curves->count;
    diff->differs = diff->leaves = false;
    diff->step = diff->leaves_step = -1;
    diff->worst = diff->band = 0;
    view.signed_error = plumb_alloc_array(curves->count + 1, sizeof *view.signed_error);
    view.scratch = plumb_alloc_array(curves->count + 1, sizeof *view.scratch);
    const bool made = view.signed_error && view.scratch;
    if (made) {
        for (size_t i = 0; i < curves->count; i++)
            view.signed_error[i] = error_between(curves->a[i], curves->b[i]);
        view.scatter = find_scatter(&view);
        view.early = find_early_scatter(&view);
        if (curves->repeat_count)
            find_repeat_bands(&view);
        else
            find_own_bands(&view);
        for (size_t i = 0; i < curves->count; i++)
            see_step(&view, i, &seen, diff);
        diff->series_class = classify(&view, &seen, diff);
    }
    plumb_free(view.scratch);
    plumb_free(view.signed_error);
    return made;
}
