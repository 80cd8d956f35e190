/*
 * recording.c - the only file that talks to plumb's recorder.
 */
#include "recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trouble.h"

struct lab_recording {
    struct plumb_recorder *recorder;
    int64_t sequence; /* of collectives */
    bool saves_values;
    bool told;
    int memory; /* /proc/self/statm, or -1 */
};

int64_t lab_recording_now(void)
{
    return plumb_record_now();
}

static void number(struct lab_recording *recording, const char *key, double value)
{
    char json[32];
    snprintf(json, sizeof json, "%.9g", value);
    plumb_record_config(recording->recorder, key, json);
}

static void word(struct lab_recording *recording, const char *key, const char *value)
{
    char json[96];
    snprintf(json, sizeof json, "\"%s\"", value);
    plumb_record_config(recording->recorder, key, json);
}

/* What a program's configuration file would hold. */
static void write_configuration(struct lab_recording *recording, const struct lab_plan *plan,
                                const struct lab_settings *s)
{
    word(recording, "model.name", plan->kind->name);
    number(recording, "model.classes", plan->kind->classes);
    number(recording, "model.layers", plan->kind->layers);
    number(recording, "model.dropout", s->model.dropout);
    word(recording, "optimizer.name", lab_optimizer_name(s->optimizer.kind));
    number(recording, "optimizer.lr", s->optimizer.lr);
    number(recording, "optimizer.beta1", s->optimizer.beta1);
    number(recording, "optimizer.beta2", s->optimizer.beta2);
    number(recording, "optimizer.eps", s->optimizer.epsilon);
    number(recording, "optimizer.momentum", s->optimizer.momentum);
    number(recording, "optimizer.weight_decay", s->optimizer.weight_decay);
    number(recording, "optimizer.clip", s->optimizer.clip);
    word(recording, "schedule.name", lab_schedule_name(s->optimizer.schedule));
    number(recording, "schedule.warmup", s->optimizer.warmup);
    number(recording, "schedule.steps", s->optimizer.horizon);
    word(recording, "precision.compute", plumb_dtype_name(s->numeric.precision.compute));
    word(recording, "precision.accumulate", plumb_dtype_name(s->numeric.precision.accumulate));
    word(recording, "precision.round", plumb_round_name(s->numeric.precision.round));
    word(recording, "loss_scale.kind", s->numeric.dynamic_scale ? "dynamic" : "static");
    number(recording, "loss_scale.initial", s->numeric.initial_scale);
    number(recording, "loss_scale.window", s->numeric.scale_window);
    number(recording, "data.workers", s->data.workers);
    number(recording, "batch.global", s->global_batch);
    number(recording, "batch.local", plan->local_batch);
    number(recording, "parallel.data", plan->ranks);
    number(recording, "seed", (double)plan->seed);
    number(recording, "steps", plan->steps);
}

static void tell(struct lab_recording *recording)
{
    const char *message = plumb_recorder_message(recording->recorder);
    if (!message || recording->told)
        return;
    fprintf(stderr, "lab: %s\n", message);
    recording->told = true;
}

struct lab_recording *lab_recording_open(const struct lab_recording_options *options,
                                         const struct lab_plan *plan, int rank)
{
    struct plumb_error error;
    if (!options->path)
        return NULL;
    /* The command line as a healthy run of this kind would have it. */
    char command[128];
    snprintf(command, sizeof command, "lab train --net %s --steps %d --seed %llu --ranks %d",
             plan->kind->name, plan->steps, (unsigned long long)plan->seed, plan->ranks);
    struct plumb_recorder_options request = {.path = options->path,
                                             .rank = rank,
                                             .world_size = plan->ranks,
                                             .framework = "lab",
                                             .command_line = command,
                                             .level = options->level,
                                             .save = options->save,
                                             .steps = options->steps};
    struct lab_recording *recording = lab_allocate(1, sizeof *recording);
    if (plumb_recorder_open(&request, &recording->recorder, &error)) {
        fprintf(stderr, "lab: not recorded: %s\n", error.message);
        free(recording);
        return NULL;
    }
    const struct lab_settings *settings = lab_plan_at(plan, 0, rank);
    recording->saves_values = options->save == PLUMB_SAVE_TENSORS;
    recording->memory = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    write_configuration(recording, plan, settings);
    return recording;
}

