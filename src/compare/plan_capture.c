/* plan_capture.c - see plan_capture.h: from the first difference of two runs to what to record next. */
#include "compare/plan_capture.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

enum { MOST_STEPS_IN_BETWEEN = 64 };

/* ---- what the runs have --------------------------------------------------------------------------- */

static const struct plumb_run_rank *find_rank(const struct plumb_run *run, int rank)
{
    for (size_t i = 0; i < plumb_run_rank_count(run); i++)
        if (plumb_run_rank(run, i)->rank == rank)
            return plumb_run_rank(run, i);
    return NULL;
}

/* Is either of the two recorded at this level on that rank? */
static bool either_at(const struct plumb_run_diff *diff, int rank, enum plumb_level level)
{
    const struct plumb_run_rank *a = find_rank(diff->a, rank), *b = find_rank(diff->b, rank);
    const char *name = plumb_level_name(level);
    return (a && strcmp(a->level, name) == 0) || (b && strcmp(b->level, name) == 0);
}

/* ---- answers --------------------------------------------------------------------------------------- */

static bool is_clear(struct plumb_plan *plan, const char *answer, const char *why)
{
    plan->clear = true;
    plan->answer = answer;
    plan->why = why;
    return answer != NULL;
}

static bool say_steps(struct plumb_plan *plan, int64_t first, int64_t last)
{
    plan->last_step = last;
    plan->steps = first < last ? plumb_arena_printf(&plan->arena, "%lld-%lld", (long long)first,
                                                    (long long)last)
                               : plumb_arena_printf(&plan->arena, "%lld", (long long)last);
    return plan->steps != NULL;
}

static bool say_rank(struct plumb_plan *plan, const struct plumb_run_root *root)
{
    if (plumb_run_rank_count(plan->diff->a) < 2 || root->stage == PLUMB_STAGE_REDUCE)
        return true;
    plan->ranks = plumb_arena_printf(&plan->arena, "%d", root->rank);
    return plan->ranks != NULL;
}

/* "blocks.0.feed" of "blocks.0.feed.gelu#1"; "" of "loss". */
static const char *module_of(struct plumb_plan *plan, const char *label)
{
    const char *dot = strrchr(label, '.');
    return dot ? plumb_arena_text(&plan->arena, label, (size_t)(dot - label)) : "";
}

static const char *without_call(struct plumb_plan *plan, const char *label)
{
    return plumb_arena_text(&plan->arena, label, strcspn(label, "#"));
}

/* The loss of a step is made of what the step before left: both are wanted. */
static bool plan_from_watching(struct plumb_plan *plan, const struct plumb_run_root *root)
{
    plan->level = "module";
    plan->save = "stats";
    plan->answer =
        plumb_arena_printf(&plan->arena, "record the modules of both runs around step %lld",
                           (long long)root->step);
    plan->why = plumb_arena_printf(
        &plan->arena, "no ops are recorded so far: `%s` first differs at step %lld", root->op,
        (long long)root->step);
    return plan->answer && plan->why &&
           say_steps(plan, root->step > 0 ? root->step - 1 : 0, root->step);
}

static bool plan_from_module(struct plumb_plan *plan, const struct plumb_run_root *root)
{
    const char *module = module_of(plan, root->op);
    const bool update = root->stage == PLUMB_STAGE_UPDATE;
    if (!module)
        return false;
    plan->level = "op";
    plan->save = "stats";
    if (*module && !update)
        plan->ops = plumb_arena_printf(&plan->arena, "%s*", module);
    plan->answer =
        plumb_arena_printf(&plan->arena, "record the ops %s%s at step %lld of both runs",
                           update    ? "of the update"
                           : *module ? "inside of "
                                     : "of the model",
                           update ? "" : module, (long long)root->step);
    plan->why = plumb_arena_printf(
        &plan->arena,
        "the first module that differs is %s, %s: which of its ops it is, is not "
        "recorded",
        root->op, plumb_stage_name(root->stage));
    return plan->answer && plan->why && (!*module || update || plan->ops) &&
           say_rank(plan, root) && say_steps(plan, root->step, root->step);
}

static bool plan_from_op(struct plumb_plan *plan, const struct plumb_run_root *root)
{
    const char *module = module_of(plan, root->op);
    if (!module)
        return false;
    plan->level = "op";
    plan->save = "tensors";
    /* A parameter's gradient is recorded with its module; the ops that make it have other names. */
    plan->ops = plumb_text_starts(root->slot, "grad") && *module
                    ? plumb_arena_printf(&plan->arena, "%s*", module)
                    : without_call(plan, root->op);
    plan->answer = plumb_arena_printf(
        &plan->arena, "record the values of %s and of what it takes at step %lld of both runs",
        root->op, (long long)root->step);
    plan->why = plumb_arena_printf(
        &plan->arena, "it is the first op that differs (%s, %s), seen in its %s only",
        plumb_stage_name(root->stage), root->slot,
        root->basis == PLUMB_BASIS_BITS ? "fingerprint" : "statistics");
    return plan->ops && plan->answer && plan->why && say_rank(plan, root) &&
           say_steps(plan, root->step, root->step);
}

