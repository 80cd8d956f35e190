/*
 * spike.c - does a gradient or an update grow far beyond its own past, as it does before a loss spikes?
 *
 * Loss-only rules fire when it is too late: BLOOM's gradient norm was 10 times its usual three steps
 * before the loss doubled, and Adam's update doubles before its loss does. Each step is held against
 * the median of the last fifty and their usual deviation, in logarithms. A logged norm may be
 * multiplied by the loss scale, and repeats the old value where a step was skipped.
 */
#include "format/log_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAST = 50, LEAST_PAST = 10, FOLLOWS = 20 };

/* How far a series may rise: twice running, or at once, over its median; and in deviations. Healthy
 * runs of the lab stay below 3.4 times and 4 deviations. */
static const struct rule {
    const char *name; /* usual one */
    double twice, then, at_once;
    bool by_rate; /* an update is proportional to the learning rate */
} rules[] = {
    {"grad_norm", 3, 5, 10, false},
    {"update_norm", 2, 2, 4, true},
};
static const double deviations = 6, least_deviation = 0.1;
/* The loss has followed if it is so many times its median; losses may be close to 0. */
static const double loss_follows = 1.3;

/* ---- the past ------------------------------------------------------------------------------------- */

struct past {
    double values[PAST]; /* in the order they came */
    size_t count;        /* in all */
};

static size_t held(const struct past *past)
{
    return past->count < PAST ? past->count : PAST;
}

