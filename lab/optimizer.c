/*
 * optimizer.c - SGD, momentum, Adam (decay as part of the gradient) and AdamW (decay apart).
 */
#include "optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trouble.h"

static const char *const names[LAB_OPTIMIZER_COUNT] = {"sgd", "momentum", "adam", "adamw"};

const char *lab_optimizer_name(enum lab_optimizer_kind kind)
{
    return names[kind];
}

bool lab_optimizer_from_name(const char *name, enum lab_optimizer_kind *kind)
{
    for (int i = 0; i < LAB_OPTIMIZER_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum lab_optimizer_kind)i;
            return true;
        }
    return false;
}

void lab_optimizer_prepare(struct lab_optimizer *optimizer, const struct lab_net *net)
{
    for (int i = 0; i < net->parameter_count; i++) {
        optimizer->counts[i] = net->parameters[i]->tensor.count;
        for (int k = 0; k < 2; k++)
            if (!optimizer->moments[i][k])
                optimizer->moments[i][k] = lab_allocate(optimizer->counts[i], sizeof(real));
    }
}

void lab_optimizer_forget(struct lab_optimizer *optimizer)
{
    optimizer->updates = 0;
    for (int i = 0; i < LAB_MAX_PARAMETERS; i++)
        for (int k = 0; k < 2 && optimizer->moments[i][k]; k++)
            memset(optimizer->moments[i][k], 0, optimizer->counts[i] * sizeof(real));
}

void lab_optimizer_release(struct lab_optimizer *optimizer)
{
    for (int i = 0; i < LAB_MAX_PARAMETERS; i++)
        for (int k = 0; k < 2; k++)
            free(optimizer->moments[i][k]);
}

bool lab_optimizer_holds(const struct lab_parameter *parameter,
                         const struct lab_optimizer_settings *settings)
{
    bool missing = parameter->decays ? settings->misses_decaying : settings->misses_others;
    return parameter->trainable && !missing &&
           !lab_site_hits(settings->unbound, parameter->layer);
}

struct update {
    const struct lab_optimizer_settings *settings;
    real rate, decay, epsilon, beta1, beta2, correction1, correction2;
};

/* The change of one value, without a decay that is apart. */
static real change_of(const struct update *u, real gradient, real *first, real *second)
{
    switch (u->settings->kind) {
    case LAB_MOMENTUM:
        *first = (real)u->settings->momentum * *first + gradient;
        return -u->rate * *first;
    case LAB_ADAM:
    case LAB_ADAMW:
        *first = u->beta1 * *first + (1 - u->beta1) * gradient;
        *second = u->beta2 * *second + (1 - u->beta2) * gradient * gradient;
        lab_round_values(first, 1, u->settings->state_dtype, PLUMB_ROUND_NEAREST_EVEN, false);
        lab_round_values(second, 1, u->settings->state_dtype, PLUMB_ROUND_NEAREST_EVEN, false);
        return -u->rate * (*first * u->correction1) /
               (real_sqrt(*second * u->correction2) + u->epsilon);
    case LAB_SGD:
    case LAB_OPTIMIZER_COUNT:
        break;
    }
    return -u->rate * gradient;
}

static double update_parameter(const struct update *u, struct lab_parameter *parameter,
                               real *const moments[2])
{
    real decay = parameter->decays || u->settings->decays_everything ? u->decay : 0;
    bool apart = u->settings->kind == LAB_ADAMW;
    double sum = 0;
    for (size_t i = 0; i < parameter->tensor.count; i++) {
        real value = parameter->master[i];
        real gradient = parameter->tensor.grad[i] + (apart ? 0 : decay * value);
        real change = change_of(u, gradient, &moments[0][i], &moments[1][i]);
        if (apart)
            change -= u->rate * decay * value;
        parameter->master[i] = value + change;
        double moved = (double)parameter->master[i] - (double)value;
        sum += moved * moved;
    }
    return sum;
}

double lab_optimizer_update(struct lab_optimizer *optimizer, struct lab_net *net,
                            const struct lab_optimizer_settings *settings, double rate)
{
    optimizer->updates++;
    double t = (double)optimizer->updates, sum = 0;
    struct update u = {
        .settings = settings,
        .rate = (real)rate,
        .decay = (real)settings->weight_decay,
        .epsilon = (real)settings->epsilon,
        .beta1 = (real)settings->beta1,
        .beta2 = (real)settings->beta2,
        .correction1 = (real)(1 / (1 - pow(settings->beta1, t))),
        .correction2 = (real)(1 / (1 - pow(settings->beta2, t))),
    };
    lab_round_values(&u.epsilon, 1, settings->state_dtype, PLUMB_ROUND_NEAREST_EVEN, false);
    for (int i = 0; i < net->parameter_count; i++)
        if (lab_optimizer_holds(net->parameters[i], settings))
            sum += update_parameter(&u, net->parameters[i], optimizer->moments[i]);
    return sqrt(sum);
}
