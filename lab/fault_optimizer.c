/*
 * fault_optimizer.c - what can be wrong with learning rate, optimizer and clipping.
 */
#include "fault.h"

typedef struct lab_settings settings;
typedef const struct lab_fault_request request;

static void lr_high(settings *s, request *r)
{
    s->optimizer.lr *= r->severe ? 300 : 30;
}

static void lr_low(settings *s, request *r)
{
    s->optimizer.lr *= r->severe ? 1e-5 : 1e-3;
}

static void lr_zero(settings *s, request *r)
{
    (void)r;
    s->optimizer.lr = 0;
}

static void beta2_high(settings *s, request *r)
{
    s->optimizer.beta2 = r->severe ? 0.99999 : 0.9999;
}

static void epsilon_large(settings *s, request *r)
{
    s->optimizer.epsilon = r->severe ? 1 : 1e-2;
}

static void epsilon_zero(settings *s, request *r)
{
    s->optimizer.state_dtype = PLUMB_F16; /* which rounds 1e-8 to 0, and small squares too */
    s->optimizer.epsilon = r->severe ? 1e-8 : 6e-8;
}

static void decay_on_norms(settings *s, request *r)
{
    s->optimizer.decays_everything = true;
    s->optimizer.weight_decay *= r->severe ? 1000 : 100;
}

static void momentum_high(settings *s, request *r)
{
    s->optimizer.momentum = r->severe ? 0.9999 : 0.999;
}

static void no_warmup(settings *s, request *r)
{
    s->optimizer.warmup = 0;
    s->optimizer.lr *= r->severe ? 10 : 1;
}

static void wrong_horizon(settings *s, request *r)
{
    s->optimizer.horizon = r->severe ? s->optimizer.warmup + 2 : s->optimizer.horizon / 2;
}

static void optimizer_unbound(settings *s, request *r)
{
    s->optimizer.unbound = lab_fault_spread(r);
}

static void group_missing(settings *s, request *r)
{
    s->optimizer.misses_decaying = r->severe;
    s->optimizer.misses_others = !r->severe;
}

static void step_twice(settings *s, request *r)
{
    s->optimizer.updates_per_step = r->severe ? 4 : 2;
}

static void no_zero_grad(settings *s, request *r)
{
    s->optimizer.keeps_gradients = true;
    s->optimizer.clip = r->severe ? 0 : s->optimizer.clip;
}

static void clip_before_unscale(settings *s, request *r)
{
    s->optimizer.clip_before_unscale = true;
    s->optimizer.clip *= r->severe ? 0.01 : 1;
}

static void no_clip(settings *s, request *r)
{
    s->optimizer.clip = 0;
    s->optimizer.lr *= r->severe ? 30 : 1;
}

static const struct lab_fault faults[] = {
    {.name = "lr-high",
     .sentence = "the learning rate is 30 (severe: 300) times too high",
     .apply = lr_high},
    {.name = "lr-low",
     .sentence = "the learning rate is 1000 (severe: 100000) times too low",
     .apply = lr_low},
    {.name = "lr-zero", .sentence = "the learning rate is 0", .apply = lr_zero},
    {.name = "beta2-high",
     .sentence = "Adam's beta2 is 0.9999 (severe: 0.99999)",
     .apply = beta2_high,
     .needs_optimizer = true,
     .optimizer = LAB_ADAMW},
    {.name = "eps-large",
     .sentence = "Adam's epsilon is 0.01 (severe: 1), larger than most gradients",
     .apply = epsilon_large,
     .needs_optimizer = true,
     .optimizer = LAB_ADAMW},
    {.name = "eps-zero-f16",
     .sentence = "Adam's state and epsilon are kept in f16, where 1e-8 is 0",
     .apply = epsilon_zero,
     .needs_optimizer = true,
     .optimizer = LAB_ADAMW},
    {.name = "decay-norms",
     .sentence = "weight decay, too strong, is also applied to norms and biases",
     .apply = decay_on_norms,
     .needs_optimizer = true,
     .optimizer = LAB_ADAMW},
    {.name = "momentum-high",
     .sentence = "momentum is 0.999 (severe: 0.9999)",
     .apply = momentum_high,
     .needs_optimizer = true,
     .optimizer = LAB_MOMENTUM},
    {.name = "no-warmup",
     .sentence = "the learning rate starts at its peak (severe: ten times the peak)",
     .apply = no_warmup,
     .at_start = true},
    {.name = "wrong-horizon",
     .sentence = "the schedule ends half way (severe: right after the warm-up)",
     .apply = wrong_horizon},
    {.name = "optimizer-before-wrap",
     .sentence = "the optimizer holds parameters the model no longer uses (mild: of one layer)",
     .apply = optimizer_unbound,
     .one_layer = true},
    {.name = "group-missing",
     .sentence = "biases and norms (severe: the weights) were not given to the optimizer",
     .apply = group_missing},
    {.name = "step-twice",
     .sentence = "the optimizer steps twice (severe: four times) a step",
     .apply = step_twice},
    {.name = "no-zero-grad",
     .sentence = "gradients are never cleared (severe: nor clipped)",
     .apply = no_zero_grad},
    {.name = "clip-before-unscale",
     .sentence = "gradients are clipped while they still carry the loss scale",
     .apply = clip_before_unscale,
     .low_precision = true,
     .dtype = PLUMB_F16},
    {.name = "no-clip",
     .sentence = "gradients are not clipped (severe: at 30 times the learning rate)",
     .apply = no_clip},
};

const struct lab_fault_family lab_faults_optimizer = {"optimizer", faults,
                                                      sizeof faults / sizeof faults[0]};
