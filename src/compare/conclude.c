/* conclude.c - from judged pairs to one verdict, one sentence and the findings behind it. */
#include "compare/diff.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/naming.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_FINDINGS = 100, MOST_TIES = 1000, SUMMARY_NAMES = 3 };

bool plumb_diff_matters(const struct plumb_tensor *tensor)
{
    return tensor->parameter && !plumb_naming_is_optimizer(tensor->name);
}

static size_t count_mattering(const struct plumb_tensor *const *tensors, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += plumb_diff_matters(tensors[i]);
    return n;
}

static void count_verdicts(const struct plumb_diff *diff, size_t counts[PLUMB_VERDICT_COUNT])
{
    for (size_t i = 0; i < diff->pair_count; i++)
        counts[diff->pairs[i].judgement.verdict]++;
}

/* "w1 (bit-flip), w2 (slice) and 3 more" */
static void name_worst(const struct plumb_diff *diff, size_t count, char *text, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < count && i < SUMMARY_NAMES && at < size; i++) {
        const struct plumb_pair *pair = &diff->pairs[i];
        const enum plumb_pattern pattern = pair->judgement.pattern;
        at += (size_t)snprintf(text + at, size - at, "%s%.120s", i ? ", " : "", pair->b->name);
        if (at < size && (pair->shape_differs || pattern))
            at += (size_t)snprintf(text + at, size - at, " (%s)",
                                   pair->shape_differs ? "shape" : plumb_pattern_name(pattern));
    }
    if (count > SUMMARY_NAMES && at < size)
        (void)snprintf(text + at, size - at, " and %zu more", count - SUMMARY_NAMES);
}

static char *summarize(struct plumb_diff *diff, size_t missing)
{
    size_t counts[PLUMB_VERDICT_COUNT] = {0};
    char worst[600] = "", rest[200] = "";
    size_t at = 0;
    count_verdicts(diff, counts);
    const size_t bad =
        counts[PLUMB_DIFFERENT] ? counts[PLUMB_DIFFERENT] : counts[PLUMB_APPROXIMATION];
    name_worst(diff, bad, worst, sizeof worst);
    for (int v = PLUMB_APPROXIMATION; v >= PLUMB_IDENTICAL; v--)
        if (counts[v] && !(v == PLUMB_APPROXIMATION && !counts[PLUMB_DIFFERENT]))
            at += (size_t)snprintf(rest + at, sizeof rest - at, "; %zu %s", counts[v],
                                   plumb_verdict_name((enum plumb_verdict)v));
    if (missing)
        (void)snprintf(rest + at, sizeof rest - at, "; %zu on one side only", missing);
    if (!diff->pair_count)
        return plumb_arena_printf(&diff->arena,
                                  "nothing to compare: no tensor of A has a "
                                  "partner in B%s",
                                  rest);
    if (!bad)
        return plumb_arena_printf(&diff->arena, "%zu tensor%s compared%s", diff->pair_count,
                                  diff->pair_count == 1 ? "" : "s", rest);
    return plumb_arena_printf(
        &diff->arena, "%zu of %zu tensors %s: %s%s", bad, diff->pair_count,
        counts[PLUMB_DIFFERENT]
            ? (bad == 1 ? "differs" : "differ")
            : (bad == 1 ? "is only approximately equal" : "are only approximately equal"),
        worst, rest);
}

/* ---- ties ------------------------------------------------------------------------------ */

struct side {
    const struct plumb_tensor *here, *there;
};

static int by_data(const void *left, const void *right)
{
    const struct side *x = left, *y = right;
    const uintptr_t sx = (uintptr_t)x->here->storage, sy = (uintptr_t)y->here->storage;
    if (sx != sy)
        return sx < sy ? -1 : 1;
    return x->here->offset < y->here->offset ? -1 : x->here->offset > y->here->offset;
}

/* Names that share data on this side while their partners do not. */
static void find_ties(struct plumb_diff *diff, bool in_a, struct side *sides)
{
    for (size_t i = 0; i < diff->pair_count; i++)
        sides[i] = in_a ? (struct side){diff->pairs[i].a, diff->pairs[i].b}
                        : (struct side){diff->pairs[i].b, diff->pairs[i].a};
    qsort(sides, diff->pair_count, sizeof *sides, by_data);
    for (size_t i = 1; i < diff->pair_count; i++) {
        if (!plumb_tensor_same_storage(sides[i - 1].here, sides[i].here) ||
            plumb_tensor_same_storage(sides[i - 1].there, sides[i].there))
            continue;
        if (diff->tie_count < MOST_TIES)
            diff->ties[diff->tie_count++] = (struct plumb_tie_difference){
                sides[i - 1].here->name, sides[i].here->name, in_a};
    }
}

