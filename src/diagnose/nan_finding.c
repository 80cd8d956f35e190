/* nan_finding.c - the origin of a NaN as a finding: cause, fix and the cheapest next test. */
#include "diagnose/nan_origin.h"

#include "base/text.h"
#include "model/dtype.h"

#include <string.h>

/* What usually makes an op leave the finite numbers, by a part of its name. */
static const struct {
    const char *pattern, *cause, *fix;
} habits[] = {
    {"*softmax*", "a row that is masked or infinite throughout",
     "check the mask: each row needs a value that is not masked"},
    {"*log*", "the logarithm of zero or of a negative number",
     "add a small constant inside the logarithm, or use log_softmax"},
    {"*div*", "a division by zero", "add a small constant to the denominator"},
    {"*sqrt*", "the square root of a negative number, or its derivative at zero",
     "add a small constant under the root"},
    {"*norm*", "a variance of zero in the denominator", "raise the layer's epsilon"},
    {"*exp*", "an exponential of a large number",
     "subtract the maximum before the exponential"},
    {"*attention*", "scores that are too large, or a row that is masked throughout",
     "check the scaling of the scores and the mask"},
    {"*entropy*", "the logarithm of a probability that became zero",
     "compute the loss from logits, not from probabilities"},
    {"*likelihood*", "the logarithm of a probability that became zero",
     "compute the loss from logits, not from probabilities"},
};

static const char *by_habit(const char *label, bool fix)
{
    const char *dot = strrchr(label, '.'), *op = dot ? dot + 1 : label;
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        if (plumb_text_matches(habits[i].pattern, op))
            return fix ? habits[i].fix : habits[i].cause;
    return NULL;
}

const char *plumb_nan_word(const char *kind)
{
    return strcmp(kind, "nan") == 0         ? "NaN"
           : strcmp(kind, "saturated") == 0 ? "saturation"
                                            : "infinity";
}

static bool is_narrow(enum plumb_dtype dtype)
{
    return plumb_dtype_is_float(dtype) && dtype != PLUMB_F64 && dtype != PLUMB_F32;
}

/* Products of such inputs, a million of them summed, are far below what the type holds. */
static bool cannot_overflow(const struct plumb_nan *nan)
{
    const double x = nan->largest_input;
    return x > 0 && x < plumb_dtype_max(nan->origin.dtype) / 0x1p24 / (x > 1 ? x : 1);
}

static void explain_op(struct plumb_nan *nan)
{
    struct plumb_finding *finding = &nan->finding;
    const struct plumb_nan_place *origin = &nan->origin;
    const bool nan_kind = strcmp(origin->kind, "nan") == 0;
    const char *cause = by_habit(origin->op, false), *fix = by_habit(origin->op, true);
    if (nan->came_in) {
        cause = "the value was there before the first op that was recorded: in the data, in "
                "a parameter, or from an op that is not recorded";
        fix = "check the data of this step and the parameters it started from";
    } else if (!nan_kind && is_narrow(origin->dtype)) {
        cause =
            plumb_arena_printf(&nan->arena, "the result is larger than %s can hold (%.6g)",
                               plumb_dtype_name(origin->dtype), plumb_dtype_max(origin->dtype));
        fix = origin->phase == PLUMB_PHASE_BACKWARD
                  ? "lower the loss scale, or let it adapt"
                  : "compute this op in f32 or bf16, or scale its input down";
    } else if (origin->phase == PLUMB_PHASE_OPTIMIZER) {
        cause = "the update left the finite numbers: a step that is too large, or a division "
                "by zero in the optimizer";
        fix = "lower the learning rate, clip the gradient, raise the optimizer's epsilon";
    } else if (!cause && cannot_overflow(nan)) {
        cause =
            "its inputs are finite and far too small to overflow: the op itself, a write by "
            "something else or the hardware made it";
        fix = "run this op alone on the same inputs, several times and on another device; look "
              "for "
              "memory that is not initialised and for races";
    }
    finding->cause = cause ? cause : "values grew until they left the range of their type";
    finding->fix = fix ? fix : "lower the learning rate, clip the gradient, check the inputs";
}

static void add_evidence(struct plumb_nan *nan)
{
    struct plumb_finding *finding = &nan->finding;
    if (nan->largest[0] && !nan->came_in && !nan->in_data)
        finding->evidence[finding->evidence_count++] = (struct plumb_evidence){
            "largest finite magnitude of its inputs", nan->largest, NULL};
    finding->evidence[finding->evidence_count++] =
        (struct plumb_evidence){"places not finite after it",
                                plumb_arena_printf(&nan->arena, "%zu", nan->chain_total), "0"};
}

bool plumb_nan_explain(struct plumb_nan *nan, const char *run_path)
{
    const struct plumb_nan_place *origin = &nan->origin;
    struct plumb_finding *finding = &nan->finding;
    struct plumb_arena *arena = &nan->arena;
    const bool series = strcmp(origin->slot, "series") == 0;
    *finding = (struct plumb_finding){
        .id = "nan-origin",
        .severity = strcmp(origin->kind, "saturated") == 0 && !nan->chain_total
                        ? PLUMB_SEVERITY_WARNING
                        : PLUMB_SEVERITY_ERROR,
        .confidence = series         ? 0.5
                      : nan->came_in ? 0.8
                                     : 0.95,
        .element = origin->element,
        .has_place = true,
        .rank = origin->rank,
        .step = origin->step,
        .op = origin->op,
        .tensor = series ? NULL
                         : plumb_arena_printf(arena, "%s/%s/%s", origin->op,
                                              plumb_phase_name(origin->phase), origin->slot),
    };
    finding->title = plumb_arena_printf(
        arena, "%s first %s %s at step %lld", plumb_nan_word(origin->kind),
        nan->came_in ? "comes into" : "appears in", origin->op, (long long)origin->step);
    if (series) {
        finding->cause = "not in what was recorded: no tensor record shows it";
        finding->fix = "record the ops of the steps before it: level op, save stats";
    } else {
        explain_op(nan);
        add_evidence(nan);
    }
    if (nan->in_data && !plumb_nan_explain_data(nan))
        return false;
    finding->next_test =
        plumb_arena_printf(arena, "plumb show %s --step %lld --op '%s'", run_path,
                           (long long)origin->step, series ? "*" : origin->op);
    return finding->title && finding->cause && finding->next_test &&
           (series || finding->tensor);
}
