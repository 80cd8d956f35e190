/* run_finding.c - the answer in words: summary, how sure, what to do next; and as findings. */
#include "compare/run_diff.h"

#include "base/error.h"

#include <string.h>

enum { MOST_SETTINGS = 20 };

/* What usually is behind a first difference in a stage, and what to do about it. */
static const struct {
    const char *cause, *fix;
} habits[PLUMB_STAGE_COUNT] = {
    [PLUMB_STAGE_CONFIG] = {"the runs are set differently",
                            "set B as A, or expect the difference"},
    [PLUMB_STAGE_DATA] =
        {"another order, another normalisation, another shard or seed of the data",
         "feed both the same batches before comparing anything else"},
    [PLUMB_STAGE_WEIGHTS] = {"another initialisation, another checkpoint, or weights that were "
                             "not loaded",
                             "start both from the same checkpoint"},
    [PLUMB_STAGE_FORWARD] =
        {"the op computes something else: another formula, constant, mode or "
         "precision, or a faulty device",
         "run this one op on both sides with the same saved inputs"},
    [PLUMB_STAGE_BACKWARD] =
        {"the derivative, the loss scale, or gradients that were kept from "
         "the step before",
         "run the backward of this one op with the same saved inputs"},
    [PLUMB_STAGE_REDUCE] =
        {"gradients are not reduced, are summed instead of averaged, or are "
         "overwritten on their way",
         "compare what goes into the reduction on every rank with what comes "
         "out"},
    [PLUMB_STAGE_UPDATE] = {"learning rate, clipping, unscaling, optimizer state or parameter "
                            "groups",
                            "compare learning rate, clipping and optimizer groups of both"},
};

/* What could not be compared: "; not compared: 1 rank, steps" */
static const char *say_missing(struct plumb_run_diff *diff)
{
    const struct plumb_overlap *overlap = &diff->overlap;
    const bool ranks = overlap->only_a + overlap->only_b > 0;
    const bool steps = !overlap->shift && (overlap->a.first != overlap->b.first ||
                                           overlap->a.last != overlap->b.last ||
                                           overlap->steps_only_a + overlap->steps_only_b);
    const bool ops = diff->only_a_total + diff->only_b_total > 0;
    if (!ranks && !steps && !ops && !diff->blame.unknown)
        return "";
    return plumb_arena_printf(&diff->arena, "; not compared:%s%s%s%s%s%s%s",
                              ranks ? " ranks" : "", ranks && (steps || ops) ? "," : "",
                              steps ? " steps" : "", steps && ops ? "," : "", ops ? " ops" : "",
                              ranks || steps || ops ? " on one side only" : "",
                              diff->blame.unknown ? " records without numbers" : "");
}

/* "A", "B" or "A and B" */
static const char *sides_not_whole(const struct plumb_unread_list *unread)
{
    bool a = false, b = false;
    for (size_t i = 0; i < unread->count; i++) {
        a |= unread->items[i].in_a;
        b |= !unread->items[i].in_a;
    }
    return a && b ? "A and B are" : a ? "A is" : "B is";
}

/* Some is alike; the rest is not known. */
static bool say_incomplete(struct plumb_run_diff *diff)
{
    diff->summary = plumb_arena_printf(
        &diff->arena,
        "%s not there whole; %s in the part that could be compared: %llu tensor records of "
        "%llu steps, %zu series%s",
        sides_not_whole(&diff->unread),
        diff->verdict == PLUMB_IDENTICAL ? "no difference" : "nothing but rounding",
        (unsigned long long)diff->blame.rows, (unsigned long long)diff->steps,
        diff->series.count, say_missing(diff));
    return diff->summary != NULL;
}

static bool say_alike(struct plumb_run_diff *diff)
{
    if (diff->unread.total)
        return say_incomplete(diff);
    const char *what = diff->verdict != PLUMB_IDENTICAL
                           ? "the runs differ as rounding makes them"
                       : diff->blame.by_statistics
                           ? "equal statistics in what both recorded, values not compared"
                           : "no difference in what both recorded";
    const size_t ranks = diff->overlap.ranks;
    const char *missing = say_missing(diff);
    diff->summary =
        missing ? plumb_arena_printf(&diff->arena,
                                     "%s: %llu tensor records of steps %lld to %lld on %zu "
                                     "rank%s, %zu series%s",
                                     what, (unsigned long long)diff->blame.rows,
                                     (long long)diff->first_step, (long long)diff->last_step,
                                     ranks, ranks == 1 ? "" : "s", diff->series.count, missing)
                : NULL;
    return diff->summary != NULL;
}

