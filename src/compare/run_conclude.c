/* run_conclude.c - from events, settings and series to roots, the table of stages and one verdict. */
#include "compare/run_diff.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "compare/run_module_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_JUDGED = 2000 };

/* ---- roots ---------------------------------------------------------------------------------------- */

static int in_execution_order(const void *x, const void *y)
{
    const struct plumb_event *a = x, *b = y;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The same thing in another layer, at another step or on another rank. */
static bool is_alike(const struct plumb_event *a, const struct plumb_event *b)
{
    return a->kind == b->kind && a->stage == b->stage &&
           (a->stage == PLUMB_STAGE_WEIGHTS || (a->op == b->op && a->slot == b->slot));
}

struct gathering {
    struct plumb_run_diff *diff;
    size_t firsts[PLUMB_RUN_DIFF_ROOTS]; /* event of each root */
};

static void add_root(struct gathering *gathering, size_t event)
{
    struct plumb_run_diff *diff = gathering->diff;
    for (size_t i = 0; i < diff->root_count; i++) {
        if (!is_alike(&diff->blame.events[gathering->firsts[i]], &diff->blame.events[event]))
            continue;
        diff->roots[i].similar++;
        return;
    }
    diff->root_total++;
    if (diff->root_count == PLUMB_RUN_DIFF_ROOTS)
        return;
    gathering->firsts[diff->root_count] = event;
    plumb_event_judge(diff, &diff->blame.events[event], &diff->roots[diff->root_count++]);
}

/* What is more than rounding comes first; within that the order of execution stays. */
static void order_roots(struct plumb_run_diff *diff)
{
    struct plumb_run_root sorted[PLUMB_RUN_DIFF_ROOTS];
    size_t count = 0;
    for (int beyond = 1; beyond >= 0; beyond--)
        for (size_t i = 0; i < diff->root_count; i++)
            if ((diff->roots[i].verdict > PLUMB_ROUNDING) == (beyond == 1))
                sorted[count++] = diff->roots[i];
    memcpy(diff->roots, sorted, count * sizeof *sorted);
}

static bool reasons_are_there(const struct plumb_run_diff *diff)
{
    for (size_t i = 0; i < diff->root_count; i++)
        if (!diff->roots[i].reason)
            return false;
    return true;
}

/* ---- series --------------------------------------------------------------------------------------- */

/* A loss that differs by less may be a consequence of rounding. */
static const double seen_in_loss = 1e-3;

static bool is_loss(const char *name)
{
    return plumb_text_starts(name, "loss") && !plumb_text_starts(name, "loss_");
}

/* A record of the same step explains a series, unless the part of training that made the series comes
 * first and was not recorded: a loss that differs is not the update's fault. */
static bool explains(const struct plumb_run_diff *diff, const struct plumb_run_root *root,
                     const struct plumb_series_diff *series)
{
    const enum plumb_stage stage = plumb_series_stage(series->name);
    return root->step < series->step ||
           (root->step == series->step &&
            (root->stage <= stage || diff->blame.stages[stage].rows > 0));
}

/* Does a root come before it? What is within rounding is no reason for a loss that is not. */
static bool is_covered(const struct plumb_run_diff *diff,
                       const struct plumb_series_diff *series)
{
    const struct plumb_run_root *first = diff->root_count ? &diff->roots[0] : NULL;
    const double apart = fabs(series->b - series->a) / fabs(series->a);
    bool covered = false;
    if (first && first->verdict > PLUMB_ROUNDING && is_loss(series->name))
        return first->step < series->step || apart <= fmax(series->band, seen_in_loss) ||
               (first->step == series->step &&
                first->stage <= plumb_series_stage(series->name));
    for (size_t i = 0; i < diff->root_count; i++)
        covered |= explains(diff, &diff->roots[i], series);
    return covered;
}

/* A loss that is a whole multiple of the other, or a whole part of it, was summed or scaled. */
static const char *describe_factor(const struct plumb_series_diff *series, char *text,
                                   size_t size)
{
    const double factor = series->b / series->a;
    const double whole = factor < 1 ? 1 / factor : factor;
    text[0] = '\0';
    if (isfinite(whole) && whole > 1.5 && fabs(whole - round(whole)) < 1e-4 * whole)
        (void)snprintf(text, size,
                       ": B is %.6g times A, as if it were scaled, or summed where "
                       "A averages",
                       factor);
    return text;
}

/* What the records do not show, the series may: an evaluation, a step or a part that is not recorded. */
static bool add_series_root(struct plumb_run_diff *diff)
{
    const struct plumb_series_diff *series = plumb_series_first(&diff->series);
    if (!series || is_covered(diff, series))
        return true;
    char factor[160];
    const bool small = series->series_class == PLUMB_SERIES_NOISE ||
                       (isfinite(series->worst) && series->worst <= series->band);
    struct plumb_run_root root = {
        .stage = plumb_series_stage(series->name),
        .rank = series->rank,
        .step = series->step,
        .op = series->name,
        .slot = "series",
        .verdict = small ? PLUMB_ROUNDING : PLUMB_DIFFERENT,
        .basis = PLUMB_BASIS_SERIES,
        .error = fabs(series->b - series->a) / fabs(series->a),
        .allowed = series->band,
        .reason = plumb_arena_printf(
            &diff->arena,
            "%.9g in A, %.9g in B at this step (%s)%s; no tensor record differs%s before it",
            series->a, series->b, plumb_series_class_name(series->series_class),
            describe_factor(series, factor, sizeof factor),
            diff->blame.differing ? " by more than rounding" : ""),
    };
    const size_t room =
        diff->root_count < PLUMB_RUN_DIFF_ROOTS ? diff->root_count : PLUMB_RUN_DIFF_ROOTS - 1;
    memmove(&diff->roots[1], &diff->roots[0], room * sizeof *diff->roots);
    diff->roots[0] = root;
    diff->root_count = room + 1;
    diff->root_total++;
    return root.reason != NULL;
}

/* ---- settings -------------------------------------------------------------------------------------- */

/* A setting that acts where the first difference shows is its cause. */
static bool blame_setting(struct plumb_run_diff *diff)
{
    struct plumb_run_root *first = &diff->roots[0];
    const char *op = first->basis == PLUMB_BASIS_SERIES ? NULL : first->op;
    const struct plumb_setting_diff *setting =
        diff->root_count ? plumb_config_find(&diff->config, first->stage, first->rank, op)
                         : NULL;
    if (!setting)
        return true;
    diff->setting = setting;
    diff->setting_words = plumb_setting_sentence(&diff->arena, setting);
    first->reason = diff->setting_words
                        ? plumb_arena_printf(&diff->arena, "%s; it first shows here: %s",
                                             diff->setting_words, first->reason)
                        : NULL;
    first->stage = PLUMB_STAGE_CONFIG;
    first->basis = PLUMB_BASIS_SETTING;
    return first->reason != NULL;
}

/* ---- stages ---------------------------------------------------------------------------------------- */

static enum plumb_verdict stage_verdict(const struct plumb_run_diff *diff,
                                        enum plumb_stage stage)
{
    const struct plumb_stage_count *count = &diff->blame.stages[stage];
    if (!count->differing)
        return PLUMB_IDENTICAL;
    return diff->verdict <= PLUMB_ROUNDING || !count->beyond ? PLUMB_ROUNDING : diff->verdict;
}

static const char *describe_count(struct plumb_run_diff *diff,
                                  const struct plumb_stage_count *count)
{
    const unsigned long long differing = count->differing, rows = count->rows;
    if (!differing)
        return plumb_arena_printf(&diff->arena, "none of %llu records differs", rows);
    return plumb_arena_printf(&diff->arena, "%llu of %llu records differ, first at step %lld",
                              differing, rows, (long long)count->first);
}

static bool describe_stage(struct plumb_run_diff *diff, enum plumb_stage stage)
{
    struct plumb_run_stage *row = &diff->stages[stage];
    const struct plumb_stage_count *count = &diff->blame.stages[stage];
    const struct plumb_series_diff *series = NULL;
    row->stage = stage;
    for (size_t i = 0; i < diff->series.count && !series; i++)
        if (plumb_series_stage(diff->series.items[i].name) == stage)
            series = &diff->series.items[i];
    if (count->rows) {
        row->known = true;
        row->verdict = stage_verdict(diff, stage);
        row->detail = describe_count(diff, count);
    } else if (series) {
        row->known = true;
        row->verdict = !series->differs ? PLUMB_IDENTICAL
                       : series->leaves ? diff->verdict
                                        : PLUMB_ROUNDING;
        row->detail =
            plumb_arena_printf(&diff->arena, "no records; series %s: %s", series->name,
                               plumb_series_class_name(series->series_class));
    } else {
        row->detail = "nothing recorded on both sides";
    }
    return row->detail != NULL;
}

static bool describe_config(struct plumb_run_diff *diff)
{
    struct plumb_run_stage *row = &diff->stages[PLUMB_STAGE_CONFIG];
    const struct plumb_config_diff *config = &diff->config;
    row->stage = PLUMB_STAGE_CONFIG;
    row->known = config->compared > 0;
    row->verdict = config->numeric ? PLUMB_DIFFERENT : PLUMB_IDENTICAL;
    if (config->numeric)
        row->detail = plumb_arena_printf(
            &diff->arena, "%s%s",
            plumb_setting_sentence(&diff->arena,
                                   diff->setting ? diff->setting : &config->settings[0]),
            config->numeric > 1 ? ", and more (--all)" : "");
    else if (config->compared)
        row->detail =
            plumb_arena_printf(&diff->arena, "%zu settings agree%s", config->compared,
                               config->count ? "; others differ that do not matter" : "");
    else
        row->detail = "nothing recorded on both sides";
    return row->detail != NULL;
}

/* The first wrong stage gets the verdict of its root. */
static bool describe_stages(struct plumb_run_diff *diff)
{
    for (int i = PLUMB_STAGE_DATA; i < PLUMB_STAGE_COUNT; i++)
        if (!describe_stage(diff, (enum plumb_stage)i))
            return false;
    for (size_t i = 0; i < diff->root_count; i++) {
        struct plumb_run_stage *row = &diff->stages[diff->roots[i].stage];
        if (diff->roots[i].verdict > row->verdict)
            row->verdict = diff->roots[i].verdict;
    }
    return describe_config(diff);
}

/* ---- verdict ---------------------------------------------------------------------------------------- */

static void decide(struct plumb_run_diff *diff)
{
    diff->verdict = diff->blame.differing ? PLUMB_ROUNDING : PLUMB_IDENTICAL;
    for (size_t i = 0; i < diff->root_count; i++)
        if (diff->roots[i].verdict > diff->verdict)
            diff->verdict = diff->roots[i].verdict;
    diff->exact = diff->blame.event_count && diff->blame.events[0].seen_bits;
}

static bool find_roots(struct plumb_run_diff *diff)
{
    struct gathering gathering = {.diff = diff};
    if (diff->blame.event_count)
        qsort(diff->blame.events, diff->blame.event_count, sizeof *diff->blame.events,
              in_execution_order);
    for (size_t i = 0; i < diff->blame.event_count && i < MOST_JUDGED; i++)
        add_root(&gathering, i);
    order_roots(diff);
    return reasons_are_there(diff);
}

enum plumb_status plumb_run_diff_conclude(struct plumb_run_diff *diff, struct plumb_error *err)
{
    diff->roots = plumb_arena_alloc(&diff->arena, PLUMB_RUN_DIFF_ROOTS, sizeof *diff->roots);
    if (!diff->roots || !find_roots(diff) || !add_series_root(diff))
        return plumb_fail_memory(err);
    decide(diff);
    if (!blame_setting(diff) ||
        (diff->root_count && !diff->setting &&
         !plumb_module_settings_explain(diff, &diff->roots[0])) ||
        !describe_stages(diff))
        return plumb_fail_memory(err);
    diff->victims = diff->blame.differing > diff->blame.event_count
                        ? diff->blame.differing - diff->blame.event_count
                        : 0;
    return PLUMB_OK;
}
