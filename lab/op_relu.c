/*
 * op_relu.c - max(x, 0); a NaN stays one.
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++) {
        real x = node->in[0]->value[i];
        node->out->value[i] = x < 0 ? 0 : x;
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++) {
        real x = node->in[0]->value[i];
        node->in[0]->grad[i] += node->out->grad[i] * (x > 0 ? 1 : 0);
    }
}

const struct lab_op lab_op_relu = {"relu", forward, backward};
