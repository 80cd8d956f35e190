/*
 * trainer.c - a step: wait for data, forward, backward, all-reduce, update; and what is written
 * down about it.
 */
#include "trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "evaluate.h"
#include "hardware.h"
#include "logbook.h"
#include "reduce.h"
#include "trouble.h"

struct trainer {
    const struct lab_training *training;
    const struct lab_plan *plan;
    const struct lab_settings *settings; /* of this step */
    int rank;
    int64_t step;
    int64_t schedule_origin, random_origin; /* steps counted from here: moves on a bad resume */
    struct lab_dataset *dataset;
    struct lab_pipeline *pipeline;
    struct lab_net *net;
    struct lab_optimizer optimizer;
    struct lab_loss_scale scale;
    struct lab_reducer reducer;
    struct lab_recording *recording;
    real
        *stale[LAB_MAX_PARAMETERS]; /* parameters before the last update, where they are used */
    FILE *log;
};

static void enter_node(void *context, struct lab_node *node, enum lab_phase phase)
{
    struct trainer *trainer = context;
    lab_recording_enter(trainer->recording, node, phase);
}

static void leave_node(void *context, struct lab_node *node, enum lab_phase phase)
{
    struct trainer *trainer = context;
    lab_hardware_touch(trainer->plan, trainer->net, trainer->step, node, phase);
    lab_recording_leave(trainer->recording, node, phase);
}

/* Takes up the settings of this step; a network built for others is built anew. */
static void settle(struct trainer *trainer)
{
    const struct lab_settings *settings =
        lab_plan_at(trainer->plan, trainer->step, trainer->rank);
    const struct lab_settings *before = trainer->settings;
    if (settings == before)
        return;
    trainer->settings = settings;
    struct lab_net *net = lab_net_new(trainer->plan->kind, settings, trainer->plan->seed,
                                      trainer->plan->local_batch);
    if (trainer->net)
        lab_net_adopt(net, trainer->net);
    lab_net_free(trainer->net);
    trainer->net = net;
    lab_optimizer_prepare(&trainer->optimizer, net);
    if (!before || before->numeric.initial_scale != settings->numeric.initial_scale ||
        before->numeric.dynamic_scale != settings->numeric.dynamic_scale)
        lab_loss_scale_start(&trainer->scale, &settings->numeric);
    if (settings->resume_loses & LAB_LOSES_MOMENTS)
        lab_optimizer_forget(&trainer->optimizer);
    if (settings->resume_loses & LAB_LOSES_RANDOM)
        trainer->random_origin = trainer->step;
    if (settings->resume_loses & LAB_LOSES_SCHEDULE)
        trainer->schedule_origin = trainer->step;
}

static void exchange_stale(struct trainer *trainer)
{
    for (int i = 0; i < trainer->net->parameter_count; i++) {
        struct lab_tensor *tensor = &trainer->net->parameters[i]->tensor;
        for (size_t j = 0; j < tensor->count; j++) {
            real held = tensor->value[j];
            tensor->value[j] = trainer->stale[i][j];
            trainer->stale[i][j] = held;
        }
        tensor->recorded_value.known.known = false;
    }
}

/* Keeps this step's parameters for the next, on a rank that will compute with old ones. */
static void keep_stale(struct trainer *trainer)
{
    for (int i = 0; i < trainer->net->parameter_count; i++) {
        struct lab_tensor *tensor = &trainer->net->parameters[i]->tensor;
        if (!trainer->stale[i])
            trainer->stale[i] = lab_allocate(tensor->count, sizeof(real));
        memcpy(trainer->stale[i], tensor->value, tensor->count * sizeof(real));
    }
}

static double compute(struct trainer *trainer, const struct lab_batch *batch)
{
    const struct lab_settings *settings = trainer->settings;
    struct lab_observer observer = {enter_node, leave_node, trainer};
    struct lab_pass pass = {.training = true,
                            .dropout = settings->model.dropout > 0,
                            .seed = trainer->plan->seed,
                            .random_step = trainer->step - trainer->random_origin,
                            .batch = batch};
    bool stale = settings->parallel.stale && trainer->stale[0];
    if (!settings->optimizer.keeps_gradients)
        lab_net_clear_gradients(trainer->net);
    if (stale)
        exchange_stale(trainer);
    int64_t begin = lab_recording_now();
    lab_hardware_delay(settings);
    lab_net_forward(trainer->net, &pass, &observer);
    lab_recording_phase(trainer->recording, "forward", begin);
    double loss = (double)trainer->net->loss->value[0];
    begin = lab_recording_now();
    lab_net_backward(trainer->net, &pass, (real)trainer->scale.scale, &observer);
    lab_recording_phase(trainer->recording, "backward", begin);
    if (stale)
        exchange_stale(trainer);
    if (trainer->plan->changed.parallel.stale)
        keep_stale(trainer);
    return loss;
}

