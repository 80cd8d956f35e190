/* run_blame.c - see run_blame.h. */
#include "compare/run_blame.h"

#include "base/memory.h"
#include "base/text.h"
#include "compare/op_names.h"
#include "compare/run_gradients.h"
#include "compare/run_value_pair.h"
#include "model/dtype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An error may grow so much from an op's input to its output, or from one step to the next. */
static const double usual_gain = 32, gain_of_values = 8;
/* Statistics do not see a gradient that took another way through a maximum or a relu: below this,
 * in the first step and in later ones, a jump may be that. */
static const double seen_by_statistics = 1e-3, seen_later = 2e-2;

struct walk {
    struct plumb_blame *blame;
    struct plumb_rank_state *state;
    const struct plumb_step_pair *pair;
    struct plumb_row_error *errors; /* of A's rows that have a partner */
    double *estimate;               /* of A's rows: the error they may carry */
    bool dirty;                     /* an earlier op of this step differs */
    bool made_something;            /* an earlier op of this step has an output */
    uint32_t position;
    size_t first_event;   /* of this step */
    double worst;         /* error of what ops made so far */
    bool not_finite;      /* one of them made something that is finite on one side only */
    double gradient_norm; /* of A's largest gradient; 0 if it is of no use */
    double coarsest;  /* rounding of the narrowest type that anything before the update has */
    double cancelled; /* error of parameters' gradients beside themselves: sums that cancel */
};

static double *history_of(struct walk *walk, uint32_t place)
{
    struct plumb_rank_state *state = walk->state;
    if (place >= state->history_count) {
        const size_t count = walk->blame->names->count;
        double *history = plumb_realloc_array(state->history, count, sizeof *history);
        if (!history) {
            walk->blame->failed = true;
            return NULL;
        }
        for (size_t i = state->history_count; i < count; i++)
            history[i] = 0;
        state->history = history;
        state->history_count = count;
    }
    return &state->history[place];
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void find_errors(struct walk *walk)
{
    const struct plumb_step_pair *pair = walk->pair;
    const struct plumb_step_side *a = &pair->alignment->a;
    for (size_t i = 0; i < a->row_count; i++) {
        if (a->partner[i] == PLUMB_NO_ROW)
            continue;
        const struct plumb_row *one = &pair->a[i], *two = &pair->b[a->partner[i]];
        plumb_row_compare(one, two, &walk->errors[i]);
        if (one->phase != PLUMB_PHASE_OPTIMIZER)
            walk->coarsest =
                fmax(walk->coarsest, plumb_row_allowance((enum plumb_dtype)one->dtype,
                                                         (enum plumb_dtype)two->dtype, 0));
    }
    walk->blame->failed |= !plumb_value_pair_compare_rows(pair->values, pair->alignment,
                                                          pair->a, pair->b, walk->errors);
}

/* Ranks come one after the other, so that a later one may show it earlier. */
void plumb_stage_count_differing(struct plumb_stage_count *stage, int64_t step)
{
    if (!stage->differing++ || step < stage->first)
        stage->first = step;
}

/* Counts and errors of all rows; false: they are all the same. */
static bool compare_rows(struct walk *walk)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    struct plumb_blame *blame = walk->blame;
    bool differ = false;
    find_errors(walk);
    for (size_t i = 0; i < a->row_count; i++) {
        const int32_t partner = a->partner[i];
        if (partner == PLUMB_NO_ROW)
            continue;
        const struct plumb_row_error *error = &walk->errors[i];
        struct plumb_stage_count *stage = &blame->stages[a->stage[i]];
        stage->rows++;
        blame->rows++;
        blame->by_statistics += error->same && error->basis == PLUMB_BASIS_STATISTICS;
        blame->unknown += error->unknown;
        blame->values_lost += error->values_lost;
        blame->other_types += walk->pair->a[i].dtype != walk->pair->b[partner].dtype;
        if (error->same)
            continue;
        differ = true;
        plumb_stage_count_differing(stage, walk->pair->step);
        blame->differing++;
    }
    return differ;
}