static enum plumb_status find_all_ties(struct plumb_diff *diff, struct plumb_error *err)
{
    diff->ties = plumb_arena_alloc(&diff->arena, MOST_TIES, sizeof *diff->ties);
    struct side *sides = plumb_alloc_array(diff->pair_count, sizeof *sides);
    if (sides && diff->ties) {
        find_ties(diff, true, sides);
        find_ties(diff, false, sides);
    }
    const bool failed = !sides || !diff->ties;
    plumb_free(sides);
    return failed ? plumb_fail_memory(err) : PLUMB_OK;
}

/* ---- findings -------------------------------------------------------------------------- */

struct advice {
    enum plumb_pattern pattern;
    const char *cause, *fix, *next_test;
};

static const struct advice advice[] = {
    {PLUMB_PATTERN_BIT_FLIP, "a single bit changed in memory, on disk or on the way",
     "copy or save the file again; if it comes back, test the machine's memory",
     "compare the checksums of both copies of the file"},
    {PLUMB_PATTERN_FEW_ELEMENTS, "a few elements were written by something else",
     "look for code that writes single elements: clamping, masks, index assignment",
     "plumb show FILE NAME on both files around the element named"},
    {PLUMB_PATTERN_BLOCKS, "whole aligned blocks are stale or overwritten",
     "look for a partial copy, a missed synchronisation or a kernel that skips its last blocks",
     "save the tensor twice on the same machine and compare the two"},
    {PLUMB_PATTERN_SLICE, "one row, column or channel differs and the rest does not",
     "look at what produces that index: sharding, padding, a special token, a frozen part",
     "compare the same slice one step earlier"},
    {PLUMB_PATTERN_SCALED, "B is A times a constant",
     "look for a factor on one side only: loss scale, gradient average, 1/sqrt(d), world size",
     "divide B by the factor and compare again"},
    {PLUMB_PATTERN_SHIFTED, "B is A moved by an offset",
     "look for an off-by-one in indexing or a constant added on one side",
     "compare with the shift taken out"},
    {PLUMB_PATTERN_TRANSPOSED, "the two frameworks store this matrix the other way round",
     "transpose it when converting", "plumb diff after transposing"},
    {PLUMB_PATTERN_PERMUTED, "the same rows in another order",
     "bring the rows into the same order: heads, experts, vocabulary, fused q/k/v",
     "sort both sides and compare"},
    {PLUMB_PATTERN_NONFINITE, "NaN or infinity on one side only",
     "find where it first appears; check loss scale, eps and masks",
     "plumb show FILE NAME shows how many there are"},
    {PLUMB_PATTERN_LOW_ACCUMULATION, "sums were kept in a type with too few bits",
     "accumulate in fp32 (allow_*_reduced_precision off, or another matmul precision)",
     "run the op once with fp32 accumulation and compare"},
    {PLUMB_PATTERN_NONE, "another formula for the same function, or a less exact kernel",
     "use the same variant on both sides: GELU exact or tanh, the same epsilon, no fast math",
     "compare what goes into the op: if that agrees, the op is the difference"},
    {PLUMB_PATTERN_EVERYWHERE, "other training state, data, seed or formula",
     "compare configuration, data order and the step at which the files were saved",
     "compare the two at the first step they were saved"},
};

static const struct advice *advice_for(enum plumb_pattern pattern)
{
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
        if (advice[i].pattern == pattern)
            return &advice[i];
    return &advice[sizeof advice / sizeof *advice - 1];
}

static struct plumb_finding *next_finding(struct plumb_diff *diff)
{
    return diff->finding_count < MOST_FINDINGS ? &diff->findings[diff->finding_count] : NULL;
}

