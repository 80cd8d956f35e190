/* run_schedule.c - see run_schedule.h. */
#include "compare/run_schedule.h"

#include "compare/setting_value.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static double number_or(const struct plumb_settings *settings, int rank, const char *name,
                        double otherwise)
{
    double number;
    return plumb_settings_number(settings, rank, name, &number) ? number : otherwise;
}

bool plumb_schedule_find(const struct plumb_settings *settings, int rank,
                         struct plumb_schedule *schedule)
{
    const char *shape = plumb_settings_text(settings, rank, "schedule");
    const char *meaning = shape ? plumb_setting_meaning("schedule", shape) : NULL;
    double peak, steps = 0;
    const bool has_steps = plumb_settings_number(settings, rank, "schedule steps", &steps) ||
                           plumb_settings_number(settings, rank, "steps", &steps);
    if (!meaning || !plumb_settings_number(settings, rank, "learning rate", &peak))
        return false;
    const double share = number_or(settings, rank, "warm-up share", 0);
    *schedule = (struct plumb_schedule){
        .shape = meaning,
        .peak = peak,
        .lowest = number_or(settings, rank, "lowest learning rate", 0),
        .start = number_or(settings, rank, "warm-up start", 0),
        /* A share of 0 beside a number of steps is a default that says nothing. */
        .warmup =
            share > 0 ? ceil(share * steps) : number_or(settings, rank, "warm-up steps", 0),
        .horizon = steps,
        .power = number_or(settings, rank, "power of the schedule", 1),
        .factor = number_or(settings, rank, "factor of the schedule", 0.1),
        .every = number_or(settings, rank, "interval of the schedule", 0),
        .milestones = plumb_settings_text(settings, rank, "milestones of the schedule"),
    };
    const bool by_horizon = strcmp(meaning, "linear") == 0 || strcmp(meaning, "cosine") == 0 ||
                            strcmp(meaning, "polynomial") == 0;
    return (has_steps && steps > 0) || (!by_horizon && !(share > 0));
}

static double steps_passed(const struct plumb_schedule *schedule, double step)
{
    double milestone, passed = 0;
    if (schedule->every > 0)
        return floor(step / schedule->every);
    for (size_t i = 0;
         schedule->milestones && plumb_setting_item(schedule->milestones, i, &milestone); i++)
        passed += step >= milestone;
    return passed;
}

double plumb_schedule_rate(const struct plumb_schedule *schedule, double step)
{
    const struct plumb_schedule *s = schedule;
    if (step < s->warmup)
        return s->start + (s->peak - s->start) * step / s->warmup;
    const double length = s->horizon - s->warmup;
    const double progress = length > 0 ? fmin((step - s->warmup) / length, 1) : 0;
    if (strcmp(s->shape, "linear") == 0)
        return s->lowest + (s->peak - s->lowest) * (1 - progress);
    if (strcmp(s->shape, "cosine") == 0)
        return s->lowest + (s->peak - s->lowest) * (1 + cos(pi * progress)) / 2;
    if (strcmp(s->shape, "polynomial") == 0)
        return s->lowest + (s->peak - s->lowest) * pow(1 - progress, s->power);
    if (strcmp(s->shape, "step") == 0)
        return fmax(s->peak * pow(s->factor, steps_passed(s, step)), s->lowest);
    if (strcmp(s->shape, "exponential") == 0)
        return fmax(s->peak * pow(s->factor, s->every > 0 ? step / s->every : step), s->lowest);
    if (strcmp(s->shape, "inverse square root") == 0)
        return fmax(s->peak * sqrt(fmax(s->warmup, 1) / fmax(step, 1)), s->lowest);
    return s->peak;
}

static bool differ_at(const struct plumb_schedule *a, const struct plumb_schedule *b,
                      double step)
{
    static const double rounding = 1e-9;
    return fabs(plumb_schedule_rate(a, step) - plumb_schedule_rate(b, step)) >
           rounding * fmax(a->peak, b->peak);
}

double plumb_schedule_parting(const struct plumb_schedule *a, const struct plumb_schedule *b)
{
    enum { MOST_EVALUATED = 20000 };
    const double last = fmax(fmax(a->horizon, b->horizon), fmax(a->warmup, b->warmup) + 1);
    const double stride = fmax(ceil(last / MOST_EVALUATED), 1);
    for (double step = 0; step <= last; step += step < 1 ? 1 : stride)
        if (differ_at(a, b, step))
            return step;
    return -1;
}