void lab_recording_close(struct lab_recording *recording)
{
    struct plumb_error error;
    if (!recording)
        return;
    tell(recording);
    if (plumb_recorder_close(recording->recorder, NULL, &error) && !recording->told)
        fprintf(stderr, "lab: %s\n", error.message);
    if (recording->memory >= 0)
        close(recording->memory);
    free(recording);
}

void lab_recording_step_begin(struct lab_recording *recording, int64_t step)
{
    if (recording)
        plumb_record_step_begin(recording->recorder, step);
}

static double resident_bytes(const struct lab_recording *recording)
{
    char text[128];
    const ssize_t size = pread(recording->memory, text, sizeof text - 1, 0);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *second = strchr(text, ' '); /* all pages, resident ones, ... */
    return second ? strtod(second, NULL) * (double)sysconf(_SC_PAGESIZE) : 0;
}

void lab_recording_step_end(struct lab_recording *recording)
{
    if (!recording)
        return;
    if (plumb_record_wants_spans(recording->recorder))
        plumb_record_counter(recording->recorder, "memory.resident", plumb_record_now(),
                             resident_bytes(recording));
    plumb_record_step_end(recording->recorder);
    tell(recording);
}

void lab_recording_series(struct lab_recording *recording, const char *name, int64_t step,
                          double value)
{
    if (recording)
        plumb_record_series(recording->recorder, name, step, value);
}

void lab_recording_phase(struct lab_recording *recording, const char *name, int64_t begin)
{
    if (recording)
        plumb_record_span(recording->recorder, "host/step", name, begin, plumb_record_now());
}

void lab_recording_queues(struct lab_recording *recording, struct lab_pipeline *pipeline)
{
    const char *name;
    size_t length, capacity;
    if (!recording || !plumb_record_wants_spans(recording->recorder))
        return;
    int64_t now = plumb_record_now();
    for (int i = 0; lab_pipeline_queue(pipeline, i, &name, &length, &capacity); i++) {
        char counter[48];
        snprintf(counter, sizeof counter, "queue.%s.length", name);
        plumb_record_counter(recording->recorder, counter, now, (double)length);
        snprintf(counter, sizeof counter, "queue.%s.capacity", name);
        plumb_record_counter(recording->recorder, counter, now, (double)capacity);
    }
}

/* Values as the narrow type they stand for, so that statistics speak of that type. */
static void record_values(struct lab_recording *recording, const char *slot,
                          enum plumb_dtype dtype, const struct lab_tensor *tensor,
                          const real *values, struct plumb_known *known)
{
    if (dtype == LAB_REAL_DTYPE || (known->known && !recording->saves_values)) {
        plumb_record_known(recording->recorder, slot, dtype, tensor->rank, tensor->shape,
                           dtype == LAB_REAL_DTYPE ? values : NULL, known);
        return;
    }
    void *narrow = lab_allocate(tensor->count, plumb_dtype_size(dtype));
    (void)plumb_convert_values(LAB_REAL_DTYPE, values, dtype, narrow, tensor->count,
                               PLUMB_ROUND_NEAREST_EVEN, NULL);
    plumb_record_known(recording->recorder, slot, dtype, tensor->rank, tensor->shape, narrow,
                       known);
    free(narrow);
}

void lab_recording_batch(struct lab_recording *recording, const struct lab_net_kind *kind,
                         const struct lab_batch *batch)
{
    if (!recording || !plumb_record_wants_tensors(recording->recorder))
        return;
    int64_t samples = batch->samples;
    int64_t features[] = {samples, (int64_t)lab_dataset_features(kind)};
    int64_t tokens[] = {samples, kind->tokens}, labels[] = {samples, batch->labels_per_sample};
    plumb_record_enter(recording->recorder, PLUMB_PHASE_FORWARD, "data", "batch",
                       PLUMB_CALL_COUNTED);
    if (kind->tokens)
        plumb_record_tensor(recording->recorder, "output0", PLUMB_I32, 2, tokens,
                            batch->tokens);
    else
        plumb_record_tensor(recording->recorder, "output0", LAB_REAL_DTYPE, 2, features,
                            batch->features);
    plumb_record_tensor(recording->recorder, "output1", PLUMB_I32, 2, labels, batch->labels);
    plumb_record_leave(recording->recorder);
}