/* Weights differ, and the update that made them so was at a step that is not recorded. */
static bool plan_in_between(struct plumb_plan *plan, int64_t before, int64_t step)
{
    const int64_t stride = (step - before) / MOST_STEPS_IN_BETWEEN + 1;
    plan->level = "module";
    plan->save = "fingerprint";
    plan->last_step = step;
    plan->steps =
        stride > 1
            ? plumb_arena_printf(&plan->arena, "%lld-%lld:%lld", (long long)before,
                                 (long long)step, (long long)stride)
            : plumb_arena_printf(&plan->arena, "%lld-%lld", (long long)before, (long long)step);
    plan->answer =
        plumb_arena_printf(&plan->arena, "record fingerprints of the modules of steps %s",
                           plan->steps ? plan->steps : "");
    plan->why =
        plumb_arena_printf(&plan->arena,
                           "the runs agree at step %lld and their weights differ at step "
                           "%lld; nothing in between is recorded",
                           (long long)before, (long long)step);
    return plan->steps && plan->answer && plan->why;
}

static bool plan_nothing_known(struct plumb_plan *plan)
{
    plan->level = "watch";
    plan->save = "stats";
    plan->steps = "0-";
    plan->answer = "record both runs with plumb run";
    plan->why = "they have no series and no tensor records in common";
    return true;
}

/* ---- the order of the questions --------------------------------------------------------------------- */

static bool decide_clear(struct plumb_plan *plan, const struct plumb_run_root *root)
{
    const char *summary = plan->diff->summary;
    if (plan->diff->setting)
        return is_clear(plan, summary, "set it alike in both, then compare again");
    if (root->basis == PLUMB_BASIS_SERIES)
        return is_clear(plan, summary,
                        "the schedules of the learning rate differ: make them "
                        "alike first");
    switch (root->stage) {
    case PLUMB_STAGE_DATA:
        return is_clear(plan, summary, "the batches differ: feed both the same first");
    case PLUMB_STAGE_WEIGHTS:
        return is_clear(plan, summary, "start both from the same weights first");
    case PLUMB_STAGE_CONFIG:
    case PLUMB_STAGE_FORWARD:
    case PLUMB_STAGE_BACKWARD:
    case PLUMB_STAGE_REDUCE:
    case PLUMB_STAGE_UPDATE:
    case PLUMB_STAGE_COUNT:
        break;
    }
    return is_clear(plan, summary, root->reason);
}

static bool needs_nothing(const struct plumb_plan *plan, const struct plumb_run_root *root)
{
    const bool rates = root->basis == PLUMB_BASIS_SERIES && plumb_text_starts(root->op, "lr");
    return plan->diff->setting || rates || root->basis == PLUMB_BASIS_STRUCTURE ||
           root->basis == PLUMB_BASIS_VALUES || root->stage == PLUMB_STAGE_DATA ||
           (root->stage == PLUMB_STAGE_WEIGHTS && root->step == plan->diff->first_step);
}

/* Equal to the last bit for some steps, then not: something happened there, however small. */
static bool parts_later(const struct plumb_run_root *root)
{
    return root->basis == PLUMB_BASIS_SERIES && root->step > 0;
}

static enum plumb_status decide(struct plumb_plan *plan, struct plumb_error *err)
{
    const struct plumb_run_diff *diff = plan->diff;
    const struct plumb_run_root *root = diff->root_count ? &diff->roots[0] : NULL;
    int64_t before = INT64_MIN;
    bool said = false;
    if (!diff->blame.rows && !diff->series.count) {
        said = plan_nothing_known(plan);
    } else if (!root || (diff->verdict <= PLUMB_ROUNDING && !parts_later(root))) {
        said = is_clear(plan, diff->summary, diff->sure);
    } else if (needs_nothing(plan, root)) {
        said = decide_clear(plan, root);
    } else if (root->basis == PLUMB_BASIS_SERIES) {
        said = plan_from_watching(plan, root);
    } else {
        const enum plumb_status status =
            plumb_plan_step_before(plan, root->rank, root->step, &before, err);
        if (status)
            return status;
        const bool gap = before != INT64_MIN && before + 1 < root->step;
        if (gap && (root->stage == PLUMB_STAGE_WEIGHTS || root->stage == PLUMB_STAGE_UPDATE) &&
            root->before == 0 && plumb_text_starts(root->slot, "param"))
            said = plan_in_between(plan, before, root->step);
        else if (either_at(diff, root->rank, PLUMB_LEVEL_WATCH))
            said = plan_from_watching(plan, root);
        else if (either_at(diff, root->rank, PLUMB_LEVEL_MODULE))
            said = plan_from_module(plan, root);
        else
            said = plan_from_op(plan, root);
    }
    if (!said)
        return plumb_fail_memory(err);
    return plan->clear || !root ? PLUMB_OK : plumb_plan_estimate(plan, root->step, err);
}

enum plumb_status plumb_plan_new(struct plumb_run *a, struct plumb_run *b,
                                 const struct plumb_progress *progress, struct plumb_plan **out,
                                 struct plumb_error *err)
{
    const struct plumb_run_diff_options options = {.progress = progress};
    struct plumb_plan *plan = plumb_alloc_array(1, sizeof *plan);
    if (!plan)
        return plumb_fail_memory(err);
    enum plumb_status status = plumb_run_diff_new(a, b, &options, &plan->diff, err);
    if (!status)
        status = decide(plan, err);
    if (!status && !plan->clear && !plumb_plan_commands(plan))
        status = plumb_fail_memory(err);
    if (status)
        plumb_plan_free(plan);
    else
        *out = plan;
    return status;
}

void plumb_plan_free(struct plumb_plan *plan)
{
    if (!plan)
        return;
    plumb_run_diff_free(plan->diff);
    plumb_arena_release(&plan->arena);
    plumb_free(plan);
}

enum plumb_verdict plumb_plan_verdict(const struct plumb_plan *plan)
{
    return plumb_run_diff_verdict(plan->diff);
}

bool plumb_plan_is_clear(const struct plumb_plan *plan)
{
    return plan->clear;
}