static const char *place_words(enum plumb_stage stage)
{
    static const char *const words[PLUMB_STAGE_COUNT] = {
        "a setting:",      "the data:",      "the weights of", "the forward of",
        "the backward of", "the reduction:", "the update:"};
    return words[stage];
}

static bool say_first(struct plumb_run_diff *diff)
{
    const struct plumb_run_root *first = &diff->roots[0];
    diff->summary =
        diff->setting
            ? plumb_arena_printf(&diff->arena,
                                 "B leaves A at step %lld on rank %d because of a setting: %s",
                                 (long long)first->step, first->rank, diff->setting_words)
            : plumb_arena_printf(&diff->arena, "B leaves A at step %lld on rank %d in %s %s",
                                 (long long)first->step, first->rank,
                                 first->basis == PLUMB_BASIS_SERIES ? "the series"
                                                                    : place_words(first->stage),
                                 first->op);
    return diff->summary != NULL;
}

/* How sure it is, and why. */
static bool say_sure(struct plumb_run_diff *diff)
{
    const struct plumb_run_root *first = diff->root_count ? &diff->roots[0] : NULL;
    const struct plumb_blame *blame = &diff->blame;
    if (!first) {
        diff->confidence = !blame->rows ? 0.5 : blame->by_statistics ? 0.8 : 0.99;
        diff->sure = !blame->rows ? "only series could be compared"
                     : blame->by_statistics
                         ? "as far as statistics tell: a difference that leaves norm, mean and "
                           "extremes as they are is not excluded"
                         : "every record has the same fingerprint or the same values";
    } else if (diff->setting) {
        diff->confidence = 0.85;
        diff->sure = "the setting acts where the first difference shows";
    } else if (first->basis == PLUMB_BASIS_SERIES) {
        diff->confidence = 0.6;
        diff->sure = "from series alone: record the ops of this step to see which it is";
    } else if (diff->exact && first->verdict != PLUMB_ROUNDING) {
        diff->confidence = blame->by_statistics ? 0.9 : 0.98;
        diff->sure = blame->by_statistics
                         ? "everything before it has the same statistics; values were not "
                           "compared"
                         : "everything before it is the same to the last bit";
    } else if (first->verdict == PLUMB_ROUNDING) {
        diff->confidence = first->basis == PLUMB_BASIS_VALUES ? 0.95 : 0.8;
        diff->sure = first->basis == PLUMB_BASIS_VALUES
                         ? "from the saved values"
                         : "from statistics, which give lower bounds: a difference that leaves "
                           "norm, mean and extremes as they are is not excluded";
    } else {
        diff->confidence = first->basis == PLUMB_BASIS_VALUES ? 0.9 : 0.75;
        diff->sure = "what comes before it differs no more than rounding explains";
    }
    return true;
}

/* The share of the larger side's records that were compared. */
static double compared_share(const struct plumb_run_diff *diff)
{
    uint64_t records[2] = {0, 0};
    const struct plumb_run *const runs[2] = {diff->a, diff->b};
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < plumb_run_rank_count(runs[side]); i++)
            records[side] += plumb_run_rank(runs[side], i)->records;
    const uint64_t most = records[0] > records[1] ? records[0] : records[1];
    return most > diff->blame.rows ? (double)diff->blame.rows / (double)most : 1;
}

/* What could not be read takes from what is said: all of it where nothing was found, and where the
 * first difference might be in there. */
static bool doubt(struct plumb_run_diff *diff)
{
    static const double at_most = 0.5;
    const struct plumb_run_root *first = diff->root_count ? &diff->roots[0] : NULL;
    if (!diff->unread.total)
        return true;
    if (diff->verdict <= PLUMB_ROUNDING) {
        diff->confidence *= at_most * compared_share(diff);
        diff->sure = "nothing is known of what could not be read: a difference may be there";
    } else if (first && plumb_unread_before(&diff->unread, first->step)) {
        diff->confidence *= at_most;
        diff->sure = plumb_arena_printf(
            &diff->arena,
            "%s; but records before it could not be read, and it may have begun "
            "there",
            diff->sure);
    }
    return diff->sure != NULL;
}

