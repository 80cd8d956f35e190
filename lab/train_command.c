/*
 * train_command.c - `lab train`: options into a plan, and off.
 */
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "command.h"
#include "fault.h"
#include "number.h"
#include "optimizer.h"
#include "reduce.h"
#include "trainer.h"
#include "trouble.h"

#define LAB_OPTION(id, name, argument, help) OPTION_##id,
enum option {
#include "options.def"
    OPTION_COUNT
};
#undef LAB_OPTION

static const struct {
    const char *name, *argument, *help;
} options[] = {
#define LAB_OPTION(id, name, argument, help) {name, argument, help},
#include "options.def"
#undef LAB_OPTION
};

struct choices {
    const char *text[OPTION_COUNT]; /* NULL: not given */
};

void lab_print_train_options(void)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", options[i].name, options[i].argument);
        printf("  %-26s %s\n", left, options[i].help);
    }
}

static void collect(int count, char **words, struct choices *choices)
{
    *choices = (struct choices){{NULL}};
    for (int i = 0; i < count; i++) {
        int id = 0;
        while (id < OPTION_COUNT && strcmp(words[i], options[id].name) != 0)
            id++;
        if (id == OPTION_COUNT)
            lab_give_up("train has no option '%s': `lab --help` lists them", words[i]);
        if (++i == count)
            lab_give_up("%s needs %s", options[id].name, options[id].argument);
        choices->text[id] = words[i];
    }
}

static int whole(const struct choices *choices, enum option id, int low, int high,
                 int otherwise)
{
    const char *text = choices->text[id];
    return text ? (int)lab_number(options[id].name, text, low, high) : otherwise;
}

static double fraction(const struct choices *choices, enum option id, double high,
                       double otherwise)
{
    const char *text = choices->text[id];
    return text ? lab_fraction(options[id].name, text, 0, high) : otherwise;
}

_Noreturn static void refuse(const struct choices *choices, enum option id)
{
    lab_give_up("%s is %s, not '%s'", options[id].name, options[id].argument,
                choices->text[id]);
}

static enum plumb_dtype dtype_of(const struct choices *choices, enum option id,
                                 enum plumb_dtype otherwise)
{
    enum plumb_dtype dtype = otherwise;
    const char *text = choices->text[id];
    if (text && (!plumb_dtype_from_name(text, &dtype) ||
                 (dtype != PLUMB_F32 && dtype != PLUMB_F16 && dtype != PLUMB_BF16)))
        refuse(choices, id);
    return dtype;
}

static void read_optimizer(const struct choices *choices, struct lab_settings *settings,
                           int steps)
{
    struct lab_optimizer_settings *optimizer = &settings->optimizer;
    /* Plain gradient steps have no scale of their own: they want a larger rate than Adam's. */
    if (optimizer->kind == LAB_SGD)
        optimizer->lr *= 50;
    if (optimizer->kind == LAB_MOMENTUM)
        optimizer->lr *= 10;
    optimizer->lr = fraction(choices, OPTION_LR, 1e6, optimizer->lr);
    const char *schedule = choices->text[OPTION_SCHEDULE];
    if (schedule && !lab_schedule_from_name(schedule, &optimizer->schedule))
        refuse(choices, OPTION_SCHEDULE);
    optimizer->warmup = whole(choices, OPTION_WARMUP, 0, 1000000, optimizer->warmup);
    optimizer->clip = fraction(choices, OPTION_CLIP, 1e30, optimizer->clip);
    optimizer->weight_decay = fraction(choices, OPTION_DECAY, 10, optimizer->weight_decay);
    optimizer->horizon = steps;
}

static void read_numeric(const struct choices *choices, struct lab_numeric_settings *numeric)
{
    numeric->precision.accumulate = dtype_of(choices, OPTION_ACCUMULATE, PLUMB_F32);
    static const char *const sums[LAB_SUMS_COUNT] = {"ascending", "descending", "blocks"};
    const char *order = choices->text[OPTION_SUMS];
    while (order && numeric->precision.sums < LAB_SUMS_COUNT &&
           strcmp(order, sums[numeric->precision.sums]) != 0)
        numeric->precision.sums++;
    if (numeric->precision.sums == LAB_SUMS_COUNT)
        refuse(choices, OPTION_SUMS);
    const char *round = choices->text[OPTION_ROUND];
    if (round && !plumb_round_from_name(round, &numeric->precision.round))
        refuse(choices, OPTION_ROUND);
    const char *scale = choices->text[OPTION_LOSS_SCALE];
    if (scale && strcmp(scale, "dynamic") != 0) {
        numeric->dynamic_scale = false;
        numeric->initial_scale = lab_fraction("--loss-scale", scale, 1e-30, 1e30);
    }
}