static void count_beyond(struct walk *walk, size_t row)
{
    const struct plumb_row_error *error = &walk->errors[row];
    struct plumb_stage_count *stage = &walk->blame->stages[walk->pair->alignment->a.stage[row]];
    const double ratio = error->allowed > 0 ? error->error / error->allowed : HUGE_VAL;
    stage->beyond += !(ratio <= 1);
    if (ratio > stage->worst)
        stage->worst = ratio;
}

/* The gradient of a parameter is a sum over the batch that may cancel: its error is judged against
 * what was summed. */
static void judge_against_inputs(struct walk *walk, const struct plumb_step_op *op)
{
    const struct plumb_step_side *side = &walk->pair->alignment->a;
    double norm = 0, count = 0;
    if (op->phase == PLUMB_PHASE_BACKWARD)
        norm = walk->gradient_norm;
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = side->next[row]) {
        const struct plumb_row *a = &walk->pair->a[row];
        if (a->role == PLUMB_ROW_IN && a->has_stats && a->stats.l2 > norm) {
            norm = a->stats.l2;
            count = (double)a->count;
        }
        struct plumb_row_error *error = &walk->errors[row];
        if (a->role != PLUMB_ROW_OUT || side->partner[row] == PLUMB_NO_ROW || error->same ||
            error->basis == PLUMB_BASIS_VALUES || !isfinite(error->distance) ||
            !plumb_text_starts(walk->blame->names->texts[a->slot], "grad"))
            continue;
        const double terms = a->count > 0 ? fmax(count / (double)a->count, 1) : 1;
        const double scale = fmax(a->stats.l2, norm * sqrt(terms));
        if (isfinite(error->error))
            walk->cancelled = fmax(walk->cancelled, error->error);
        if (scale > 0)
            error->error = error->distance / scale;
    }
}

/* ---- why does an input differ? ------------------------------------------------------------------ */

enum cause { CARRIED, CHANGED, OUTSIDE, MISSING_OP, EXTRA_OP };

/* How large an error of an output may be. Ops of two frameworks that get the same differ by rounding
 * alone in the first forward pass. */
static double limit_of(const struct walk *walk, const struct plumb_row *row,
                       const struct plumb_row_error *error, double before)
{
    static const double own_share = 2;
    const bool first = walk->pair->alignment->across && !walk->state->has_step;
    const double usual = fmax(before, error->allowed);
    if (error->basis == PLUMB_BASIS_VALUES)
        return gain_of_values * usual;
    if (first && row->phase == PLUMB_PHASE_FORWARD)
        return fmax(usual_gain * before, own_share * error->allowed);
    const double seen = walk->state->has_step ? seen_later : seen_by_statistics;
    /* What the optimizer gets in f32 was computed from what narrower types left, and nobody tells it what
     * cancelled on the way. */
    const bool given = row->phase == PLUMB_PHASE_OPTIMIZER && row->role == PLUMB_ROW_IN;
    const double left = own_share * fmax(walk->coarsest, walk->cancelled);
    return fmax(usual_gain * usual, given ? fmax(seen, left) : seen);
}

/* More than all errors up to here explain? */
static bool is_far(const struct walk *walk, size_t row)
{
    const struct plumb_row_error *error = &walk->errors[row];
    const double found = plumb_gradients_error(&walk->pair->a[row], walk->gradient_norm, error);
    if (isinf(found) && !error->shape_differs && (walk->not_finite || walk->state->not_finite))
        return false; /* a NaN spreads */
    return found >
           limit_of(walk, &walk->pair->a[row], error, fmax(walk->worst, walk->state->worst));
}

/* Is it a weight, which carries what differed in earlier steps? */
static bool is_weight(const struct walk *walk, size_t row)
{
    const struct plumb_row *a = &walk->pair->a[row];
    if (a->role == PLUMB_ROW_PARAM)
        return !plumb_slot_is_running(walk->blame->names->texts[a->slot]);
    return walk->state->has_update
               ? plumb_rank_state_has_weight(walk->state, a)
               : walk->state->has_step && plumb_row_may_be_weight(a, walk->blame->names);
}