static struct plumb_place *find_place(struct lab_recording *recording,
                                      const struct lab_node *node, enum lab_phase phase)
{
    /* "layers.0.linear" is the operator linear of the module layers.0 */
    char module[LAB_NAME];
    size_t path = strlen(node->path), name = strlen(node->op->name);
    bool repeats = path > name + 1 && node->path[path - name - 1] == '.' &&
                   strcmp(node->path + path - name, node->op->name) == 0;
    snprintf(module, sizeof module, "%.*s", (int)(repeats ? path - name - 1 : path),
             node->path);
    return plumb_record_place(recording->recorder,
                              phase == LAB_FORWARD ? PLUMB_PHASE_FORWARD : PLUMB_PHASE_BACKWARD,
                              module, node->op->name);
}

void lab_recording_enter(struct lab_recording *recording, struct lab_node *node,
                         enum lab_phase phase)
{
    if (!recording)
        return;
    if (!node->place[phase])
        node->place[phase] = find_place(recording, node, phase);
    plumb_record_enter_place(recording->recorder, node->place[phase], PLUMB_CALL_COUNTED);
}

/* The type that a tensor's values stand for; the loss is never rounded. */
static enum plumb_dtype dtype_of(const struct lab_node *node, const struct lab_tensor *tensor)
{
    bool exact = tensor->rank == 0 || lab_precision_is_exact(node->precision.compute);
    return exact ? LAB_REAL_DTYPE : node->precision.compute;
}

/* What the operator wrote: its numbers are computed, and kept for the operators that read it. */
static void record_written(struct lab_recording *recording, const struct lab_node *node,
                           const char *slot, const struct lab_tensor *tensor,
                           const real *values, struct lab_recorded *recorded)
{
    recorded->known.known = false;
    recorded->dtype = dtype_of(node, tensor);
    record_values(recording, slot, recorded->dtype, tensor, values, &recorded->known);
}

/* What it read, and what nobody wrote since the operator before recorded it. */
static void record_read(struct lab_recording *recording, const struct lab_node *node,
                        const char *slot, const struct lab_tensor *tensor, const real *values,
                        const struct lab_recorded *recorded)
{
    struct plumb_known known = recorded->known;
    enum plumb_dtype dtype = dtype_of(node, tensor);
    known.known = known.known && recorded->dtype == dtype;
    record_values(recording, slot, dtype, tensor, values, &known);
}

static const char *const input_slots[LAB_INPUTS] = {"input0", "input1"};
static const char *const output_slots[LAB_INPUTS] = {"output0", "output1"};
static const char *const param_slots[LAB_PARAMETERS] = {"param:weight", "param:bias"};
static const char *const grad_slots[LAB_PARAMETERS] = {"grad:weight", "grad:bias"};

/* Most often what the last update left. */
static void record_parameter(struct lab_recording *recording, const struct lab_node *node,
                             const char *slot, struct lab_tensor *tensor)
{
    struct lab_recorded *recorded = &tensor->recorded_value;
    enum plumb_dtype dtype = dtype_of(node, tensor);
    recorded->known.known = recorded->known.known && recorded->dtype == dtype;
    recorded->dtype = dtype;
    record_values(recording, slot, dtype, tensor, tensor->value, &recorded->known);
}

static void record_forward(struct lab_recording *recording, struct lab_node *node)
{
    for (int i = 0; i < LAB_INPUTS && node->in[i]; i++)
        record_read(recording, node, input_slots[i], node->in[i], node->in[i]->value,
                    &node->in[i]->recorded_value);
    for (int i = 0; i < LAB_PARAMETERS && node->parameter[i]; i++)
        record_parameter(recording, node, param_slots[i], &node->parameter[i]->tensor);
    record_written(recording, node, "output0", node->out, node->out->value,
                   &node->out->recorded_value);
}

/* A sum gives both its inputs the gradient that it got, which is known: to see that takes less than to
 * examine it. */
static void record_handed_on(struct lab_recording *recording, const struct lab_node *node,
                             const char *slot, struct lab_tensor *in)
{
    const struct lab_tensor *out = node->out;
    const bool same = out->recorded_grad.known.known && in->count == out->count &&
                      memcmp(in->grad, out->grad, in->count * sizeof(real)) == 0;
    if (same) {
        in->recorded_grad = out->recorded_grad;
        record_read(recording, node, slot, in, in->grad, &in->recorded_grad);
    } else {
        record_written(recording, node, slot, in, in->grad, &in->recorded_grad);
    }
}