static void find_difference(struct plumb_diff *diff, const struct plumb_pair *pair)
{
    struct plumb_finding *finding = next_finding(diff);
    if (!finding || pair->judgement.verdict < PLUMB_APPROXIMATION)
        return;
    const struct advice *words = advice_for(pair->judgement.pattern);
    const bool different = pair->judgement.verdict == PLUMB_DIFFERENT;
    *finding = (struct plumb_finding){
        .id = pair->shape_differs ? "shape-differs"
              : different         ? "tensor-differs"
                                  : "tensor-approximate",
        .severity = different ? PLUMB_SEVERITY_ERROR : PLUMB_SEVERITY_WARNING,
        .confidence = pair->matched_by == PLUMB_MATCH_GUESS ? 0.5 : 0.95,
        .tensor = pair->b->name,
        .element = pair->shape_differs ? -1 : pair->comparison.worst_index,
        .cause =
            pair->shape_differs ? "the two files are not of the same network" : words->cause,
        .fix =
            pair->shape_differs ? "compare the configuration of the two networks" : words->fix,
        .next_test = pair->shape_differs ? "plumb show on both files" : words->next_test,
        .title =
            plumb_arena_printf(&diff->arena, "%s: %s", pair->b->name, pair->judgement.reason),
    };
    if (!pair->shape_differs)
        finding->evidence[finding->evidence_count++] = (struct plumb_evidence){
            .what = "largest absolute difference",
            .observed = plumb_arena_printf(&diff->arena, "%.6g", pair->comparison.max_abs)};
    diff->finding_count++;
}

static void find_missing(struct plumb_diff *diff, const struct plumb_tensor *tensor, bool in_a)
{
    struct plumb_finding *finding = next_finding(diff);
    if (!finding || !plumb_diff_matters(tensor))
        return;
    *finding = (struct plumb_finding){
        .id = "tensor-missing",
        .severity = PLUMB_SEVERITY_ERROR,
        .confidence = 0.9,
        .tensor = tensor->name,
        .element = -1,
        .title = plumb_arena_printf(&diff->arena, "%s is only in %s", tensor->name,
                                    in_a ? "A" : "B"),
        .cause = "the networks differ, or the tensor has another name on the other side",
        .fix = "if it was renamed, say so with --map FILE",
        .next_test = "plumb show on both files",
    };
    diff->finding_count++;
}

static void find_tie(struct plumb_diff *diff, const struct plumb_tie_difference *tie)
{
    struct plumb_finding *finding = next_finding(diff);
    if (!finding)
        return;
    *finding = (struct plumb_finding){
        .id = "tied-on-one-side",
        .severity = PLUMB_SEVERITY_NOTE,
        .confidence = 0.6,
        .tensor = tie->first,
        .element = -1,
        .title = plumb_arena_printf(&diff->arena,
                                    "%s and %s are one tensor in %s and two in %s", tie->first,
                                    tie->second, tie->in_a ? "A" : "B", tie->in_a ? "B" : "A"),
        .cause = "the weights are tied on one side only, or the other format cannot show ties",
        .fix = "check that training keeps them equal: tie them in both networks",
        .next_test = "compare the two tensors with each other after a step",
    };
    diff->finding_count++;
}

static enum plumb_status list_findings(struct plumb_diff *diff, struct plumb_error *err)
{
    diff->findings = plumb_arena_alloc(&diff->arena, MOST_FINDINGS, sizeof *diff->findings);
    if (!diff->findings)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < diff->pair_count; i++)
        find_difference(diff, &diff->pairs[i]);
    for (size_t i = 0; i < diff->only_a_count; i++)
        find_missing(diff, diff->only_a[i], true);
    for (size_t i = 0; i < diff->only_b_count; i++)
        find_missing(diff, diff->only_b[i], false);
    for (size_t i = 0; i < diff->tie_count; i++)
        find_tie(diff, &diff->ties[i]);
    for (size_t i = 0; i < diff->finding_count; i++)
        if (!diff->findings[i].title)
            return plumb_fail_memory(err);
    return PLUMB_OK;
}

enum plumb_status plumb_diff_conclude(struct plumb_diff *diff, struct plumb_error *err)
{
    const size_t missing = count_mattering(diff->only_a, diff->only_a_count) +
                           count_mattering(diff->only_b, diff->only_b_count);
    diff->verdict = missing || !diff->pair_count ? PLUMB_DIFFERENT : PLUMB_IDENTICAL;
    if (!missing && !diff->pair_count && !diff->only_a_count && !diff->only_b_count)
        diff->verdict = PLUMB_IDENTICAL; /* two files without tensors */
    for (size_t i = 0; i < diff->pair_count; i++)
        if (diff->pairs[i].judgement.verdict > diff->verdict)
            diff->verdict = diff->pairs[i].judgement.verdict;
    enum plumb_status status = find_all_ties(diff, err);
    if (status == PLUMB_OK)
        status = list_findings(diff, err);
    if (status)
        return status;
    diff->summary = summarize(diff, missing);
    return diff->summary ? PLUMB_OK : plumb_fail_memory(err);
}
