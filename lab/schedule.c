/*
 * schedule.c - the learning rate by step: a linear rise over the warm-up, then constant, or
 * falling to zero along a line or half a cosine until the horizon.
 */
#include <math.h>
#include <string.h>

#include "optimizer.h"

static const char *const names[LAB_SCHEDULE_COUNT] = {"constant", "linear", "cosine"};

const char *lab_schedule_name(enum lab_schedule_kind kind)
{
    return names[kind];
}

bool lab_schedule_from_name(const char *name, enum lab_schedule_kind *kind)
{
    for (int i = 0; i < LAB_SCHEDULE_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum lab_schedule_kind)i;
            return true;
        }
    return false;
}

double lab_schedule_rate(const struct lab_optimizer_settings *settings, int64_t step)
{
    if (step < settings->warmup)
        return settings->lr * (double)(step + 1) / (double)settings->warmup;
    double length = (double)(settings->horizon - settings->warmup);
    double progress = length > 0 ? (double)(step - settings->warmup) / length : 0;
    progress = progress < 1 ? progress : 1;
    switch (settings->schedule) {
    case LAB_LINEAR:
        return settings->lr * (1 - progress);
    case LAB_COSINE:
        return settings->lr * 0.5 * (1 + cos(3.14159265358979323846 * progress));
    case LAB_CONSTANT:
    case LAB_SCHEDULE_COUNT:
        break;
    }
    return settings->lr;
}
