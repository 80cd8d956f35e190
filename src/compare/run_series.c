/*
 * run_series.c - see run_series.h.
 *
 * The band is what is normal between two runs of the same program: three times the largest
 * difference among repeated reference runs up to that step, or 0.1 % if there are none.
 */
#include "compare/run_series.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double usual_band = 1e-3, first_band = 1e-4, noise_margin = 3;

static const char *const of_time[] = {"*throughput*", "*time*",    "*seconds*", "*memory*",
                                      "*per_second*", "*per_sec*", "*flops*",   "*speed*",
                                      "*latency*",    "*duration*"};

static bool is_of_time(const char *name)
{
    for (size_t i = 0; i < sizeof of_time / sizeof *of_time; i++)
        if (plumb_text_matches(of_time[i], name))
            return true;
    return false;
}

enum plumb_stage plumb_series_stage(const char *name)
{
    static const struct {
        const char *pattern;
        enum plumb_stage stage;
    } stages[] = {
        {"lr", PLUMB_STAGE_UPDATE},           {"*learning_rate*", PLUMB_STAGE_UPDATE},
        {"lr_*", PLUMB_STAGE_UPDATE},         {"*update*", PLUMB_STAGE_UPDATE},
        {"*param*norm*", PLUMB_STAGE_UPDATE}, {"*replica*", PLUMB_STAGE_UPDATE},
        {"*grad*", PLUMB_STAGE_BACKWARD},     {"*scale*", PLUMB_STAGE_BACKWARD},
        {"*skip*", PLUMB_STAGE_BACKWARD},     {"*overflow*", PLUMB_STAGE_BACKWARD},
    };
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (plumb_text_matches(stages[i].pattern, name))
            return stages[i].stage;
    return PLUMB_STAGE_FORWARD;
}

static bool equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static double relative(double a, double b)
{
    if (equal(a, b))
        return 0;
    const double size = fmax(fabs(a), fabs(b));
    return isfinite(a) && isfinite(b) ? fabs(a - b) / size : HUGE_VAL;
}

/* ---- the noise of repeated runs -------------------------------------------------------------- */

/* Value at a step; NaN if there is none. `at` moves on. */
static double value_at(const struct plumb_series *series, int64_t step, size_t *at)
{
    while (*at < series->count && series->steps[*at] < step)
        (*at)++;
    return *at < series->count && series->steps[*at] == step ? series->values[*at]
                                                             : (double)NAN;
}

struct noise {
    const struct plumb_series *series[64];
    size_t at[64], count;
    double so_far; /* the largest difference up to this step */
};

static void find_noise(struct noise *noise, const struct plumb_series *reference,
                       const struct plumb_run_diff_options *options)
{
    *noise = (struct noise){.so_far = 0};
    for (size_t i = 0; options && i < options->noise_count; i++) {
        const struct plumb_series *series =
            plumb_run_find_series(options->noise[i], reference->name, reference->rank);
        if (series && noise->count < sizeof noise->at / sizeof *noise->at)
            noise->series[noise->count++] = series;
    }
}

static double band_at(struct noise *noise, double reference, int64_t step, bool first)
{
    if (!noise->count)
        return first ? first_band : usual_band;
    for (size_t i = 0; i < noise->count; i++) {
        const double value = value_at(noise->series[i], step, &noise->at[i]);
        if (isfinite(value))
            noise->so_far = fmax(noise->so_far, relative(reference, value));
    }
    return fmax(noise_margin * noise->so_far, 1e-12);
}

/* ---- classes ----------------------------------------------------------------------------------- */

struct comparing {
    struct plumb_series_diff *diff;
    bool first_beyond;    /* at the first common step */
    size_t beyond, after; /* steps outside the band; steps since the first of them */
    bool nonfinite;
};

static void see_step(struct comparing *comparing, int64_t step, double a, double b, double band)
{
    struct plumb_series_diff *diff = comparing->diff;
    const double error = relative(a, b);
    const bool first = diff->common++ == 0;
    if (error > 0 && !diff->differs) {
        diff->differs = true;
        diff->step = step;
        diff->a = a;
        diff->b = b;
    }
    comparing->nonfinite |= isfinite(a) != isfinite(b);
    if (error > diff->worst)
        diff->worst = error;
    diff->band = band;
    comparing->after += diff->leaves;
    if (!(error > band))
        return;
    comparing->beyond++;
    comparing->first_beyond |= first;
    if (!diff->leaves) {
        diff->leaves = true;
        diff->leaves_step = step;
    }
}

static enum plumb_series_class classify(const struct comparing *comparing)
{
    const struct plumb_series_diff *diff = comparing->diff;
    if (!diff->differs)
        return PLUMB_SERIES_SAME;
    if (comparing->nonfinite)
        return PLUMB_SERIES_NONFINITE;
    if (!diff->leaves)
        return PLUMB_SERIES_NOISE;
    if (comparing->first_beyond)
        return PLUMB_SERIES_FIRST;
    /* Back inside the band for most of what follows. */
    return comparing->after >= 4 && comparing->beyond * 4 <= comparing->after
               ? PLUMB_SERIES_SPIKE
               : PLUMB_SERIES_DRIFT;
}

static void compare_one(const struct plumb_series *a, const struct plumb_series *b,
                        const struct plumb_run_diff_options *options,
                        struct plumb_series_diff *diff)
{
    struct noise noise;
    struct comparing comparing = {.diff = diff};
    find_noise(&noise, a, options);
    *diff = (struct plumb_series_diff){
        .name = a->name, .rank = a->rank, .step = -1, .leaves_step = -1};
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        if (a->steps[i] != b->steps[k]) {
            if (a->steps[i] < b->steps[k])
                i++;
            else
                k++;
            continue;
        }
        const double band = band_at(&noise, a->values[i], a->steps[i], diff->common == 0);
        see_step(&comparing, a->steps[i], a->values[i], b->values[k], band);
        i++;
        k++;
    }
    diff->series_class = classify(&comparing);
}

static int differing_first(const void *x, const void *y)
{
    const struct plumb_series_diff *a = x, *b = y;
    if (a->differs != b->differs)
        return a->differs ? -1 : 1;
    if (a->differs && a->step != b->step)
        return a->step < b->step ? -1 : 1;
    const enum plumb_stage of_a = plumb_series_stage(a->name),
                           of_b = plumb_series_stage(b->name);
    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    const int order = strcmp(a->name, b->name);
    return order ? order : a->rank - b->rank;
}

enum plumb_status plumb_series_compare(struct plumb_arena *arena, struct plumb_run *a,
                                       struct plumb_run *b,
                                       const struct plumb_run_diff_options *options,
                                       struct plumb_series_list *list, struct plumb_error *err)
{
    list->count = 0;
    list->items = plumb_arena_alloc(arena, plumb_run_series_count(a) + 1, sizeof *list->items);
    if (!list->items)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < plumb_run_series_count(a); i++) {
        const struct plumb_series *x = plumb_run_series(a, i);
        const struct plumb_series *y = plumb_run_find_series(b, x->name, x->rank);
        if (!y || is_of_time(x->name))
            continue;
        compare_one(x, y, options, &list->items[list->count]);
        list->count += list->items[list->count].common > 0;
    }
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, differing_first);
    return PLUMB_OK;
}

const struct plumb_series_diff *plumb_series_first(const struct plumb_series_list *list)
{
    return list->count && list->items[0].differs ? &list->items[0] : NULL;
}
