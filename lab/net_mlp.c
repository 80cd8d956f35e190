/*
 * net_mlp.c - three hidden layers with relu and dropout on 32 features, 10 classes.
 */
#include "build.h"

#include <stdio.h>

enum { FEATURES = 32, HIDDEN = 64, HIDDEN_LAYERS = 3, CLASSES = 10 };

static void build(struct lab_net *net)
{
    char path[LAB_NAME];
    struct lab_tensor *x = lab_net_tensor(net, "input", 2, (int64_t[]){net->samples, FEATURES});
    net->input = x;
    for (int i = 0; i < HIDDEN_LAYERS; i++) {
        snprintf(path, sizeof path, "layers.%d.linear", i);
        x = lab_build_linear(net, path, i, x, HIDDEN);
        snprintf(path, sizeof path, "layers.%d.relu", i);
        x = lab_build_activation(net, &lab_op_relu, path, i, x);
        snprintf(path, sizeof path, "layers.%d.dropout", i);
        x = lab_build_dropout(net, path, i, x);
        snprintf(path, sizeof path, "layers.%d.detach", i);
        x = lab_build_cut(net, path, i, x);
    }
    x = lab_build_head(net, HIDDEN_LAYERS, x, NULL);
    lab_build_loss(net, HIDDEN_LAYERS, x);
}

static void defaults(struct lab_settings *settings)
{
    settings->optimizer.lr = 1e-2;
}

const struct lab_net_kind lab_net_mlp = {
    .name = "mlp",
    .summary = "three hidden layers on 32 features, 10 classes",
    .features = {1, 1, FEATURES},
    .classes = CLASSES,
    .layers = HIDDEN_LAYERS + 1,
    .build = build,
    .defaults = defaults,
};