static enum cause cause_of_input(const struct walk *walk, size_t row, int32_t *culprit)
{
    const struct plumb_alignment *alignment = walk->pair->alignment;
    const struct plumb_step_side *a = &alignment->a, *b = &alignment->b;
    const int32_t source = a->source[row], source_b = b->source[a->partner[row]];
    const int32_t maker = source == PLUMB_NO_ROW ? PLUMB_NO_ROW : a->op_of[source];
    const int32_t maker_b = source_b == PLUMB_NO_ROW ? PLUMB_NO_ROW : b->op_of[source_b];
    const bool paired = source != PLUMB_NO_ROW && a->partner[source] != PLUMB_NO_ROW;
    const bool far = is_far(walk, row);
    if (paired && !walk->errors[source].same && (!far || a->partner[source] == source_b))
        return CARRIED;
    const bool explained = walk->dirty && !far;
    if (maker != PLUMB_NO_ROW && plumb_step_op_is_alone(a, (size_t)maker) && !explained) {
        *culprit = maker;
        return MISSING_OP;
    }
    if (maker_b != PLUMB_NO_ROW && plumb_step_op_is_alone(b, (size_t)maker_b) && !explained) {
        *culprit = maker_b;
        return EXTRA_OP;
    }
    /* Two weights may happen to be equal, as those of norms are at first: neither is made of the other. */
    if (paired && walk->pair->a[source].role == PLUMB_ROW_OUT)
        return CHANGED;
    if (is_weight(walk, row))
        return walk->state->dirty ? CARRIED : OUTSIDE;
    if (paired)
        return CHANGED;
    const bool kept = plumb_rank_state_made(walk->state, &walk->pair->a[row],
                                            &walk->pair->b[a->partner[row]]);
    return explained || kept ? CARRIED : OUTSIDE;
}

static enum plumb_stage stage_of_input(const struct walk *walk, size_t row, enum cause cause)
{
    const enum plumb_stage stage = (enum plumb_stage)walk->pair->alignment->a.stage[row];
    if (stage == PLUMB_STAGE_WEIGHTS && walk->state->has_step && !walk->state->has_update)
        return PLUMB_STAGE_UPDATE; /* of the step before, which is not recorded */
    if (stage == PLUMB_STAGE_FORWARD && cause == OUTSIDE && !walk->made_something)
        return PLUMB_STAGE_DATA;
    return stage;
}

/* ---- events ------------------------------------------------------------------------------------- */

static bool takes_something(const struct walk *walk, size_t row)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    const struct plumb_step_op *op = &a->ops[a->op_of[row]];
    for (int32_t i = (int32_t)op->first; i != PLUMB_NO_ROW; i = a->next[i])
        if (walk->pair->a[i].role != PLUMB_ROW_OUT && a->partner[i] != PLUMB_NO_ROW)
            return true;
    return false;
}

static struct plumb_event *report(struct walk *walk, enum plumb_event_kind kind, size_t row)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    const int32_t partner = a->partner[row];
    const struct plumb_step_op *op =
        &a->ops[a->order[walk->position]]; /* ends the row's block */
    struct plumb_event *event = plumb_blame_add(walk->blame, walk->first_event);
    if (!event)
        return NULL;
    *event = (struct plumb_event){
        .kind = kind,
        .stage = (enum plumb_stage)a->stage[row],
        .step = walk->pair->step,
        .position = walk->position,
        .rank = walk->state->rank,
        .label = op->label,
        .label_b = walk->pair->alignment->b.ops[op->partner].label,
        .op = op->name,
        .slot = walk->pair->a[row].slot,
        .a = walk->pair->a[row],
        .b = walk->pair->b[partner],
        .error = walk->errors[row],
        .seen_bits = !walk->dirty && !walk->state->dirty,
        .inputs_known = takes_something(walk, row),
        .was_same = walk->state->has_step && !walk->state->dirty,
    };
    if (event->error.reordered)
        event->error.error = kind == PLUMB_EVENT_JUMP ? event->error.error : 1;
    return event;
}