static void record_backward(struct lab_recording *recording, struct lab_node *node)
{
    record_read(recording, node, "input0", node->out, node->out->grad,
                &node->out->recorded_grad);
    for (int i = 0; i < LAB_INPUTS && node->in[i]; i++)
        record_handed_on(recording, node, output_slots[i], node->in[i]);
    for (int i = 0; i < LAB_PARAMETERS && node->parameter[i]; i++) {
        struct lab_tensor *tensor = &node->parameter[i]->tensor;
        record_written(recording, node, grad_slots[i], tensor, tensor->grad,
                       &tensor->recorded_grad);
    }
}

void lab_recording_leave(struct lab_recording *recording, struct lab_node *node,
                         enum lab_phase phase)
{
    if (!recording)
        return;
    if (plumb_record_wants_tensors(recording->recorder)) {
        if (phase == LAB_FORWARD)
            record_forward(recording, node);
        else
            record_backward(recording, node);
    }
    plumb_record_leave(recording->recorder);
}

void lab_recording_reduce(struct lab_recording *recording, int message, const real *before,
                          const real *after, size_t count, int64_t begin)
{
    if (!recording)
        return;
    int64_t end = plumb_record_now(), shape[] = {(int64_t)count};
    char module[32];
    snprintf(module, sizeof module, "gradients.%d", message);
    if (plumb_record_wants_tensors(recording->recorder)) {
        plumb_record_enter(recording->recorder, PLUMB_PHASE_COLLECTIVE, module, "all_reduce",
                           PLUMB_CALL_COUNTED);
        plumb_record_tensor(recording->recorder, "input0", LAB_REAL_DTYPE, 1, shape, before);
        plumb_record_tensor(recording->recorder, "output0", LAB_REAL_DTYPE, 1, shape, after);
        plumb_record_leave(recording->recorder);
    }
    struct plumb_collective collective = {.group = "data",
                                          .name = "all_reduce",
                                          .sequence = recording->sequence++,
                                          .bytes = count * sizeof(real),
                                          .begin_ns = begin,
                                          .end_ns = end};
    plumb_record_collective(recording->recorder, &collective);
}

static void record_update(struct lab_recording *recording, struct lab_parameter *parameter,
                          real *const moments[2])
{
    struct lab_tensor *tensor = &parameter->tensor;
    struct lab_recorded *kept = &tensor->recorded_value;
    struct plumb_known grad = tensor->recorded_grad.known, unknown[2] = {{.known = false}};
    grad.known = grad.known && tensor->recorded_grad.dtype == LAB_REAL_DTYPE;
    if (!parameter->update_place)
        parameter->update_place = plumb_record_place(recording->recorder, PLUMB_PHASE_OPTIMIZER,
                                                     tensor->name, "update");
    *kept = (struct lab_recorded){.dtype = LAB_REAL_DTYPE}; /* the update has just written it */
    struct {
        const char *slot;
        const real *values;
        struct plumb_known *known;
    } const slots[] = {{"grad", tensor->grad, &grad},
                       {"param", parameter->master, &kept->known},
                       {"moment1", moments[0], &unknown[0]},
                       {"moment2", moments[1], &unknown[1]}};
    plumb_record_enter_place(recording->recorder, parameter->update_place, PLUMB_CALL_COUNTED);
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++)
        plumb_record_known(recording->recorder, slots[i].slot, LAB_REAL_DTYPE, tensor->rank,
                           tensor->shape, slots[i].values, slots[i].known);
    plumb_record_leave(recording->recorder);
    if (parameter->master != tensor->value)
        kept->known.known = false;
}

void lab_recording_update(struct lab_recording *recording, struct lab_net *net,
                          const struct lab_optimizer *optimizer)
{
    if (!recording)
        return;
    bool wanted = plumb_record_wants_tensors(recording->recorder);
    for (int i = 0; i < net->parameter_count; i++) {
        if (wanted)
            record_update(recording, net->parameters[i], optimizer->moments[i]);
        else
            net->parameters[i]->tensor.recorded_value.known.known = false;
    }
}
