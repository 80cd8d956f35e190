/* run_gradients.c - see run_gradients.h. */
#include "compare/run_gradients.h"

#include <math.h>

static const double one_factor = 1e-4; /* clipping multiplies all by the same */

static bool is_given_gradient(const struct plumb_step_pair *pair, size_t row)
{
    const struct plumb_row *a = &pair->a[row];
    return a->phase == PLUMB_PHASE_OPTIMIZER && a->role == PLUMB_ROW_IN && a->has_stats &&
           a->stats.l2 > 0 && pair->alignment->a.partner[row] != PLUMB_NO_ROW;
}

static double factor_of(const struct plumb_step_pair *pair, size_t row)
{
    return pair->b[pair->alignment->a.partner[row]].stats.l2 / pair->a[row].stats.l2;
}

/* The factor that most gradients share: the one with most others beside it. */
static double shared_factor(const struct plumb_step_pair *pair, size_t count)
{
    enum { MOST_TRIED = 64 };
    double best = (double)NAN;
    size_t most = 0, tried = 0;
    for (size_t i = 0; i < count && tried < MOST_TRIED; i++) {
        if (!is_given_gradient(pair, i))
            continue;
        const double factor = factor_of(pair, i);
        size_t alike = 0;
        tried++;
        for (size_t k = 0; k < count; k++)
            alike += is_given_gradient(pair, k) &&
                     fabs(factor_of(pair, k) - factor) <= one_factor * factor;
        if (alike > most) {
            most = alike;
            best = factor;
        }
    }
    return best;
}

static bool has_collective(const struct plumb_step_pair *pair, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pair->a[i].phase == PLUMB_PHASE_COLLECTIVE)
            return true;
    return false;
}

void plumb_gradients_examine(struct plumb_event *event, const struct plumb_step_pair *pair)
{
    const struct plumb_step_side *a = &pair->alignment->a;
    const double shared = shared_factor(pair, a->row_count);
    for (size_t i = 0; i < a->row_count; i++) {
        if (!is_given_gradient(pair, i) ||
            fabs(factor_of(pair, i) - shared) <= one_factor * shared)
            continue;
        const bool reduced = has_collective(pair, a->row_count);
        event->a = pair->a[i];
        event->b = pair->b[a->partner[i]];
        event->label = event->a.label;
        event->label_b = event->b.label;
        event->op = event->a.op;
        event->slot = event->a.slot;
        plumb_row_compare(&event->a, &event->b, &event->error);
        event->stage = reduced ? PLUMB_STAGE_REDUCE : PLUMB_STAGE_UPDATE;
        return;
    }
}

double plumb_gradients_norm(const struct plumb_step_pair *pair)
{
    double norm = 0;
    for (size_t i = 0; pair->alignment->across && i < pair->alignment->a.row_count; i++)
        if (pair->a[i].phase == PLUMB_PHASE_BACKWARD && pair->a[i].role == PLUMB_ROW_OUT &&
            pair->a[i].has_stats)
            norm = fmax(norm, pair->a[i].stats.l2);
    return norm;
}

double plumb_gradients_error(const struct plumb_row *row, double norm,
                             const struct plumb_row_error *error)
{
    const double scale = fmax(row->stats.l2, norm);
    const bool given = row->phase == PLUMB_PHASE_OPTIMIZER && row->role == PLUMB_ROW_IN;
    return given && norm > 0 && isfinite(error->distance) && scale > 0 ? error->distance / scale
                                                                       : error->error;
}