static void clip(struct trainer *trainer, double norm)
{
    double limit = trainer->settings->optimizer.clip;
    if (limit > 0 && norm > limit)
        lab_gradient_multiply(trainer->net, limit / norm);
}

static void update(struct trainer *trainer, struct lab_step_result *result)
{
    const struct lab_settings *settings = trainer->settings;
    struct lab_net *net = trainer->net;
    bool scaled = lab_loss_scale_used(&settings->numeric);
    result->loss_scale = trainer->scale.scale;
    result->skipped = scaled && !lab_gradient_finite(net);
    if (settings->optimizer.clip_before_unscale)
        clip(trainer, lab_gradient_norm(net));
    if (scaled)
        lab_gradient_multiply(net, 1 / trainer->scale.scale);
    result->gradient_norm = lab_gradient_norm(net);
    if (!settings->optimizer.clip_before_unscale)
        clip(trainer, result->gradient_norm);
    result->rate =
        lab_schedule_rate(&settings->optimizer, trainer->step - trainer->schedule_origin);
    for (int i = 0; i < settings->optimizer.updates_per_step && !result->skipped; i++)
        result->update_norm +=
            lab_optimizer_update(&trainer->optimizer, net, &settings->optimizer, result->rate);
    lab_net_refresh(net);
    lab_loss_scale_after(&trainer->scale, &settings->numeric, result->skipped);
    lab_recording_update(trainer->recording, net, &trainer->optimizer);
}

static uint64_t weights_fingerprint(const struct lab_net *net)
{
    uint64_t all = 0;
    for (int i = 0; i < net->parameter_count; i++)
        all = all * 0x9e3779b97f4a7c15u +
              plumb_values_fingerprint(LAB_REAL_DTYPE, net->parameters[i]->master,
                                       net->parameters[i]->tensor.count);
    return all;
}

static uint64_t batch_fingerprint(const struct lab_net_kind *kind,
                                  const struct lab_batch *batch)
{
    size_t samples = (size_t)batch->samples;
    uint64_t values = plumb_values_fingerprint(LAB_REAL_DTYPE, batch->features,
                                               samples * lab_dataset_features(kind));
    uint64_t tokens =
        plumb_values_fingerprint(PLUMB_I32, batch->tokens, samples * (size_t)kind->tokens);
    uint64_t labels =
        plumb_values_fingerprint(PLUMB_I32, batch->labels, samples * lab_dataset_labels(kind));
    return (values * 31 + tokens) * 31 + labels;
}

/* How many different weights the ranks hold. All ranks call this. */
static int count_replicas(struct trainer *trainer, uint64_t mine)
{
    uint64_t all[LAB_MAX_RANKS];
    int different = 0;
    lab_all_gather(trainer->training->group, trainer->rank, mine, all);
    for (int i = 0; i < trainer->plan->ranks; i++) {
        bool first = true;
        for (int j = 0; j < i; j++)
            first = first && all[j] != all[i];
        different += first;
    }
    return different;
}

static void evaluate(struct trainer *trainer, struct lab_step_result *result)
{
    int every = trainer->settings->eval_every;
    bool last = trainer->step == trainer->plan->steps - 1;
    result->eval_loss = result->eval_accuracy = (double)NAN;
    if (!last && (every <= 0 || trainer->step % every != 0))
        return;
    int64_t begin = lab_recording_now();
    struct lab_evaluation evaluation =
        lab_evaluate(trainer->plan, trainer->settings, trainer->dataset, trainer->net,
                     trainer->training->group, trainer->rank, trainer->step);
    lab_recording_phase(trainer->recording, "evaluation", begin);
    result->eval_loss = evaluation.loss;
    result->eval_accuracy = evaluation.accuracy;
}

