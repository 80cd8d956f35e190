/*
 * fault_model.c - what can be wrong with a network's structure, start and modes.
 */
#include "fault.h"

typedef struct lab_settings settings;
typedef const struct lab_fault_request request;

static void zero_init(settings *s, request *r)
{
    s->model.init_site = lab_fault_spread(r);
    s->model.init_factor = 0;
}

static void init_large(settings *s, request *r)
{
    s->model.init_site = lab_fault_site(r);
    s->model.init_factor = r->severe ? 10 : 3;
}

static void init_small(settings *s, request *r)
{
    s->model.init_site = lab_fault_site(r);
    s->model.init_factor = r->severe ? 0.1 : 0.3;
}

static void missing_activation(settings *s, request *r)
{
    s->model.no_activation = lab_fault_spread(r);
}

static void double_softmax(settings *s, request *r)
{
    s->model.loss = LAB_LOSS_OF_SOFTMAX;
    s->model.loss_gain = r->severe ? 1 : 4;
}

static void no_softmax(settings *s, request *r)
{
    s->model.loss = LAB_LOSS_FROM_PROBABILITIES;
    s->model.loss_floor = r->severe ? 1e-7 : 1e-2;
}

static void wrong_loss(settings *s, request *r)
{
    s->model.loss = r->severe ? LAB_LOSS_SQUARED_LOGITS : LAB_LOSS_SQUARED_SOFTMAX;
}

static void sum_reduction(settings *s, request *r)
{
    s->model.loss_factor = r->severe ? s->global_batch : 4;
}

static void detached_branch(settings *s, request *r)
{
    s->model.detached = lab_fault_spread(r);
}

static void frozen_block(settings *s, request *r)
{
    s->model.frozen = lab_fault_spread(r);
}

static void untied_weights(settings *s, request *r)
{
    s->model.untied = true;
    s->model.untied_afresh = r->severe;
}

static void norm_residual_swapped(settings *s, request *r)
{
    s->model.swapped_norm = lab_fault_spread(r);
}

static void dropout_in_eval(settings *s, request *r)
{
    s->model.dropout_in_eval = true;
    s->model.dropout = r->severe ? 0.5 : s->model.dropout;
}

static void norm_frozen(settings *s, request *r)
{
    s->model.norm_momentum = r->severe ? 0 : 0.001;
}

static void norm_eval_in_train(settings *s, request *r)
{
    s->model.running_norm = lab_fault_spread(r);
}

static void exp_activation(settings *s, request *r)
{
    s->model.exp_activation = lab_fault_spread(r);
}

static const struct lab_fault faults[] = {
    {.name = "zero-init",
     .sentence = "the weights start at zero (mild: of one layer)",
     .apply = zero_init,
     .one_layer = true,
     .at_start = true},
    {.name = "init-large",
     .sentence = "the weights start 3 (severe: 10) times too large",
     .apply = init_large,
     .at_start = true},
    {.name = "init-small",
     .sentence = "the weights start at 0.3 (severe: 0.1) of their size",
     .apply = init_small,
     .at_start = true},
    {.name = "missing-activation",
     .sentence = "a layer (severe: every layer) has no activation",
     .apply = missing_activation,
     .one_layer = true},
    {.name = "double-softmax",
     .sentence = "the loss gets probabilities and takes them for logits",
     .apply = double_softmax},
    {.name = "no-softmax",
     .sentence = "the loss gets logits and takes them for probabilities",
     .apply = no_softmax},
    {.name = "wrong-loss",
     .sentence = "squared error of probabilities (severe: of logits) instead of cross entropy",
     .apply = wrong_loss},
    {.name = "sum-reduction",
     .sentence = "the loss is summed over 4 samples (severe: the batch) instead of averaged",
     .apply = sum_reduction},
    {.name = "detached-branch",
     .sentence = "no gradient flows back through a layer (severe: any layer)",
     .apply = detached_branch,
     .one_layer = true},
    {.name = "frozen-block",
     .sentence = "a layer's (severe: all) parameters are not trained",
     .apply = frozen_block,
     .one_layer = true},
    {.name = "untied-weights",
     .sentence = "the head no longer shares the embedding's table (severe: and starts afresh)",
     .apply = untied_weights,
     .nets = LAB_ON_GPT,
     .at_start = true},
    {.name = "norm-residual-swapped",
     .sentence = "the residual is taken after the norm in one block (severe: all)",
     .apply = norm_residual_swapped,
     .nets = LAB_ON_GPT,
     .one_layer = true},
    {.name = "dropout-in-eval",
     .sentence = "dropout stays on in evaluation (severe: with probability 0.5)",
     .apply = dropout_in_eval},
    {.name = "bn-frozen",
     .sentence = "batch norm's running statistics hardly (severe: never) move",
     .apply = norm_frozen,
     .nets = LAB_ON_CNN},
    {.name = "bn-eval-in-train",
     .sentence = "batch norm uses running statistics in training (mild: in one stage)",
     .apply = norm_eval_in_train,
     .nets = LAB_ON_CNN,
     .one_layer = true},
    {.name = "exp-activation",
     .sentence = "the activation of one layer (severe: all) is the exponential function",
     .apply = exp_activation,
     .one_layer = true},
};

const struct lab_fault_family lab_faults_model = {"model", faults,
                                                  sizeof faults / sizeof faults[0]};