static void report_input(struct walk *walk, size_t row, enum cause cause, int32_t culprit)
{
    const struct plumb_alignment *alignment = walk->pair->alignment;
    const enum plumb_event_kind kind = cause == MISSING_OP ? PLUMB_EVENT_MISSING
                                       : cause == EXTRA_OP ? PLUMB_EVENT_EXTRA
                                                           : PLUMB_EVENT_INPUT;
    struct plumb_event *event = report(walk, kind, row);
    if (!event)
        return;
    event->stage = stage_of_input(walk, row, cause);
    event->was_kept = cause == OUTSIDE && walk->state->has_step;
    if (kind != PLUMB_EVENT_INPUT) {
        const struct plumb_step_side *side =
            kind == PLUMB_EVENT_MISSING ? &alignment->a : &alignment->b;
        const struct plumb_row *rows =
            kind == PLUMB_EVENT_MISSING ? walk->pair->a : walk->pair->b;
        const struct plumb_step_op *op = &side->ops[culprit];
        event->label = event->label_b = op->label;
        event->op = op->name;
        event->slot = rows[op->out == PLUMB_NO_ROW ? (int32_t)op->first : op->out].slot;
        event->stage = (enum plumb_stage)side->stage[op->first];
    }
    if (event->a.phase == PLUMB_PHASE_OPTIMIZER)
        plumb_gradients_examine(event, walk->pair);
}

/* An op that contains one that is to blame is not to blame itself. */
static bool contains_event(const struct walk *walk, const struct plumb_step_op *op)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    for (size_t i = walk->first_event; i < walk->blame->event_count; i++) {
        const struct plumb_event *event = &walk->blame->events[i];
        const struct plumb_step_op *inner = &a->ops[a->order[event->position]];
        if ((inner->first > op->first && inner->last <= op->last) ||
            (inner->phase == op->phase &&
             plumb_row_is_module_of(&walk->pair->a[op->first], walk->blame->names,
                                    event->label)))
            return true;
    }
    return false;
}

/* What an op may leave that took the same bits: an update works element by element. */
static double own_rounding(const struct plumb_event *event)
{
    static const double elementwise = 8 * 0x1p-24;
    const bool update = event->a.phase == PLUMB_PHASE_OPTIMIZER && event->a.dtype == PLUMB_F32;
    return update ? elementwise : event->error.allowed;
}

struct op_view {
    bool has_input, input_differs, output_differs;
    double before;                        /* error of its inputs */
    int32_t unexplained, culprit, output; /* rows; PLUMB_NO_ROW: none */
    enum cause cause;
};

/* Both sides only hand on what an op before made: a module is not to blame for the last op in it. */
static bool is_passed_on(const struct walk *walk, size_t row)
{
    const struct plumb_alignment *alignment = walk->pair->alignment;
    const int32_t source = alignment->a.source[row];
    const int32_t source_b = alignment->b.source[alignment->a.partner[row]];
    return source != PLUMB_NO_ROW && source_b != PLUMB_NO_ROW &&
           alignment->a.op_of[source] != alignment->a.op_of[row] &&
           alignment->a.partner[source] != PLUMB_NO_ROW && !walk->errors[source].same;
}

static void look_at_inputs(struct walk *walk, const struct plumb_step_op *op,
                           struct op_view *view)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = a->next[row]) {
        const bool input = walk->pair->a[row].role != PLUMB_ROW_OUT;
        if (!input || a->partner[row] == PLUMB_NO_ROW)
            continue;
        const struct plumb_row_error *error = &walk->errors[row];
        const int32_t source = a->source[row];
        double carried = source == PLUMB_NO_ROW ? 0 : walk->estimate[source];
        view->has_input = true;
        if (!error->same) {
            view->input_differs = true;
            carried = fmax(carried, isnan(error->error) ? error->allowed : error->error);
            int32_t culprit = PLUMB_NO_ROW;
            const enum cause cause = view->unexplained == PLUMB_NO_ROW
                                         ? cause_of_input(walk, (size_t)row, &culprit)
                                         : CARRIED;
            if (cause != CARRIED) {
                view->unexplained = row;
                view->cause = cause;
                view->culprit = culprit;
            }
        }
        walk->estimate[row] = carried;
        view->before = fmax(view->before, carried);
    }
}