static void write_down(struct trainer *trainer, const struct lab_step_result *result)
{
    struct lab_recording *recording = trainer->recording;
    double samples = (double)trainer->plan->local_batch * trainer->plan->ranks;
    if (trainer->rank == 0)
        printf("step %" PRId64 " loss %.9g\n", result->step, result->loss);
    if (trainer->log)
        lab_logbook_write(trainer->log, result);
    lab_recording_series(recording, "loss", result->step, result->loss);
    lab_recording_series(recording, "lr", result->step, result->rate);
    lab_recording_series(recording, "grad_norm", result->step, result->gradient_norm);
    lab_recording_series(recording, "update_norm", result->step, result->update_norm);
    lab_recording_series(recording, "loss_scale", result->step, result->loss_scale);
    lab_recording_series(recording, "skipped", result->step, result->skipped);
    lab_recording_series(recording, "throughput", result->step, samples / result->seconds);
    lab_recording_series(recording, "replicas", result->step, result->replicas);
    if (isnan(result->eval_accuracy))
        return;
    lab_recording_series(recording, "eval_loss", result->step, result->eval_loss);
    lab_recording_series(recording, "eval_accuracy", result->step, result->eval_accuracy);
}

static void train_step(struct trainer *trainer)
{
    struct lab_step_result result = {.step = trainer->step};
    struct lab_recording *recording = trainer->recording;
    int64_t start = lab_recording_now(), begin = start;
    settle(trainer);
    lab_recording_step_begin(recording, trainer->step);
    struct lab_batch *batch = lab_pipeline_next(trainer->pipeline);
    lab_recording_phase(recording, "data wait", begin);
    lab_recording_queues(recording, trainer->pipeline);
    lab_recording_batch(recording, trainer->plan->kind, batch);

    real loss = (real)compute(trainer, batch);
    result.batch = batch_fingerprint(trainer->plan->kind, batch);
    lab_pipeline_return(trainer->pipeline, batch);

    begin = lab_recording_now();
    lab_reduce_gradients(&trainer->reducer, trainer->net, trainer->settings, trainer->step,
                         recording);
    lab_all_reduce(trainer->training->group, trainer->rank, &loss, 1);
    result.loss = isnan(loss) ? (double)NAN : (double)loss / trainer->plan->ranks;
    lab_recording_phase(recording, "all-reduce", begin);

    begin = lab_recording_now();
    update(trainer, &result);
    lab_recording_phase(recording, "optimizer", begin);
    result.weights = weights_fingerprint(trainer->net);
    result.replicas = count_replicas(trainer, result.weights);
    result.seconds = (double)(lab_recording_now() - start) * 1e-9;
    evaluate(trainer, &result);
    write_down(trainer, &result);
    lab_recording_step_end(recording);
}

int lab_train_rank(void *training_context, int rank)
{
    const struct lab_training *training = training_context;
    struct trainer trainer = {.training = training, .plan = &training->plan, .rank = rank};
    trainer.recording = lab_recording_open(&training->recording, trainer.plan, rank);
    trainer.log = training->log_path && rank == 0 ? lab_logbook_open(training->log_path) : NULL;
    trainer.dataset = lab_dataset_new(trainer.plan->kind, trainer.plan->seed);
    settle(&trainer);
    lab_reducer_start(&trainer.reducer, trainer.plan, training->group, rank, trainer.net);
    trainer.pipeline = lab_pipeline_start(trainer.plan, trainer.dataset, rank, 0);
    for (; trainer.step < trainer.plan->steps; trainer.step++)
        train_step(&trainer);
    bool written = rank != 0 || !training->checkpoint_path ||
                   lab_checkpoint_write(training->checkpoint_path, trainer.net);
    lab_pipeline_stop(trainer.pipeline);
    lab_recording_close(trainer.recording);
    lab_reducer_release(&trainer.reducer);
    lab_optimizer_release(&trainer.optimizer);
    lab_net_free(trainer.net);
    lab_dataset_free(trainer.dataset);
    for (int i = 0; i < LAB_MAX_PARAMETERS; i++)
        free(trainer.stale[i]);
    if (trainer.log)
        fclose(trainer.log);
    return written ? 0 : 2;
}
