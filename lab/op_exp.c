/*
 * op_exp.c - e to the x, as an activation.
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++) {
        real x = node->in[0]->value[i];
        node->out->value[i] = real_exp(x);
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++) {
        real y = node->out->value[i];
        node->in[0]->grad[i] += node->out->grad[i] * (y);
    }
}

const struct lab_op lab_op_exp = {"exp", forward, backward};
