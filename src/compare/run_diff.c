/* run_diff.c - `plumb diff` of two runs: the order of the questions, and the accessors. */
#include "compare/run_diff.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

static const char *const stage_names[PLUMB_STAGE_COUNT] = {
    "config", "data", "weights", "forward", "backward", "reduce", "update"};
static const char *const basis_names[PLUMB_BASIS_COUNT] = {"bits",   "statistics", "values",
                                                           "series", "structure",  "setting"};
static const char *const class_names[PLUMB_SERIES_CLASS_COUNT] = {
    "same", "noise", "first step differs", "equal, then drifts", "spike", "not finite"};

const char *plumb_stage_name(enum plumb_stage stage)
{
    return (unsigned)stage < PLUMB_STAGE_COUNT ? stage_names[stage] : "unknown";
}

const char *plumb_basis_name(enum plumb_basis basis)
{
    return (unsigned)basis < PLUMB_BASIS_COUNT ? basis_names[basis] : "unknown";
}

const char *plumb_series_class_name(enum plumb_series_class series_class)
{
    return (unsigned)series_class < PLUMB_SERIES_CLASS_COUNT ? class_names[series_class]
                                                             : "unknown";
}

/* Where nothing can be compared, nothing is the same. */
static enum plumb_status fail_if_nothing_compared(const struct plumb_run_diff *diff,
                                                  struct plumb_error *err)
{
    char reason[600];
    if (diff->root_count || diff->series.count || diff->blame.rows > diff->blame.unknown)
        return PLUMB_OK;
    if (diff->unread.count)
        return plumb_fail(err, PLUMB_DAMAGED, -1,
                          "%s and %s: nothing is left to compare: %s; copy or record it again",
                          plumb_run_path(diff->a), plumb_run_path(diff->b),
                          diff->unread.items[0].text);
    plumb_overlap_explain(&diff->overlap, diff->a, diff->b, reason, sizeof reason);
    return plumb_fail(err, PLUMB_UNSUPPORTED, -1, "%s and %s: nothing to compare: %s",
                      plumb_run_path(diff->a), plumb_run_path(diff->b), reason);
}

/* Named by the caller, else as the run recorded it where the runs have other numbers of ranks. */
static enum plumb_status find_layout(const struct plumb_run *run, const struct plumb_run *other,
                                     const char *path, struct plumb_layout *layout,
                                     struct plumb_error *err)
{
    if (path)
        return plumb_layout_read(path, layout, err);
    if (plumb_run_rank_count(run) == plumb_run_rank_count(other))
        return PLUMB_OK;
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *config = plumb_run_config(run, i);
        if (strcmp(config->key, "parallel.layout") == 0)
            return plumb_layout_parse("parallel.layout", config->json, strlen(config->json),
                                      layout, err);
    }
    return PLUMB_OK;
}

/* What describes the piece of one rank is not compared with the whole: norms of its tensors, its layers and
 * how many ranks share them. */
static void set_pieces_aside(struct plumb_run_diff *diff)
{
    size_t kept = 0;
    if (!diff->layout_a.ranks && !diff->layout_b.ranks)
        return;
    for (size_t i = 0; i < diff->series.count; i++)
        if (!plumb_text_matches("*norm*", diff->series.items[i].name))
            diff->series.items[kept++] = diff->series.items[i];
    diff->series.count = kept;
    plumb_config_excuse(&diff->config, "*.module:*");
    plumb_config_excuse(&diff->config, "* parallel");
}

static enum plumb_status find_layouts(struct plumb_run_diff *diff,
                                      const struct plumb_run_diff_options *options,
                                      struct plumb_error *err)
{
    const enum plumb_status status =
        find_layout(diff->a, diff->b, options ? options->layout_a : NULL, &diff->layout_a, err);
    return status ? status
                  : find_layout(diff->b, diff->a, options ? options->layout_b : NULL,
                                &diff->layout_b, err);
}

enum plumb_status plumb_run_diff_new(struct plumb_run *a, struct plumb_run *b,
                                     const struct plumb_run_diff_options *options,
                                     struct plumb_run_diff **out, struct plumb_error *err)
{
    struct plumb_run_diff *diff = plumb_alloc_array(1, sizeof *diff);
    if (!diff)
        return plumb_fail_memory(err);
    diff->a = a;
    diff->b = b;
    enum plumb_status status = plumb_config_compare(&diff->arena, a, b, &diff->config, err);
    if (!status)
        status = plumb_series_compare(&diff->arena, a, b, options, &diff->series, err);
    if (!status)
        status = find_layouts(diff, options, err);
    if (!status)
        set_pieces_aside(diff);
    if (!status)
        status = plumb_run_diff_walk(diff, options, err);
    if (!status && !plumb_unread_find(&diff->arena, a, b, diff->only_a_total,
                                      diff->only_b_total, &diff->unread))
        status = plumb_fail_memory(err);
    if (!status)
        status = plumb_run_diff_conclude(diff, err);
    if (!status)
        status = fail_if_nothing_compared(diff, err);
    if (!status)
        status = plumb_run_diff_advise(diff, err);
    if (status)
        plumb_run_diff_free(diff);
    else
        *out = diff;
    return status;
}

void plumb_run_diff_free(struct plumb_run_diff *diff)
{
    if (!diff)
        return;
    plumb_blame_release(&diff->blame);
    plumb_config_release(&diff->config);
    plumb_layout_release(&diff->layout_a);
    plumb_layout_release(&diff->layout_b);
    plumb_names_release(&diff->names);
    plumb_arena_release(&diff->arena);
    plumb_free(diff);
}

enum plumb_verdict plumb_run_diff_verdict(const struct plumb_run_diff *diff)
{
    return diff->verdict <= PLUMB_ROUNDING && diff->unread.total ? PLUMB_INCOMPLETE
                                                                 : diff->verdict;
}

const char *plumb_run_diff_summary(const struct plumb_run_diff *diff)
{
    return diff->summary;
}

size_t plumb_run_diff_root_count(const struct plumb_run_diff *diff)
{
    return diff->root_count;
}

const struct plumb_run_root *plumb_run_diff_root(const struct plumb_run_diff *diff, size_t i)
{
    return i < diff->root_count ? &diff->roots[i] : NULL;
}

uint64_t plumb_run_diff_victims(const struct plumb_run_diff *diff)
{
    return diff->victims;
}

const struct plumb_run_stage *plumb_run_diff_stage(const struct plumb_run_diff *diff,
                                                   enum plumb_stage stage)
{
    return (unsigned)stage < PLUMB_STAGE_COUNT ? &diff->stages[stage] : NULL;
}

size_t plumb_run_diff_series_count(const struct plumb_run_diff *diff)
{
    return diff->series.count;
}

const struct plumb_series_diff *plumb_run_diff_series(const struct plumb_run_diff *diff,
                                                      size_t i)
{
    return i < diff->series.count ? &diff->series.items[i] : NULL;
}

size_t plumb_run_diff_setting_count(const struct plumb_run_diff *diff)
{
    return diff->config.count;
}

const struct plumb_setting_diff *plumb_run_diff_setting(const struct plumb_run_diff *diff,
                                                        size_t i)
{
    return i < diff->config.count ? &diff->config.settings[i] : NULL;
}
