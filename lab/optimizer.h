/*
 * optimizer.h - schedules of the learning rate, loss scaling, clipping, and the update.
 */
#ifndef LAB_OPTIMIZER_H
#define LAB_OPTIMIZER_H

#include "net.h"

const char *lab_optimizer_name(enum lab_optimizer_kind kind);
bool lab_optimizer_from_name(const char *name, enum lab_optimizer_kind *kind);
const char *lab_schedule_name(enum lab_schedule_kind kind);
bool lab_schedule_from_name(const char *name, enum lab_schedule_kind *kind);

double lab_schedule_rate(const struct lab_optimizer_settings *settings, int64_t step);

/* Halves after an overflow, doubles after a window of steps without one. */
struct lab_loss_scale {
    double scale;
    int clean_steps;
};

bool lab_loss_scale_used(const struct lab_numeric_settings *settings);
void lab_loss_scale_start(struct lab_loss_scale *state,
                          const struct lab_numeric_settings *settings);
void lab_loss_scale_after(struct lab_loss_scale *state,
                          const struct lab_numeric_settings *settings, bool overflow);

double lab_gradient_norm(const struct lab_net *net);
void lab_gradient_multiply(struct lab_net *net, double factor);
bool lab_gradient_finite(const struct lab_net *net);

struct lab_optimizer {
    int64_t updates;
    real *moments[LAB_MAX_PARAMETERS][2]; /* mean and mean square of the gradient */
    size_t counts[LAB_MAX_PARAMETERS];
};

/* Makes room for the parameters of `net` that have none yet. */
void lab_optimizer_prepare(struct lab_optimizer *optimizer, const struct lab_net *net);
void lab_optimizer_forget(struct lab_optimizer *optimizer);
void lab_optimizer_release(struct lab_optimizer *optimizer);
/* Whether this parameter was handed to the optimizer. */
bool lab_optimizer_holds(const struct lab_parameter *parameter,
                         const struct lab_optimizer_settings *settings);
/* One update of all parameters; returns the norm of the change. */
double lab_optimizer_update(struct lab_optimizer *optimizer, struct lab_net *net,
                            const struct lab_optimizer_settings *settings, double rate);

#endif