static void look_at_outputs(struct walk *walk, const struct plumb_step_op *op,
                            struct op_view *view)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    judge_against_inputs(walk, op);
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = a->next[row]) {
        if (walk->pair->a[row].role != PLUMB_ROW_OUT)
            continue;
        const struct plumb_row_error *error = &walk->errors[row];
        const bool differs = a->partner[row] != PLUMB_NO_ROW && !error->same;
        walk->estimate[row] =
            fmax(view->before, differs && !isnan(error->error) ? error->error : 0);
        view->output_differs |= differs;
        if (differs && view->output == PLUMB_NO_ROW && !is_passed_on(walk, (size_t)row))
            view->output = row;
    }
}

/* What is inside of an op may use weights that differ. */
static bool contains_difference(const struct walk *walk, const struct plumb_step_op *op)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    for (uint32_t row = op->first; row < op->last; row++)
        if (&a->ops[a->op_of[row]] != op && a->partner[row] != PLUMB_NO_ROW &&
            !walk->errors[row].same)
            return true;
    return false;
}

/* Does an op depend on something that differs and is not among its recorded inputs? A backward uses
 * what its forward took and made, an update the weights and moments of the steps before. */
static bool has_hidden_cause(const struct walk *walk, const struct plumb_step_op *op,
                             const struct op_view *view)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    if (op->phase == PLUMB_PHASE_OPTIMIZER)
        return walk->state->dirty;
    if (op->phase != PLUMB_PHASE_BACKWARD)
        return walk->dirty && (!view->has_input || contains_difference(walk, op));
    if (op->forward == PLUMB_NO_ROW || !view->has_input)
        return walk->dirty;
    for (int32_t row = (int32_t)a->ops[op->forward].first; row != PLUMB_NO_ROW;
         row = a->next[row])
        if (a->partner[row] != PLUMB_NO_ROW && !walk->errors[row].same)
            return true;
    return false;
}

/* Optimizers that divide by the size of the gradient turn the sign of a gradient that is nothing but
 * rounding into a whole step: no error of a weight is too large for that. */
static bool may_jump(const struct walk *walk, const struct plumb_row *row)
{
    const bool weight = row->phase == PLUMB_PHASE_OPTIMIZER &&
                        plumb_text_starts(walk->blame->names->texts[row->slot], "param");
    return row->role == PLUMB_ROW_OUT && !weight &&
           plumb_dtype_is_float((enum plumb_dtype)row->dtype);
}

/* The output whose error is furthest above what inputs, past and rounding explain. */
static int32_t find_jump(struct walk *walk, const struct plumb_step_op *op,
                         const struct op_view *view, double *explained)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    int32_t found = PLUMB_NO_ROW;
    double most = 1;
    for (int32_t row = (int32_t)op->first; row != PLUMB_NO_ROW; row = a->next[row]) {
        const struct plumb_row *x = &walk->pair->a[row];
        const struct plumb_row_error *error = &walk->errors[row];
        if (a->partner[row] == PLUMB_NO_ROW || error->same || !may_jump(walk, x))
            continue;
        const double *past = history_of(walk, x->place);
        const double limit = limit_of(walk, x, error, fmax(view->before, past ? *past : 0));
        if (error->error / limit > most) {
            most = error->error / limit;
            *explained = limit;
            found = row;
        }
    }
    return found;
}

static void blame_output(struct walk *walk, const struct plumb_step_op *op,
                         const struct op_view *view)
{
    const bool is_data = walk->pair->alignment->a.stage[view->output] == PLUMB_STAGE_DATA;
    if (!view->input_differs) {
        const bool far =
            may_jump(walk, &walk->pair->a[view->output]) && is_far(walk, (size_t)view->output);
        if ((!is_data && has_hidden_cause(walk, op, view) && !far) || contains_event(walk, op))
            return;
        struct plumb_event *event = report(walk, PLUMB_EVENT_OUTPUT, (size_t)view->output);
        if (!event)
            return;
        event->through_messages = op->phase == PLUMB_PHASE_COLLECTIVE;
        event->error.allowed = own_rounding(event);
        return;
    }
    if (op->phase == PLUMB_PHASE_COLLECTIVE)
        return; /* what the other ranks sent is not known here */
    double explained = 0;
    const int32_t row = find_jump(walk, op, view, &explained);
    struct plumb_event *event =
        row == PLUMB_NO_ROW ? NULL : report(walk, PLUMB_EVENT_JUMP, (size_t)row);
    if (!event)
        return;
    event->before = view->before;
    event->error.allowed = explained;
}

