/* run_series.c - see run_series.h; the classes are told apart in series_class.c. */
#include "compare/run_series.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "compare/series_class.h"
#include "format/log_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPEATS = 64 };

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

/* ---- pairs ------------------------------------------------------------------------------------- */

/* The same name, or another of the same thing: "lm loss" in one log, "train/loss" in another. */
static const struct plumb_series *find_partner(const struct plumb_run *run,
                                               const struct plumb_series *series)
{
    const struct plumb_series *found = plumb_run_find_series(run, series->name, series->rank);
    char wanted[PLUMB_LOG_NAME], name[PLUMB_LOG_NAME];
    plumb_log_usual_name(series->name, wanted);
    for (size_t i = 0; !found && i < plumb_run_series_count(run); i++) {
        const struct plumb_series *other = plumb_run_series(run, i);
        plumb_log_usual_name(other->name, name);
        if (other->rank == series->rank && strcmp(name, wanted) == 0)
            found = other;
    }
    return found;
}

/* Value at a step; NaN if there is none. `at` moves on. */
static double value_at(const struct plumb_series *series, int64_t step, size_t *at)
{
    while (*at < series->count && series->steps[*at] < step)
        (*at)++;
    return *at < series->count && series->steps[*at] == step ? series->values[*at]
                                                             : (double)NAN;
}

/* How far apart the curves are, in the middle of the steps they share if B's are `shift` later. */
static double median_apart(const struct plumb_series *a, const struct plumb_series *b,
                           int64_t shift)
{
    enum { SOME = 64 };
    double errors[SOME];
    size_t count = 0, at = 0;
    for (size_t i = 0; i < a->count && count < SOME; i++) {
        const double y = value_at(b, a->steps[i] + shift, &at), x = a->values[i];
        if (!isfinite(x) || !isfinite(y))
            continue;
        const double error = x == y ? 0 : fabs(x - y) / fmax(fabs(x), fabs(y));
        size_t k = count++;
        for (; k > 0 && errors[k - 1] > error; k--)
            errors[k] = errors[k - 1];
        errors[k] = error;
    }
    return count >= 3 ? errors[count / 2] : HUGE_VAL;
}

/* One framework counts its steps from 0, another from 1: B's are moved if the curves then agree. */
static int64_t find_shift(const struct plumb_series *a, const struct plumb_series *b)
{
    static const double agree = 1e-2, better = 0.1;
    if (!a->count || !b->count || llabs(b->steps[0] - a->steps[0]) != 1)
        return 0;
    const int64_t shift = b->steps[0] - a->steps[0];
    const double moved = median_apart(a, b, shift);
    return moved < agree && moved < better * median_apart(a, b, 0) ? shift : 0;
}

/* ---- curves ------------------------------------------------------------------------------------- */

struct curves {
    struct plumb_curves view;
    int64_t *steps;
    double *a, *b;
    double *repeats[MOST_REPEATS];
};

static void curves_release(struct curves *curves)
{
    plumb_free(curves->steps);
    plumb_free(curves->a);
    plumb_free(curves->b);
    for (size_t i = 0; i < MOST_REPEATS; i++)
        plumb_free(curves->repeats[i]);
}

static bool take_repeats(struct curves *curves, const struct plumb_series *reference,
                         const struct plumb_run_diff_options *options)
{
    for (size_t i = 0; options && i < options->noise_count; i++) {
        const struct plumb_series *series = find_partner(options->noise[i], reference);
        if (!series || curves->view.repeat_count == MOST_REPEATS)
            continue;
        double *values = plumb_alloc_array(curves->view.count + 1, sizeof *values);
        if (!values)
            return false;
        for (size_t k = 0, at = 0; k < curves->view.count; k++)
            values[k] = value_at(series, curves->steps[k], &at);
        curves->repeats[curves->view.repeat_count++] = values;
    }
    return true;
}

/* The steps that both have. */
static bool curves_take(struct curves *curves, const struct plumb_series *a,
                        const struct plumb_series *b, int64_t shift)
{
    const size_t most = (a->count < b->count ? a->count : b->count) + 1;
    size_t count = 0;
    curves->steps = plumb_alloc_array(most, sizeof *curves->steps);
    curves->a = plumb_alloc_array(most, sizeof *curves->a);
    curves->b = plumb_alloc_array(most, sizeof *curves->b);
    if (!curves->steps || !curves->a || !curves->b)
        return false;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        const int64_t step_b = b->steps[k] - shift;
        if (a->steps[i] == step_b) {
            curves->steps[count] = step_b;
            curves->a[count] = a->values[i];
            curves->b[count++] = b->values[k];
        }
        const bool later_b = a->steps[i] <= step_b, later_a = step_b <= a->steps[i];
        i += later_b;
        k += later_a;
    }
    curves->view = (struct plumb_curves){.steps = curves->steps,
                                         .a = curves->a,
                                         .b = curves->b,
                                         .count = count,
                                         .repeats = (const double *const *)curves->repeats};
    return true;
}

static bool compare_one(const struct plumb_series *a, const struct plumb_series *b,
                        const struct plumb_run_diff_options *options,
                        struct plumb_series_diff *diff)
{
    struct curves curves = {0};
    const int64_t shift = find_shift(a, b);
    *diff =
        (struct plumb_series_diff){.name = a->name, .rank = a->rank, .step_shift = (int)shift};
    const bool made = curves_take(&curves, a, b, shift) && take_repeats(&curves, a, options) &&
                      plumb_curves_classify(&curves.view, diff);
    curves_release(&curves);
    return made;
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
        const struct plumb_series *y = find_partner(b, x);
        if (!y || is_of_time(x->name))
            continue;
        if (!compare_one(x, y, options, &list->items[list->count]))
            return plumb_fail_memory(err);
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
