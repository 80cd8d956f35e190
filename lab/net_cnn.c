/*
 * net_cnn.c - two stages of convolution, batch norm, relu and pooling on 12 x 12 images of
 * stripes, 8 directions to tell apart.
 */
#include "build.h"

#include <stdio.h>

enum { SIDE = 12, STAGES = 2, CHANNELS = 8, CLASSES = 8 };

static struct lab_tensor *pool(struct lab_net *net, const char *path, int layer,
                               struct lab_tensor *x)
{
    int64_t shape[] = {x->shape[0], x->shape[1] / 2, x->shape[2] / 2, x->shape[3]};
    return lab_net_node(net, &lab_op_max_pool, path, layer, x, 4, shape)->out;
}

static void build(struct lab_net *net)
{
    char path[LAB_NAME];
    struct lab_tensor *x =
        lab_net_tensor(net, "input", 4, (int64_t[]){net->samples, SIDE, SIDE, 1});
    net->input = x;
    for (int i = 0; i < STAGES; i++) {
        snprintf(path, sizeof path, "stages.%d.conv", i);
        x = lab_build_conv2d(net, path, i, x, CHANNELS << i);
        snprintf(path, sizeof path, "stages.%d.norm", i);
        x = lab_build_norm(net, &lab_op_batch_norm, path, i, x);
        snprintf(path, sizeof path, "stages.%d.relu", i);
        x = lab_build_activation(net, &lab_op_relu, path, i, x);
        snprintf(path, sizeof path, "stages.%d.pool", i);
        x = pool(net, path, i, x);
        snprintf(path, sizeof path, "stages.%d.detach", i);
        x = lab_build_cut(net, path, i, x);
    }
    int64_t flat[] = {x->shape[0], x->shape[3]};
    x = lab_net_node(net, &lab_op_mean_pool, "pool", STAGES, x, 2, flat)->out;
    x = lab_build_dropout(net, "dropout", STAGES, x);
    x = lab_build_head(net, STAGES, x, NULL);
    lab_build_loss(net, STAGES, x);
}

static void defaults(struct lab_settings *settings)
{
    settings->optimizer.lr = 1e-2;
}

const struct lab_net_kind lab_net_cnn = {
    .name = "cnn",
    .summary = "two stages of convolution with batch norm on 12 x 12 images, 8 classes",
    .features = {SIDE, SIDE, 1},
    .classes = CLASSES,
    .layers = STAGES + 1,
    .build = build,
    .defaults = defaults,
};