static void visit_op(struct walk *walk, const struct plumb_step_op *op)
{
    struct op_view view = {.unexplained = PLUMB_NO_ROW, .output = PLUMB_NO_ROW};
    if (op->partner == PLUMB_NO_ROW)
        return;
    look_at_inputs(walk, op, &view);
    look_at_outputs(walk, op, &view);
    if (view.input_differs && op->phase == PLUMB_PHASE_COLLECTIVE)
        plumb_blame_add_fed(walk->blame, walk->pair->step, op->label);
    if (view.unexplained != PLUMB_NO_ROW)
        report_input(walk, (size_t)view.unexplained, view.cause, view.culprit);
    else if (view.output != PLUMB_NO_ROW)
        blame_output(walk, op, &view);
    walk->dirty |= view.input_differs || view.output_differs;
    const struct plumb_row_error *made =
        view.output == PLUMB_NO_ROW ? NULL : &walk->errors[view.output];
    walk->not_finite |= made && isinf(made->error) && !made->shape_differs;
    if (made && op->phase != PLUMB_PHASE_OPTIMIZER && isfinite(made->error))
        walk->worst = fmax(walk->worst, made->error);
    walk->made_something |= op->out != PLUMB_NO_ROW;
}

/* ---- a step -------------------------------------------------------------------------------------- */

static void list_row(struct walk *walk, size_t row)
{
    struct plumb_blame *blame = walk->blame;
    const struct plumb_row *a = &walk->pair->a[row];
    if (blame->listed_count < PLUMB_BLAME_LISTED)
        blame->listed[blame->listed_count++] = (struct plumb_differing){
            .step = walk->pair->step,
            .rank = walk->state->rank,
            .stage = (enum plumb_stage)walk->pair->alignment->a.stage[row],
            .label = a->label,
            .slot = a->slot,
            .error = walk->errors[row].error,
            .allowed = walk->errors[row].allowed};
}

static void remember(struct walk *walk)
{
    const struct plumb_step_side *a = &walk->pair->alignment->a;
    for (size_t i = 0; i < a->row_count; i++) {
        const struct plumb_row_error *error = &walk->errors[i];
        if (a->partner[i] == PLUMB_NO_ROW || error->same)
            continue;
        count_beyond(walk, i);
        list_row(walk, i);
        double *past = history_of(walk, walk->pair->a[i].place);
        if (past && error->error > *past)
            *past = error->error;
    }
}

void plumb_blame_step(struct plumb_blame *blame, struct plumb_rank_state *state,
                      const struct plumb_step_pair *pair)
{
    const struct plumb_step_side *a = &pair->alignment->a;
    struct walk walk = {
        .blame = blame, .state = state, .pair = pair, .first_event = blame->event_count};
    walk.errors = plumb_alloc_array(a->row_count + 1, sizeof *walk.errors);
    walk.estimate = plumb_alloc_array(a->row_count + 1, sizeof *walk.estimate);
    blame->failed |= !walk.errors || !walk.estimate;
    if (!state->has_step)
        plumb_blame_lone_weights(blame, state, pair);
    walk.gradient_norm = plumb_gradients_norm(pair);
    if (!blame->failed && compare_rows(&walk)) {
        for (; walk.position < a->op_count; walk.position++)
            visit_op(&walk, &a->ops[a->order[walk.position]]);
        remember(&walk);
        state->dirty = true;
        state->worst = fmax(state->worst, walk.worst);
        state->not_finite |= walk.not_finite;
        blame->failed |= !plumb_rank_state_keep(state, pair);
    }
    state->has_step = true;
    state->has_update = false;
    for (size_t i = 0; i < a->op_count; i++)
        state->has_update |= a->ops[i].phase == PLUMB_PHASE_OPTIMIZER;
    plumb_free(walk.estimate);
    plumb_free(walk.errors);
}
