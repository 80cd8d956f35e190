/*
 * build.c - layers as nodes with their parameters, memory and starting values. The places where
 * the settings may change the structure (activation, cut, loss) are here, once for all networks.
 */
#include "build.h"

#include <math.h>
#include <stdio.h>

#include "trouble.h"

static struct lab_tensor *same_shape(struct lab_net *net, const struct lab_op *op,
                                     const char *path, int layer, struct lab_tensor *x)
{
    return lab_net_node(net, op, path, layer, x, x->rank, x->shape)->out;
}

static struct lab_node *linear(struct lab_net *net, const char *path, int layer,
                               struct lab_tensor *x, int64_t width)
{
    int64_t shape[LAB_DIMENSIONS];
    for (int i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    shape[x->rank - 1] = width;
    struct lab_node *node = lab_net_node(net, &lab_op_linear, path, layer, x, x->rank, shape);
    node->scratch =
        lab_net_allocate(net, (size_t)(width * x->shape[x->rank - 1]), sizeof(real));
    return node;
}

static void own_weights(struct lab_net *net, struct lab_node *node, double spread)
{
    const struct lab_tensor *x = node->in[0], *y = node->out;
    int64_t in = x->shape[x->rank - 1], out = y->shape[y->rank - 1];
    node->parameter[0] =
        lab_net_parameter(net, node->path, "weight", node->layer, 2, (int64_t[]){out, in},
                          LAB_INIT_NORMAL, spread / sqrt((double)in));
    node->parameter[1] =
        lab_net_parameter(net, node->path, "bias", node->layer, 1, &out, LAB_INIT_ZERO, 0);
}

struct lab_tensor *lab_build_linear(struct lab_net *net, const char *path, int layer,
                                    struct lab_tensor *x, int64_t width)
{
    struct lab_node *node = linear(net, path, layer, x, width);
    own_weights(net, node, sqrt(2.0));
    return node->out;
}

struct lab_tensor *lab_build_head(struct lab_net *net, int layer, struct lab_tensor *x,
                                  struct lab_parameter *tied)
{
    struct lab_node *node = linear(net, "head", layer, x, net->kind->classes);
    if (tied)
        node->parameter[0] = tied;
    else
        own_weights(net, node, 0.2);
    return node->out;
}

struct lab_tensor *lab_build_conv2d(struct lab_net *net, const char *path, int layer,
                                    struct lab_tensor *x, int64_t channels)
{
    int64_t in = x->shape[3], shape[] = {x->shape[0], x->shape[1], x->shape[2], channels};
    struct lab_node *node = lab_net_node(net, &lab_op_conv2d, path, layer, x, 4, shape);
    node->parameter[0] =
        lab_net_parameter(net, path, "weight", layer, 4, (int64_t[]){channels, 3, 3, in},
                          LAB_INIT_NORMAL, sqrt(2.0 / (9.0 * (double)in)));
    node->saved = lab_net_allocate(net, x->count * 9, sizeof(real));
    node->scratch = lab_net_allocate(net, (size_t)(channels * 9 * in), sizeof(real));
    return node->out;
}

struct lab_tensor *lab_build_norm(struct lab_net *net, const struct lab_op *op,
                                  const char *path, int layer, struct lab_tensor *x)
{
    const struct lab_model_settings *model = &net->settings->model;
    int64_t width = x->shape[x->rank - 1];
    struct lab_node *node = lab_net_node(net, op, path, layer, x, x->rank, x->shape);
    node->parameter[0] =
        lab_net_parameter(net, path, "weight", layer, 1, &width, LAB_INIT_ONE, 0);
    node->parameter[1] =
        lab_net_parameter(net, path, "bias", layer, 1, &width, LAB_INIT_ZERO, 0);
    node->attribute = (real)1e-5;
    node->momentum = (real)model->norm_momentum;
    node->flag = lab_site_hits(model->running_norm, layer);
    node->saved =
        lab_net_allocate(net, 2 * x->count / (size_t)width + 2 * (size_t)width, sizeof(real));
    if (op != &lab_op_batch_norm)
        return node->out;
    for (int k = 0; k < 2; k++)
        node->state[k] = lab_net_allocate(net, (size_t)width, sizeof(real));
    for (int64_t c = 0; c < width; c++)
        node->state[1][c] = 1;
    return node->out;
}

struct lab_tensor *lab_build_activation(struct lab_net *net, const struct lab_op *op,
                                        const char *path, int layer, struct lab_tensor *x)
{
    const struct lab_model_settings *model = &net->settings->model;
    char inner[LAB_NAME];
    if (lab_site_hits(model->amplified, layer)) {
        snprintf(inner, sizeof inner, "%.50s.gain", path);
        struct lab_node *node =
            lab_net_node(net, &lab_op_scale, inner, layer, x, x->rank, x->shape);
        node->attribute = (real)model->amplification;
        x = node->out;
    }
    if (lab_site_hits(model->no_activation, layer))
        return x;
    if (lab_site_hits(model->exp_activation, layer))
        op = &lab_op_exp;
    if (op == &lab_op_gelu && lab_site_hits(model->tanh_gelu, layer))
        op = &lab_op_gelu_tanh;
    return same_shape(net, op, path, layer, x);
}

struct lab_tensor *lab_build_dropout(struct lab_net *net, const char *path, int layer,
                                     struct lab_tensor *x)
{
    struct lab_node *node =
        lab_net_node(net, &lab_op_dropout, path, layer, x, x->rank, x->shape);
    node->attribute = (real)net->settings->model.dropout;
    node->saved = lab_net_allocate(net, x->count, sizeof(real));
    return node->out;
}

struct lab_tensor *lab_build_add(struct lab_net *net, const char *path, int layer,
                                 struct lab_tensor *a, struct lab_tensor *b)
{
    struct lab_node *node = lab_net_node(net, &lab_op_add, path, layer, a, a->rank, a->shape);
    node->in[1] = b;
    return node->out;
}

struct lab_tensor *lab_build_cut(struct lab_net *net, const char *path, int layer,
                                 struct lab_tensor *x)
{
    if (!lab_site_hits(net->settings->model.detached, layer))
        return x;
    return same_shape(net, &lab_op_detach, path, layer, x);
}

static struct lab_tensor *softmax_and_gain(struct lab_net *net, int layer, struct lab_tensor *x)
{
    x = same_shape(net, &lab_op_softmax, "softmax", layer, x);
    struct lab_node *node =
        lab_net_node(net, &lab_op_scale, "softmax.gain", layer, x, x->rank, x->shape);
    node->attribute = (real)net->settings->model.loss_gain;
    return node->out;
}

void lab_build_loss(struct lab_net *net, int layer, struct lab_tensor *logits)
{
    const struct lab_model_settings *model = &net->settings->model;
    const struct lab_op *op = &lab_op_cross_entropy;
    struct lab_tensor *x = logits;
    switch (model->loss) {
    case LAB_LOSS_CROSS_ENTROPY:
        break;
    case LAB_LOSS_OF_SOFTMAX:
        x = softmax_and_gain(net, layer, x);
        break;
    case LAB_LOSS_FROM_PROBABILITIES:
        op = &lab_op_clamped_likelihood;
        break;
    case LAB_LOSS_SQUARED_SOFTMAX:
        x = softmax_and_gain(net, layer, x);
        op = &lab_op_squared_error;
        break;
    case LAB_LOSS_SQUARED_LOGITS:
        op = &lab_op_squared_error;
        break;
    }
    struct lab_node *node = lab_net_node(net, op, "loss", layer, x, 0, NULL);
    node->attribute = (real)model->loss_factor;
    node->momentum = (real)model->loss_floor;
    node->saved = lab_net_allocate(net, x->count, sizeof(real));
    net->logits = logits;
    net->loss = node->out;
}

void lab_settings_default(struct lab_settings *settings)
{
    *settings = (struct lab_settings){
        .global_batch = 32,
        .eval_every = 10,
        .optimizer = {.kind = LAB_ADAMW,
                      .schedule = LAB_COSINE,
                      .lr = 3e-3,
                      .beta1 = 0.9,
                      .beta2 = 0.99,
                      .epsilon = 1e-8,
                      .momentum = 0.9,
                      .weight_decay = 0.01,
                      .warmup = 10,
                      .clip = 1.0,
                      .updates_per_step = 1,
                      .state_dtype = PLUMB_F32},
        .model = {.init_factor = 1,
                  .dropout = 0.1,
                  .norm_momentum = 0.1,
                  .amplification = 1,
                  .loss_gain = 1,
                  .loss_factor = 1,
                  .loss_floor = 1e-7},
        .data = {.workers = 2},
        .numeric = {.precision = {.compute = PLUMB_F32,
                                  .accumulate = PLUMB_F32,
                                  .round = PLUMB_ROUND_NEAREST_EVEN},
                    .dynamic_scale = true,
                    .initial_scale = 65536,
                    .scale_window = 20},
    };
}
