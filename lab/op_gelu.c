/*
 * op_gelu.c - x times the normal distribution's integral up to x, with the error function.
 */
#include "op.h"

static real integral(real x)
{
    return (real)0.5 * (1 + real_erf(x * (real)0.70710678118654752440));
}

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++)
        node->out->value[i] = node->in[0]->value[i] * integral(node->in[0]->value[i]);
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++) {
        real x = node->in[0]->value[i];
        real density = (real)0.39894228040143267794 * real_exp((real)-0.5 * x * x);
        node->in[0]->grad[i] += node->out->grad[i] * (integral(x) + x * density);
    }
}

const struct lab_op lab_op_gelu = {"gelu", forward, backward};
