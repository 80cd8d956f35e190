/*
 * test_gradients.c - every operator's and every network's gradients against finite differences,
 * with the operators compiled for double.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "random.h"

enum { SAMPLES = 3, CLASSES = 5 };

static int32_t tokens[SAMPLES * 64], labels[SAMPLES * 64];
static real features[SAMPLES * 256];

static struct lab_tensor *input(struct lab_net *net, int rank, const int64_t *shape)
{
    net->input = lab_net_tensor(net, "input", rank, shape);
    return net->input;
}

static struct lab_tensor *rows(struct lab_net *net)
{
    return input(net, 2, (int64_t[]){SAMPLES, CLASSES});
}

static struct lab_tensor *images(struct lab_net *net)
{
    return input(net, 4, (int64_t[]){SAMPLES, 4, 6, 2});
}

static void finish(struct lab_net *net, struct lab_tensor *out)
{
    net->loss = net->logits = out;
}

static void build_linear(struct lab_net *net)
{
    finish(net, lab_build_linear(net, "x", 0, rows(net), 4));
}

static void build_conv2d(struct lab_net *net)
{
    finish(net, lab_build_conv2d(net, "x", 0, images(net), 3));
}

static void build_batch_norm(struct lab_net *net)
{
    finish(net, lab_build_norm(net, &lab_op_batch_norm, "x", 0, images(net)));
}

static void build_layer_norm(struct lab_net *net)
{
    finish(net, lab_build_norm(net, &lab_op_layer_norm, "x", 0, rows(net)));
}

static void build_attention(struct lab_net *net)
{
    int64_t shape[] = {SAMPLES, 5, 4};
    struct lab_tensor *x = input(net, 3, (int64_t[]){SAMPLES, 5, 12});
    struct lab_node *node = lab_net_node(net, &lab_op_attention, "x", 0, x, 3, shape);
    node->heads = 2;
    node->saved = lab_net_allocate(net, SAMPLES * 2 * 5 * 5, sizeof(real));
    node->scratch = lab_net_allocate(net, 4 * 5 + 5 * 5, sizeof(real));
    finish(net, node->out);
}

static void build_embedding(struct lab_net *net)
{
    int64_t shape[] = {SAMPLES, 4, 3};
    struct lab_node *node = lab_net_node(net, &lab_op_embedding, "x", 0, NULL, 3, shape);
    node->parameter[0] =
        lab_net_parameter(net, "x", "table", 0, 2, (int64_t[]){CLASSES, 3}, LAB_INIT_NORMAL, 1);
    node->parameter[1] =
        lab_net_parameter(net, "x", "place", 0, 2, (int64_t[]){4, 3}, LAB_INIT_NORMAL, 1);
    finish(net, node->out);
}

static void pointwise(struct lab_net *net, const struct lab_op *op)
{
    struct lab_tensor *x = rows(net);
    struct lab_node *node = lab_net_node(net, op, "x", 0, x, x->rank, x->shape);
    node->attribute = 0.3;
    node->saved = lab_net_allocate(net, x->count, sizeof(real));
    finish(net, node->out);
}

static void build_relu(struct lab_net *net)
{
    pointwise(net, &lab_op_relu);
}

static void build_gelu(struct lab_net *net)
{
    pointwise(net, &lab_op_gelu);
}

static void build_gelu_tanh(struct lab_net *net)
{
    pointwise(net, &lab_op_gelu_tanh);
}

static void build_exp(struct lab_net *net)
{
    pointwise(net, &lab_op_exp);
}

static void build_scale(struct lab_net *net)
{
    pointwise(net, &lab_op_scale);
}

static void build_dropout(struct lab_net *net)
{
    pointwise(net, &lab_op_dropout);
}

static void build_softmax(struct lab_net *net)
{
    pointwise(net, &lab_op_softmax);
}

static void build_add(struct lab_net *net)
{
    struct lab_tensor *x = rows(net);
    finish(net, lab_build_add(net, "x", 0, x, x));
}

static void build_max_pool(struct lab_net *net)
{
    struct lab_tensor *x = images(net);
    int64_t shape[] = {SAMPLES, 2, 3, 2};
    finish(net, lab_net_node(net, &lab_op_max_pool, "x", 0, x, 4, shape)->out);
}

static void build_mean_pool(struct lab_net *net)
{
    struct lab_tensor *x = images(net);
    int64_t shape[] = {SAMPLES, 2};
    finish(net, lab_net_node(net, &lab_op_mean_pool, "x", 0, x, 2, shape)->out);
}

static void loss(struct lab_net *net, const struct lab_op *op)
{
    struct lab_tensor *x = rows(net);
    struct lab_node *node = lab_net_node(net, op, "x", 0, x, 0, NULL);
    node->attribute = 1.5;
    node->momentum = 1e-7;
    node->saved = lab_net_allocate(net, x->count, sizeof(real));
    finish(net, node->out);
}

static void build_cross_entropy(struct lab_net *net)
{
    loss(net, &lab_op_cross_entropy);
}

static void build_squared_error(struct lab_net *net)
{
    loss(net, &lab_op_squared_error);
}

static void build_clamped_likelihood(struct lab_net *net)
{
    loss(net, &lab_op_clamped_likelihood);
}

static const struct lab_net_kind cases[] = {
    {.name = "linear", .build = build_linear},
    {.name = "conv2d", .build = build_conv2d},
    {.name = "batch_norm", .build = build_batch_norm},
    {.name = "layer_norm", .build = build_layer_norm},
    {.name = "attention", .build = build_attention},
    {.name = "embedding", .build = build_embedding},
    {.name = "relu", .build = build_relu},
    {.name = "gelu", .build = build_gelu},
    {.name = "gelu_tanh", .build = build_gelu_tanh},
    {.name = "exp", .build = build_exp},
    {.name = "scale", .build = build_scale},
    {.name = "dropout", .build = build_dropout},
    {.name = "softmax", .build = build_softmax},
    {.name = "add", .build = build_add},
    {.name = "max_pool", .build = build_max_pool},
    {.name = "mean_pool", .build = build_mean_pool},
    {.name = "cross_entropy", .build = build_cross_entropy},
    {.name = "squared_error", .build = build_squared_error},
    {.name = "clamped_likelihood", .build = build_clamped_likelihood},
};

/* A weighted sum of the output, so that all elements of the Jacobian matter. */
static double weight_of(size_t i)
{
    return 1.0 + 0.37 * (double)(i % 7);
}

