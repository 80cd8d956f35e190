/*
 * run_schedule.h - the learning rate by step that the settings of a run amount to.
 *
 * Frameworks say the same schedule in different settings (a share or a number of warm-up steps, a horizon
 * of its own or that of the training), so it is evaluated and the rates are compared.
 */
#ifndef PLUMB_COMPARE_RUN_SCHEDULE_H
#define PLUMB_COMPARE_RUN_SCHEDULE_H

#include "compare/run_settings.h"

struct plumb_schedule {
    const char *shape;          /* "constant", "linear", "cosine", "polynomial", "step", ... */
    double peak, lowest, start; /* learning rates; `start`: where the warm-up begins */
    double warmup, horizon;     /* steps */
    double power;               /* of a polynomial */
    double factor, every;       /* of steps: times `factor` every `every`, or at `milestones` */
    const char *milestones;     /* JSON, or NULL */
};

/* False if the settings do not say enough to evaluate it. */
bool plumb_schedule_find(const struct plumb_settings *settings, int rank,
                         struct plumb_schedule *schedule);
/* Steps count from 0. */
double plumb_schedule_rate(const struct plumb_schedule *schedule, double step);
/* The first step at which the rates differ, of 20000 evenly over the longer horizon; -1 if none does. */
double plumb_schedule_parting(const struct plumb_schedule *a, const struct plumb_schedule *b);

#endif