static void read_recording(const struct choices *choices, struct lab_training *training)
{
    struct lab_recording_options *recording = &training->recording;
    recording->path = choices->text[OPTION_OUT];
    recording->steps = choices->text[OPTION_RECORD_STEPS];
    recording->level = PLUMB_LEVEL_OP;
    recording->save = PLUMB_SAVE_STATS;
    if (choices->text[OPTION_LEVEL] &&
        !plumb_level_from_name(choices->text[OPTION_LEVEL], &recording->level))
        refuse(choices, OPTION_LEVEL);
    if (choices->text[OPTION_SAVE] &&
        !plumb_save_from_name(choices->text[OPTION_SAVE], &recording->save))
        refuse(choices, OPTION_SAVE);
    training->log_path = choices->text[OPTION_LOG];
    training->checkpoint_path = choices->text[OPTION_CHECKPOINT];
}

/* Of those that mpirun started there are as many as there are. */
static int read_ranks(const struct choices *choices, int started)
{
    if (started > LAB_MAX_RANKS)
        lab_give_up("at most %d ranks, but mpirun started %d", LAB_MAX_RANKS, started);
    int ranks = whole(choices, OPTION_RANKS, 1, LAB_MAX_RANKS, started ? started : 1);
    if (started && ranks != started)
        lab_give_up("--ranks is %d, but mpirun started %d: use `mpirun -n %d` and leave it out",
                    ranks, started, ranks);
    return ranks;
}

/* Network, ranks, type and optimizer decide over the other defaults, and a fault may need them. */
static void read_basis(const struct choices *choices, struct lab_fault_request *request,
                       struct lab_plan *plan)
{
    const char *net = choices->text[OPTION_NET], *kind_name = choices->text[OPTION_OPTIMIZER];
    enum lab_optimizer_kind optimizer = LAB_ADAMW;
    plan->kind = lab_net_kind_find(net ? net : "mlp");
    if (!plan->kind)
        refuse(choices, OPTION_NET);
    if (kind_name && !lab_optimizer_from_name(kind_name, &optimizer))
        refuse(choices, OPTION_OPTIMIZER);
    int started = lab_group_started();
    plan->ranks = read_ranks(choices, started);
    enum plumb_dtype dtype = dtype_of(choices, OPTION_DTYPE, PLUMB_F32);
    if (request->fault) {
        struct lab_fault_given given = {net, choices->text[OPTION_RANKS] || started,
                                        choices->text[OPTION_DTYPE], kind_name};
        lab_fault_require(request, &given, &plan->kind, &plan->ranks, &dtype, &optimizer);
    }
    lab_settings_default(&plan->usual);
    plan->kind->defaults(&plan->usual);
    plan->usual.optimizer.kind = optimizer;
    plan->usual.numeric.precision.compute = dtype;
}

static void read_plan(const struct choices *choices, struct lab_plan *plan)
{
    struct lab_fault_request request = {NULL, false, 0, 0, 0};
    struct lab_settings *usual = &plan->usual;
    if (choices->text[OPTION_FAULT])
        lab_fault_parse(choices->text[OPTION_FAULT], &request);
    read_basis(choices, &request, plan);
    plan->steps = whole(choices, OPTION_STEPS, 1, 1000000, 100);
    plan->seed = (uint64_t)whole(choices, OPTION_SEED, 0, 2000000000, 1);
    usual->model.init_seed = plan->seed;
    usual->global_batch = whole(choices, OPTION_BATCH, plan->ranks, 4096, usual->global_batch);
    plan->local_batch = (usual->global_batch + plan->ranks - 1) / plan->ranks;
    usual->global_batch = plan->local_batch * plan->ranks;
    usual->model.dropout = fraction(choices, OPTION_DROPOUT, 0.9, usual->model.dropout);
    usual->data.workers = whole(choices, OPTION_WORKERS, 1, 8, usual->data.workers);
    usual->eval_every = whole(choices, OPTION_EVAL_EVERY, 0, 1000000, usual->eval_every);
    read_optimizer(choices, usual, plan->steps);
    read_numeric(choices, &usual->numeric);
    plan->changed = *usual;
    plan->change_step = plan->steps;
    plan->change_rank = LAB_ALL_RANKS;
    if (request.fault)
        lab_fault_install(&request, plan);
}

int lab_command_train(int count, char **words)
{
    struct lab_training training = {0};
    struct choices choices;
    collect(count, words, &choices);
    read_plan(&choices, &training.plan);
    read_recording(&choices, &training);
    struct lab_net *net = lab_net_new(training.plan.kind, &training.plan.usual,
                                      training.plan.seed, training.plan.local_batch);
    training.group = lab_group_new(training.plan.ranks, lab_reduce_capacity(net));
    lab_net_free(net);
    int status = lab_group_run(training.group, lab_train_rank, &training);
    lab_group_free(training.group);
    return status;
}
