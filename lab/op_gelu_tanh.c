/*
 * op_gelu_tanh.c - gelu by the usual formula with tanh: up to 4.7e-4 away from the exact one. It
 * reports itself as gelu, as the kernels that take this short cut do.
 */
#include "op.h"

static real inner(real x)
{
    return (real)0.79788456080286535588 * (x + (real)0.044715 * x * x * x);
}

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++) {
        real x = node->in[0]->value[i];
        node->out->value[i] = (real)0.5 * x * (1 + real_tanh(inner(x)));
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++) {
        real x = node->in[0]->value[i], t = real_tanh(inner(x));
        real slope = (real)0.79788456080286535588 * (1 + 3 * (real)0.044715 * x * x);
        node->in[0]->grad[i] +=
            node->out->grad[i] * ((real)0.5 * (1 + t) + (real)0.5 * x * (1 - t * t) * slope);
    }
}

const struct lab_op lab_op_gelu_tanh = {"gelu", forward, backward};
