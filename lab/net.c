/*
 * net.c - owns a network's memory and runs it forward and backward.
 */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "trouble.h"

#define LAB_NET(name) extern const struct lab_net_kind lab_net_##name;
#include "nets.def"
#undef LAB_NET

static const struct lab_net_kind *const kinds[] = {
#define LAB_NET(name) &lab_net_##name,
#include "nets.def"
#undef LAB_NET
};

const struct lab_net_kind *lab_net_kind_at(size_t i)
{
    return i < sizeof kinds / sizeof kinds[0] ? kinds[i] : NULL;
}

const struct lab_net_kind *lab_net_kind_find(const char *name)
{
    for (size_t i = 0; lab_net_kind_at(i); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

void *lab_net_allocate(struct lab_net *net, size_t count, size_t size)
{
    void **blocks = realloc(net->blocks, (net->block_count + 1) * sizeof *blocks);
    if (!blocks)
        lab_give_up("no memory for the network");
    net->blocks = blocks;
    void *block = lab_allocate(count, size);
    net->blocks[net->block_count++] = block;
    return block;
}

static void shape_tensor(struct lab_net *net, struct lab_tensor *tensor, int rank,
                         const int64_t *shape)
{
    tensor->rank = rank;
    tensor->count = 1;
    for (int i = 0; i < rank; i++) {
        tensor->shape[i] = shape[i];
        tensor->count *= (size_t)shape[i];
    }
    tensor->value = lab_net_allocate(net, tensor->count, sizeof(real));
    tensor->grad = lab_net_allocate(net, tensor->count, sizeof(real));
}

struct lab_tensor *lab_net_tensor(struct lab_net *net, const char *name, int rank,
                                  const int64_t *shape)
{
    if (net->tensor_count == LAB_MAX_TENSORS)
        lab_give_up("a network of more than %d tensors", LAB_MAX_TENSORS);
    struct lab_tensor *tensor = lab_net_allocate(net, 1, sizeof *tensor);
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    shape_tensor(net, tensor, rank, shape);
    net->tensors[net->tensor_count++] = tensor;
    return tensor;
}

static void initialise(struct lab_net *net, struct lab_parameter *parameter, enum lab_init init,
                       double deviation)
{
    const struct lab_model_settings *model = &net->settings->model;
    if (lab_site_hits(model->init_site, parameter->layer))
        deviation *= model->init_factor;
    struct lab_random random =
        lab_random_key(model->init_seed, lab_random_name(parameter->tensor.name), 0, 0);
    for (size_t i = 0; i < parameter->tensor.count; i++) {
        double value = init == LAB_INIT_ONE ? 1.0 : 0.0;
        if (init == LAB_INIT_NORMAL)
            value = deviation * lab_random_normal(&random);
        parameter->master[i] = (real)value;
        parameter->tensor.value[i] = (real)value;
    }
}

struct lab_parameter *lab_net_parameter(struct lab_net *net, const char *path, const char *name,
                                        int layer, int rank, const int64_t *shape,
                                        enum lab_init init, double deviation)
{
    if (net->parameter_count == LAB_MAX_PARAMETERS)
        lab_give_up("a network of more than %d parameters", LAB_MAX_PARAMETERS);
    struct lab_parameter *parameter = lab_net_allocate(net, 1, sizeof *parameter);
    const struct lab_numeric_settings *numeric = &net->settings->numeric;
    snprintf(parameter->tensor.name, sizeof parameter->tensor.name, "%s.%s", path, name);
    shape_tensor(net, &parameter->tensor, rank, shape);
    parameter->layer = layer;
    parameter->decays = rank > 1;
    parameter->trainable = !lab_site_hits(net->settings->model.frozen, layer);
    bool own = !lab_precision_is_exact(numeric->precision.compute) &&
               !lab_site_hits(numeric->no_master, layer);
    parameter->master = own ? lab_net_allocate(net, parameter->tensor.count, sizeof(real))
                            : parameter->tensor.value;
    initialise(net, parameter, init, deviation);
    net->parameters[net->parameter_count++] = parameter;
    return parameter;
}

struct lab_node *lab_net_node(struct lab_net *net, const struct lab_op *op, const char *path,
                              int layer, struct lab_tensor *in, int rank, const int64_t *shape)
{
    if (net->node_count == LAB_MAX_NODES)
        lab_give_up("a network of more than %d nodes", LAB_MAX_NODES);
    const struct lab_numeric_settings *numeric = &net->settings->numeric;
    struct lab_node *node = &net->nodes[net->node_count++];
    node->op = op;
    snprintf(node->path, sizeof node->path, "%s", path);
    node->layer = layer;
    node->in[0] = in;
    node->out = lab_net_tensor(net, path, rank, shape);
    node->precision =
        lab_site_hits(numeric->special_site, layer) ? numeric->special : numeric->precision;
    return node;
}

struct lab_net *lab_net_new(const struct lab_net_kind *kind,
                            const struct lab_settings *settings, uint64_t seed, int samples)
{
    struct lab_net *net = lab_allocate(1, sizeof *net);
    net->kind = kind;
    net->settings = settings;
    net->samples = samples;
    net->seed = seed;
    kind->build(net);
    lab_net_refresh(net);
    return net;
}

void lab_net_free(struct lab_net *net)
{
    if (!net)
        return;
    for (size_t i = 0; i < net->block_count; i++)
        free(net->blocks[i]);
    free(net->blocks);
    free(net);
}

void lab_net_adopt(struct lab_net *net, const struct lab_net *from)
{
    for (int i = 0; i < net->parameter_count; i++) {
        struct lab_parameter *to = net->parameters[i];
        for (int j = 0; j < from->parameter_count; j++) {
            const struct lab_parameter *old = from->parameters[j];
            if (strcmp(to->tensor.name, old->tensor.name) != 0)
                continue;
            memcpy(to->master, old->master, to->tensor.count * sizeof(real));
            memcpy(to->tensor.grad, old->tensor.grad, to->tensor.count * sizeof(real));
        }
    }
    for (int i = 0; i < net->node_count; i++)
        for (int j = 0; j < from->node_count && net->nodes[i].state[0]; j++)
            if (strcmp(net->nodes[i].path, from->nodes[j].path) == 0)
                for (int k = 0; k < 2; k++)
                    memcpy(net->nodes[i].state[k], from->nodes[j].state[k],
                           net->nodes[i].parameter[0]->tensor.count * sizeof(real));
    lab_net_refresh(net);
}

void lab_net_refresh(struct lab_net *net)
{
    const struct lab_precision *precision = &net->settings->numeric.precision;
    for (int i = 0; i < net->parameter_count; i++) {
        struct lab_parameter *parameter = net->parameters[i];
        if (parameter->master != parameter->tensor.value)
            memcpy(parameter->tensor.value, parameter->master,
                   parameter->tensor.count * sizeof(real));
        lab_round(precision, parameter->tensor.value, parameter->tensor.count);
    }
}

void lab_net_forward(struct lab_net *net, const struct lab_pass *pass,
                     const struct lab_observer *observer)
{
    if (net->input)
        memcpy(net->input->value, pass->batch->features, net->input->count * sizeof(real));
    for (int i = 0; i < net->node_count; i++) {
        struct lab_node *node = &net->nodes[i];
        if (observer)
            observer->enter(observer->context, node, LAB_FORWARD);
        node->op->forward(node, pass);
        if (node->out != net->loss)
            lab_round(&node->precision, node->out->value, node->out->count);
        if (observer)
            observer->leave(observer->context, node, LAB_FORWARD);
    }
}

static void round_gradients(const struct lab_node *node)
{
    for (int i = 0; i < LAB_INPUTS; i++)
        if (node->in[i])
            lab_round(&node->precision, node->in[i]->grad, node->in[i]->count);
    for (int i = 0; i < LAB_PARAMETERS; i++)
        if (node->parameter[i])
            lab_round(&node->precision, node->parameter[i]->tensor.grad,
                      node->parameter[i]->tensor.count);
}

void lab_net_backward(struct lab_net *net, const struct lab_pass *pass, real loss_scale,
                      const struct lab_observer *observer)
{
    for (int i = 0; i < net->tensor_count; i++)
        memset(net->tensors[i]->grad, 0, net->tensors[i]->count * sizeof(real));
    net->loss->grad[0] = loss_scale;
    for (int i = net->node_count - 1; i >= 0; i--) {
        struct lab_node *node = &net->nodes[i];
        if (observer)
            observer->enter(observer->context, node, LAB_BACKWARD);
        node->op->backward(node, pass);
        round_gradients(node);
        if (observer)
            observer->leave(observer->context, node, LAB_BACKWARD);
    }
    for (int i = 0; i < net->parameter_count; i++)
        if (!net->parameters[i]->trainable)
            memset(net->parameters[i]->tensor.grad, 0,
                   net->parameters[i]->tensor.count * sizeof(real));
}

void lab_net_clear_gradients(struct lab_net *net)
{
    for (int i = 0; i < net->parameter_count; i++) {
        struct lab_tensor *tensor = &net->parameters[i]->tensor;
        memset(tensor->grad, 0, tensor->count * sizeof(real));
        tensor->recorded_grad.known.known = false;
    }
}

int lab_net_correct(const struct lab_net *net, const struct lab_batch *batch)
{
    size_t classes = (size_t)net->kind->classes;
    int correct = 0;
    for (size_t row = 0; row < net->logits->count / classes; row++) {
        const real *x = net->logits->value + row * classes;
        size_t best = 0;
        for (size_t j = 1; j < classes; j++)
            if (x[j] > x[best])
                best = j;
        correct += (size_t)batch->labels[row] == best;
    }
    return correct;
}
