/*
 * net_gpt.c - two blocks of causal attention and a feed-forward part, layer norm before each,
 * residual around each; the head shares the embedding's table. 16 tokens of a vocabulary of 32.
 */
#include "build.h"

#include <stdio.h>

enum { VOCABULARY = 32, TOKENS = 16, WIDTH = 64, HEADS = 4, BLOCKS = 2 };

static struct lab_tensor *embedding(struct lab_net *net, struct lab_parameter **table)
{
    int64_t shape[] = {net->samples, TOKENS, WIDTH};
    struct lab_node *node =
        lab_net_node(net, &lab_op_embedding, "embedding", LAB_OUTSIDE_LAYERS, NULL, 3, shape);
    *table = lab_net_parameter(net, "embedding", "weight", LAB_OUTSIDE_LAYERS, 2,
                               (int64_t[]){VOCABULARY, WIDTH}, LAB_INIT_NORMAL, 0.05);
    node->parameter[0] = *table;
    node->parameter[1] = lab_net_parameter(net, "position", "weight", LAB_OUTSIDE_LAYERS, 2,
                                           (int64_t[]){TOKENS, WIDTH}, LAB_INIT_NORMAL, 0.05);
    return node->out;
}

static struct lab_tensor *attention(struct lab_net *net, const char *prefix, int layer,
                                    struct lab_tensor *x)
{
    char path[LAB_NAME];
    snprintf(path, sizeof path, "%.40s.attention.qkv", prefix);
    struct lab_tensor *qkv = lab_build_linear(net, path, layer, x, 3 * WIDTH);
    snprintf(path, sizeof path, "%.40s.attention.core", prefix);
    struct lab_node *node = lab_net_node(net, &lab_op_attention, path, layer, qkv, 3, x->shape);
    node->heads = HEADS;
    node->saved =
        lab_net_allocate(net, (size_t)(net->samples * HEADS * TOKENS * TOKENS), sizeof(real));
    node->scratch = lab_net_allocate(net, WIDTH * TOKENS + TOKENS * TOKENS, sizeof(real));
    snprintf(path, sizeof path, "%.40s.attention.project", prefix);
    return lab_build_linear(net, path, layer, node->out, WIDTH);
}

static struct lab_tensor *feed_forward(struct lab_net *net, const char *prefix, int layer,
                                       struct lab_tensor *x)
{
    char path[LAB_NAME];
    snprintf(path, sizeof path, "%.40s.feed.expand", prefix);
    x = lab_build_linear(net, path, layer, x, 4 * WIDTH);
    snprintf(path, sizeof path, "%.40s.feed.gelu", prefix);
    x = lab_build_activation(net, &lab_op_gelu, path, layer, x);
    snprintf(path, sizeof path, "%.40s.feed.project", prefix);
    return lab_build_linear(net, path, layer, x, WIDTH);
}

/* x + dropout(part(norm(x))), or with the norm and the residual the wrong way round
 * norm(x) + dropout(part(norm(x))). */
static struct lab_tensor *
residual(struct lab_net *net, int layer, const char *name, struct lab_tensor *x,
         struct lab_tensor *(*part)(struct lab_net *, const char *, int, struct lab_tensor *))
{
    char prefix[32], path[LAB_NAME];
    snprintf(prefix, sizeof prefix, "blocks.%d", layer);
    snprintf(path, sizeof path, "%s.%s_norm", prefix, name);
    struct lab_tensor *normal = lab_build_norm(net, &lab_op_layer_norm, path, layer, x);
    struct lab_tensor *branch = part(net, prefix, layer, normal);
    snprintf(path, sizeof path, "%s.%s_detach", prefix, name);
    branch = lab_build_cut(net, path, layer, branch);
    snprintf(path, sizeof path, "%s.%s_dropout", prefix, name);
    branch = lab_build_dropout(net, path, layer, branch);
    snprintf(path, sizeof path, "%s.%s_add", prefix, name);
    bool swapped = lab_site_hits(net->settings->model.swapped_norm, layer);
    return lab_build_add(net, path, layer, swapped ? normal : x, branch);
}

static struct lab_parameter *own_head(struct lab_net *net, const struct lab_parameter *table)
{
    struct lab_parameter *head =
        lab_net_parameter(net, "head", "weight", BLOCKS, 2, (int64_t[]){VOCABULARY, WIDTH},
                          LAB_INIT_NORMAL, 0.05);
    for (size_t i = 0; i < table->tensor.count && !net->settings->model.untied_afresh; i++)
        head->master[i] = table->master[i];
    return head;
}

static void build(struct lab_net *net)
{
    struct lab_parameter *table;
    struct lab_tensor *x = embedding(net, &table);
    for (int i = 0; i < BLOCKS; i++) {
        x = residual(net, i, "attention", x, attention);
        x = residual(net, i, "feed", x, feed_forward);
    }
    x = lab_build_norm(net, &lab_op_layer_norm, "norm", BLOCKS, x);
    if (net->settings->model.untied)
        table = own_head(net, table);
    x = lab_build_head(net, BLOCKS, x, table);
    lab_build_loss(net, BLOCKS, x);
}

static void defaults(struct lab_settings *settings)
{
    settings->global_batch = 16;
    settings->optimizer.lr = 1e-2;
}

const struct lab_net_kind lab_net_gpt = {
    .name = "gpt",
    .summary = "two blocks of attention with layer norm, 16 tokens of a vocabulary of 32",
    .tokens = TOKENS,
    .classes = VOCABULARY,
    .layers = BLOCKS + 1,
    .build = build,
    .defaults = defaults,
};