static void remember(struct past *past, double value)
{
    past->values[past->count++ % PAST] = value;
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Median, and the deviation that normal noise with this median deviation has. */
static double usual(const struct past *past, double *deviation)
{
    double sorted[PAST];
    const size_t count = held(past);
    memcpy(sorted, past->values, count * sizeof *sorted);
    const double median = median_of(sorted, count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = fabs(past->values[i] - median);
    *deviation = fmax(1.4826 * median_of(sorted, count), least_deviation);
    return median;
}

/* ---- series ---------------------------------------------------------------------------------------- */

/* The first of this usual name; any rank if `rank` is negative. */
static const struct plumb_series *find_usual(const struct plumb_run *run, const char *wanted,
                                             int rank)
{
    char name[PLUMB_LOG_NAME];
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        plumb_log_usual_name(series->name, name);
        if ((rank < 0 || series->rank == rank) && strcmp(name, wanted) == 0)
            return series;
    }
    return NULL;
}

/* Value at a step; `otherwise` if the series is not there or has none. `at` moves on. */
static double value_at(const struct plumb_series *series, int64_t step, size_t *at,
                       double otherwise)
{
    if (!series)
        return otherwise;
    while (*at < series->count && series->steps[*at] < step)
        (*at)++;
    return *at < series->count && series->steps[*at] == step ? series->values[*at] : otherwise;
}

/* Is the logged norm multiplied by the loss scale? Then it jumps where the scale does. */
static bool is_scaled(const struct plumb_series *norm, const struct plumb_series *scale)
{
    double as_logged = 0, divided = 0, scale_before = 0;
    size_t at = 0;
    for (size_t i = 0; scale && i < norm->count; i++) {
        const double now = value_at(scale, norm->steps[i], &at, scale_before);
        if (i && now > 0 && scale_before > 0 && now != scale_before) {
            const double change = log(norm->values[i] / norm->values[i - 1]);
            as_logged += isfinite(change) ? fabs(change) : 0;
            divided += isfinite(change) ? fabs(change - log(now / scale_before)) : 0;
        }
        scale_before = now;
    }
    return divided < as_logged;
}

struct watched {
    const struct rule *rule;
    const struct plumb_series *series, *scale, *rate, *skipped, *loss;
    size_t scale_at, rate_at, skipped_at;
};

static void watch(struct watched *watched, const struct plumb_run *run, const struct rule *rule,
                  const struct plumb_series *series)
{
    const struct plumb_series *scale = find_usual(run, "loss_scale", series->rank);
    *watched = (struct watched){
        .rule = rule,
        .series = series,
        .scale = is_scaled(series, scale) ? scale : NULL,
        .rate = rule->by_rate ? find_usual(run, "lr", series->rank) : NULL,
        .skipped = find_usual(run, "skipped", series->rank),
        .loss = find_usual(run, "loss", series->rank),
    };
}

/* The logarithm of what is watched; NaN where it says nothing. */
static double level_at(struct watched *watched, size_t i)
{
    const struct plumb_series *series = watched->series;
    const int64_t step = series->steps[i];
    const double scale = value_at(watched->scale, step, &watched->scale_at, 1);
    const double rate = value_at(watched->rate, step, &watched->rate_at, 1);
    const bool skipped = value_at(watched->skipped, step, &watched->skipped_at, 0) > 0;
    const bool repeated = i && series->values[i] == series->values[i - 1];
    const double value = series->values[i] / scale / rate;
    return !skipped && !repeated && value > 0 && isfinite(value) ? log(value) : (double)NAN;
}

/* ---- alarms ------------------------------------------------------------------------------------------ */

/* Where the loss is highest soon after `step`, if that is far above what it was. */
static void find_loss(const struct plumb_series *loss, struct plumb_spike *spike)
{
    struct past past = {.count = 0};
    double deviation, highest = 0;
    size_t after = 0;
    spike->loss_step = -1;
    for (size_t i = 0; loss && i < loss->count && after < FOLLOWS; i++) {
        if (!isfinite(loss->values[i]))
            continue;
        if (loss->steps[i] < spike->step) {
            remember(&past, loss->values[i]);
            continue;
        }
        after++;
        if (held(&past) && loss->values[i] > highest) {
            highest = loss->values[i];
            spike->loss_step = loss->steps[i];
            spike->loss_times = highest / usual(&past, &deviation);
        }
    }
    if (spike->loss_step >= 0 && !(spike->loss_times >= loss_follows))
        spike->loss_step = -1;
}

static bool is_alarm(const struct rule *rule, double above, double before, double deviation)
{
    if (!(above > deviations * deviation))
        return false;
    return above > log(rule->at_once) ||
           (above > log(rule->then) && before > log(rule->twice) && above > before * 0.8);
}

/* The first alarm that the loss followed, else the first of all. */
static void find_alarms(struct watched *watched, struct plumb_spike *spike)
{
    struct past past = {.count = 0};
    double before = 0;
    bool ringing = false; /* until it has come down again */
    for (size_t i = 0; i < watched->series->count; i++) {
        const double level = level_at(watched, i);
        if (isnan(level))
            continue;
        double deviation = 0;
        const double median = held(&past) >= LEAST_PAST ? usual(&past, &deviation) : level;
        const double above = level - median;
        if (!ringing && is_alarm(watched->rule, above, before, deviation)) {
            struct plumb_spike found = {.series = watched->series->name,
                                        .rank = watched->series->rank,
                                        .step = watched->series->steps[i],
                                        .times = exp(above),
                                        .over = held(&past),
                                        .alarms = spike->alarms + 1};
            find_loss(watched->loss, &found);
            if (!spike->alarms || (spike->loss_step < 0 && found.loss_step >= 0))
                *spike = found;
            spike->alarms = found.alarms;
            ringing = true;
        }
        ringing &= above > log(2);
        before = above;
        remember(&past, level);
    }
}

void plumb_spike_find(const struct plumb_run *run, struct plumb_spike *spike)
{
    *spike = (struct plumb_spike){.rank = -1, .step = -1, .loss_step = -1};
    for (size_t r = 0; r < sizeof rules / sizeof *rules && !spike->alarms; r++)
        for (size_t i = 0; i < plumb_run_series_count(run); i++) {
            const struct plumb_series *series = plumb_run_series(run, i);
            struct plumb_spike found = {.loss_step = -1};
            struct watched watched;
            char name[PLUMB_LOG_NAME];
            plumb_log_usual_name(series->name, name);
            if (strcmp(name, rules[r].name) != 0)
                continue;
            watch(&watched, run, &rules[r], series);
            find_alarms(&watched, &found);
            if (found.alarms && (!spike->alarms || found.step < spike->step))
                *spike = found;
        }
}