static const char *next_if_alike(struct plumb_run_diff *diff)
{
    if (diff->unread.total)
        return plumb_arena_printf(
            &diff->arena,
            "copy or record the incomplete run again (`plumb show %s` tells what is there), "
            "then compare again",
            plumb_run_path(diff->unread.items[0].in_a ? diff->a : diff->b));
    return *say_missing(diff) ? "nothing to do for what both recorded; for the rest, record it "
                                "on both sides"
                              : "nothing to do";
}

static bool say_next(struct plumb_run_diff *diff)
{
    const struct plumb_run_root *first = diff->root_count ? &diff->roots[0] : NULL;
    if (!first || diff->verdict <= PLUMB_ROUNDING)
        diff->next = next_if_alike(diff);
    else if (diff->setting)
        diff->next = "set B as A and run it again: if a difference stays, it has another cause";
    else if (first->basis == PLUMB_BASIS_SERIES)
        diff->next = plumb_arena_printf(
            &diff->arena, "plumb plan-capture %s %s: how to record the ops of step %lld",
            plumb_run_path(diff->a), plumb_run_path(diff->b), (long long)first->step);
    else
        diff->next = plumb_arena_printf(
            &diff->arena, "plumb show %s --step %lld --op '%s', then the same of %s",
            plumb_run_path(diff->a), (long long)first->step, first->op,
            plumb_run_path(diff->b));
    return diff->next != NULL;
}

static bool add_findings(struct plumb_run_diff *diff)
{
    diff->findings =
        plumb_arena_alloc(&diff->arena, diff->config.numeric + 2, sizeof *diff->findings);
    if (!diff->findings)
        return false;
    if (diff->root_count && diff->verdict > PLUMB_ROUNDING) {
        const struct plumb_run_root *first = &diff->roots[0];
        diff->findings[diff->finding_count++] = (struct plumb_finding){
            .id = "first-divergence",
            .title = diff->summary,
            .severity = diff->verdict == PLUMB_DIFFERENT ? PLUMB_SEVERITY_ERROR
                                                         : PLUMB_SEVERITY_WARNING,
            .confidence = diff->confidence,
            .element = -1,
            .has_place = true,
            .rank = first->rank,
            .step = first->step,
            .op = first->op,
            .evidence = {{"what", first->reason, NULL}},
            .evidence_count = 1,
            .cause = habits[first->stage].cause,
            .fix = habits[first->stage].fix,
            .next_test = diff->next,
        };
    }
    for (size_t i = 0; i < diff->config.numeric && i < MOST_SETTINGS; i++) {
        const struct plumb_setting_diff *setting = &diff->config.settings[i];
        diff->findings[diff->finding_count++] = (struct plumb_finding){
            .id = "setting-differs",
            .title = plumb_arena_printf(&diff->arena, "%s is %s in A and %s in B on rank %d",
                                        setting->name, setting->a, setting->b, setting->rank),
            .severity = PLUMB_SEVERITY_WARNING,
            .confidence = 1,
            .element = -1,
            .evidence = {{setting->key_b, setting->b, setting->a}},
            .evidence_count = 1,
            .cause = habits[PLUMB_STAGE_CONFIG].cause,
            .fix = habits[PLUMB_STAGE_CONFIG].fix,
            .next_test = "run B with A's setting",
        };
        if (!diff->findings[diff->finding_count - 1].title)
            return false;
    }
    return true;
}

enum plumb_status plumb_run_diff_advise(struct plumb_run_diff *diff, struct plumb_error *err)
{
    const bool alike = diff->verdict <= PLUMB_ROUNDING;
    const bool said = (alike ? say_alike(diff) : say_first(diff)) && say_sure(diff) &&
                      doubt(diff) && say_next(diff) && add_findings(diff);
    return said ? PLUMB_OK : plumb_fail_memory(err);
}