static double value_of(struct lab_net *net, const struct lab_pass *pass)
{
    double sum = 0;
    lab_net_forward(net, pass, NULL);
    for (size_t i = 0; i < net->loss->count; i++)
        sum += weight_of(i) * net->loss->value[i];
    return sum;
}

static void backward(struct lab_net *net, const struct lab_pass *pass)
{
    for (int i = 0; i < net->tensor_count; i++)
        memset(net->tensors[i]->grad, 0, net->tensors[i]->count * sizeof(real));
    lab_net_clear_gradients(net);
    for (size_t i = 0; i < net->loss->count; i++)
        net->loss->grad[i] = weight_of(i);
    for (int i = net->node_count - 1; i >= 0; i--)
        net->nodes[i].op->backward(&net->nodes[i], pass);
}

/* At most `limit` elements of `values`, spread evenly. */
static void check(struct lab_net *net, const struct lab_pass *pass, const char *what,
                  real *values, const real *gradients, size_t count, size_t limit)
{
    size_t stride = count > limit ? count / limit : 1;
    for (size_t i = 0; i < count; i += stride) {
        double h = 1e-5, held = values[i], analytic = gradients[i];
        values[i] = held + h;
        double above = value_of(net, pass);
        values[i] = held - h;
        double below = value_of(net, pass);
        values[i] = held;
        double numeric = (above - below) / (2 * h);
        if (fabs(numeric - analytic) > 1e-6 * (1 + fabs(numeric)))
            fail_msg("%s %s[%zu]: %.12g, by differences %.12g", net->kind->name, what, i,
                     analytic, numeric);
    }
}

static void check_net(const struct lab_net_kind *kind, size_t limit)
{
    struct lab_settings settings;
    lab_settings_default(&settings);
    struct lab_net *net = lab_net_new(kind, &settings, 5, SAMPLES);
    struct lab_batch batch = {
        .samples = SAMPLES, .features = features, .tokens = tokens, .labels = labels};
    struct lab_pass pass = {.training = true, .dropout = true, .seed = 5, .batch = &batch};
    value_of(net, &pass);
    backward(net, &pass);
    if (net->input) {
        real gradient[sizeof features / sizeof features[0]];
        memcpy(gradient, net->input->grad, net->input->count * sizeof(real));
        check(net, &pass, "input", features, gradient, net->input->count, limit);
    }
    for (int i = 0; i < net->parameter_count; i++) {
        struct lab_tensor *tensor = &net->parameters[i]->tensor;
        check(net, &pass, tensor->name, tensor->value, tensor->grad, tensor->count, limit);
    }
    lab_net_free(net);
}

static void fill_batch(int classes, bool positive)
{
    struct lab_random random = lab_random_key(9, 9, 9, 9);
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        double value = lab_random_normal(&random);
        features[i] = positive ? 0.05 + 0.9 * lab_random_uniform(&random) : value;
    }
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        tokens[i] = (int32_t)lab_random_below(&random, (uint64_t)classes);
        labels[i] = (int32_t)lab_random_below(&random, (uint64_t)classes);
    }
}

static void operators(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fill_batch(CLASSES, strcmp(cases[i].name, "clamped_likelihood") == 0);
        check_net(&cases[i], 1000);
    }
}

static void detach_lets_nothing_through(void **state)
{
    (void)state;
    struct lab_settings settings;
    lab_settings_default(&settings);
    settings.model.detached = (struct lab_site){true, 0};
    fill_batch(10, false);
    struct lab_net *net = lab_net_new(lab_net_kind_find("mlp"), &settings, 5, SAMPLES);
    struct lab_batch batch = {.samples = SAMPLES, .features = features, .labels = labels};
    struct lab_pass pass = {.training = true, .seed = 5, .batch = &batch};
    lab_net_forward(net, &pass, NULL);
    lab_net_backward(net, &pass, 1, NULL);
    for (size_t i = 0; i < net->parameters[0]->tensor.count; i++)
        assert_true(net->parameters[0]->tensor.grad[i] == 0);
    lab_net_free(net);
}

static void networks(void **state)
{
    (void)state;
    for (size_t i = 0; lab_net_kind_at(i); i++) {
        fill_batch(lab_net_kind_at(i)->classes, false);
        check_net(lab_net_kind_at(i), 12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators),
        cmocka_unit_test(detach_lets_nothing_through),
        cmocka_unit_test(networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
