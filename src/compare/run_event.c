/* run_event.c - what an event amounts to, and one sentence that says so with its numbers. */
#include "compare/run_data.h"

#include "compare/run_value_pair.h"
#include "model/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Above rounding and up to here, another formula or a narrower accumulator would explain it. */
static const double approximation_most = 1e-3;

static enum plumb_verdict verdict_of(const struct plumb_event *event)
{
    const struct plumb_row_error *error = &event->error;
    const bool jump = event->kind == PLUMB_EVENT_JUMP;
    if (error->shape_differs || error->reordered || error->basis == PLUMB_BASIS_STRUCTURE ||
        (jump &&
         !(event->error.allowed < approximation_most && error->error <= approximation_most)))
        return PLUMB_DIFFERENT; /* an event is reordered only if what went in is the same */
    if (isnan(error->error))
        return PLUMB_APPROXIMATION; /* the bits differ; by how much is not recorded */
    if (error->error <= error->allowed)
        return PLUMB_ROUNDING;
    /* A formula does not change from one step to the next. */
    const bool computed = !event->was_same && (event->stage == PLUMB_STAGE_FORWARD ||
                                               event->stage == PLUMB_STAGE_BACKWARD);
    return computed && (jump || event->kind == PLUMB_EVENT_OUTPUT) &&
                   error->error <= fmax(approximation_most, 4 * error->allowed)
               ? PLUMB_APPROXIMATION
               : PLUMB_DIFFERENT;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

/* ": B is 2 times A" if it is a whole multiple of it or a whole part of it. */
static void describe_factor(const struct plumb_event *event, char *text, size_t size)
{
    double s, t;
    text[0] = '\0';
    if (!plumb_row_is_affine(&event->a, &event->b, &s, &t) ||
        fabs(t) > 1e-4 * fabs(event->b.stats.max))
        return;
    const double whole = s < 1 ? 1 / s : s;
    if (whole > 1.5 && fabs(whole - round(whole)) < 1e-4 * whole)
        (void)snprintf(text, size, "; B is %.6g times A, as if it were scaled or not averaged",
                       s);
}

/* "norm 12.3 in A, 12.9 in B, at least 0.041 apart where rounding allows 1.3e-05" */
static void describe_numbers(const struct plumb_event *event, char *text, size_t size)
{
    const struct plumb_row_error *error = &event->error;
    const struct plumb_stats *a = &event->a.stats, *b = &event->b.stats;
    const uint64_t bad_a = a->nan + a->pos_inf + a->neg_inf;
    const uint64_t bad_b = b->nan + b->pos_inf + b->neg_inf;
    text[0] = '\0';
    if (error->shape_differs)
        (void)snprintf(text, size, "%lld elements in A, %lld in B", (long long)event->a.count,
                       (long long)event->b.count);
    else if (error->basis == PLUMB_BASIS_BITS)
        (void)snprintf(text, size, "the bits differ; by how much is not recorded");
    else if (bad_a != bad_b)
        (void)snprintf(text, size, "%llu values are not finite in B, %llu in A",
                       (unsigned long long)bad_b, (unsigned long long)bad_a);
    else if (error->reordered)
        (void)snprintf(text, size, "the same values in another order%s",
                       event->stage == PLUMB_STAGE_WEIGHTS ? ": transposed or permuted" : "");
    else
        (void)snprintf(
            text, size, "norm %.6g in A, %.6g in B, %s %.2g apart where %s %.2g", a->l2, b->l2,
            error->basis == PLUMB_BASIS_VALUES ? "relatively" : "at least", error->error,
            event->kind == PLUMB_EVENT_JUMP ? "its inputs and its past explain"
                                            : "rounding allows",
            error->allowed);
}

/* " (f32 in A, bf16 in B)" */
static void describe_types(const struct plumb_event *event, char *text, size_t size)
{
    text[0] = '\0';
    if (event->a.dtype != event->b.dtype)
        (void)snprintf(text, size, " (%s in A, %s in B)",
                       plumb_dtype_name((enum plumb_dtype)event->a.dtype),
                       plumb_dtype_name((enum plumb_dtype)event->b.dtype));
}

/* ---- sentences ----------------------------------------------------------------------------------- */

static const char *sentence_of_input(const struct plumb_event *event)
{
    switch ((int)event->stage) {
    case PLUMB_STAGE_DATA:
        return "the batch is not the same";
    case PLUMB_STAGE_WEIGHTS:
        return event->seen_bits && event->position == 0
                   ? "the weights are not the same before the first op"
                   : "the weights it uses are not the same, though nothing before it differs";
    case PLUMB_STAGE_REDUCE:
        return event->a.phase == PLUMB_PHASE_OPTIMIZER
                   ? "the optimizer's gradient is not what the reduction returned"
                   : "what goes into the reduction is not what backward computed";
    case PLUMB_STAGE_UPDATE:
        return event->a.phase == PLUMB_PHASE_OPTIMIZER
                   ? "all gradients agree until the optimizer gets them: clipping, unscaling "
                     "or "
                     "freezing lies between"
                   : "the weights differ after a step whose gradients agree";
    default:
        return event->was_kept && event->stage == PLUMB_STAGE_FORWARD
                   ? "what it keeps from step to step is not the same: the step before left "
                     "something else"
                   : "its input is not what the op before it made: something that is not "
                     "recorded lies between";
    }
}

static const char *sentence_of_output(const struct plumb_event *event, bool by_statistics)
{
    const bool small = event->error.allowed > 0 && event->error.error <= event->error.allowed;
    if (event->stage == PLUMB_STAGE_DATA)
        return "the batch is not the same";
    if (event->stage == PLUMB_STAGE_REDUCE)
        return "all ranks put in the same, and something else comes out";
    if (event->stage == PLUMB_STAGE_UPDATE)
        return event->inputs_known ? "the gradient is the same, the update is not"
                                   : "the weights are not the same after the update; gradients "
                                     "are not recorded";
    if (by_statistics)
        return small ? "the first result with other statistics, from inputs whose statistics "
                       "agree"
                     : "the statistics of what it takes are the same, of what it makes they "
                       "are not";
    return small ? "the first result that is not the same to the last bit, from equal inputs"
                 : "what it takes is the same, what it makes is not";
}

static char *write_reason(struct plumb_run_diff *diff, const struct plumb_event *event,
                          const struct plumb_judgement *judgement)
{
    char numbers[512], types[64], data[240], other[300] = "", factor[80];
    const char *const *texts = diff->names.texts;
    describe_numbers(event, numbers, sizeof numbers);
    describe_types(event, types, sizeof types);
    data[0] = '\0';
    if (event->stage == PLUMB_STAGE_DATA)
        plumb_data_describe(diff, event, data, sizeof data);
    describe_factor(event, factor, sizeof factor);
    if (!judgement && event->stage >= PLUMB_STAGE_FORWARD)
        (void)snprintf(numbers + strlen(numbers), sizeof numbers - strlen(numbers), "%s",
                       factor);
    if (judgement)
        (void)snprintf(numbers, sizeof numbers, "%.500s", judgement->reason);
    if (event->kind == PLUMB_EVENT_WEIGHT_MISSING || event->kind == PLUMB_EVENT_WEIGHT_EXTRA)
        return plumb_arena_printf(&diff->arena, "the op has this weight in %s only",
                                  event->kind == PLUMB_EVENT_WEIGHT_MISSING ? "A" : "B");
    if (event->kind == PLUMB_EVENT_MISSING || event->kind == PLUMB_EVENT_EXTRA)
        return plumb_arena_printf(
            &diff->arena, "%s has no such op; %s of %s, which comes after it, differs: %s",
            event->kind == PLUMB_EVENT_MISSING ? "B" : "A", texts[event->a.slot],
            texts[event->a.label], numbers);
    if (event->label != event->label_b)
        (void)snprintf(other, sizeof other, " (B runs %.250s in its place)",
                       texts[event->label_b]);
    if (event->kind == PLUMB_EVENT_JUMP)
        return plumb_arena_printf(
            &diff->arena, "the error grows from %.2g to %.2g in this one op%s: %s%s",
            event->before, event->error.error, other, numbers,
            event->stage == PLUMB_STAGE_FORWARD && event->error.basis == PLUMB_BASIS_STATISTICS
                ? "; that its inputs are in the same order is not "
                  "recorded"
                : "");
    return plumb_arena_printf(&diff->arena, "%s%s: %s%s%s",
                              event->kind == PLUMB_EVENT_INPUT
                                  ? sentence_of_input(event)
                                  : sentence_of_output(event, diff->blame.by_statistics > 0),
                              other, numbers, types, data);
}

void plumb_event_judge(struct plumb_run_diff *diff, struct plumb_event *event,
                       struct plumb_run_root *root)
{
    struct plumb_value_pair values = {.names = &diff->names};
    struct plumb_judgement judgement;
    struct plumb_comparison comparison;
    bool judged = false;
    if (event->error.basis == PLUMB_BASIS_VALUES) {
        plumb_value_pair_open(&values, diff->a, event->rank, event->step, diff->b,
                              diff->overlap.other_rank ? diff->overlap.rank_b : event->rank,
                              event->b.step);
        judged = plumb_value_pair_judge(&values, &event->a, &event->b, &comparison, &judgement);
        plumb_value_pair_close(&values);
    }
    const enum plumb_verdict verdict = verdict_of(event);
    *root = (struct plumb_run_root){
        .stage = event->stage,
        .rank = event->rank,
        .step = event->step,
        .op = diff->names.texts[event->label],
        .slot = diff->names.texts[event->slot],
        .verdict = judged && event->kind != PLUMB_EVENT_JUMP ? judgement.verdict : verdict,
        .basis = event->kind == PLUMB_EVENT_MISSING || event->kind == PLUMB_EVENT_EXTRA
                     ? PLUMB_BASIS_STRUCTURE
                     : event->error.basis,
        .error = event->error.error,
        .before = event->before,
        .allowed = event->error.allowed,
        .reason = write_reason(diff, event, judged ? &judgement : NULL),
    };
}
