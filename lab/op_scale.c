/*
 * op_scale.c - times a constant, `attribute`.
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++)
        node->out->value[i] = node->in[0]->value[i] * node->attribute;
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++)
        node->in[0]->grad[i] += node->out->grad[i] * node->attribute;
}

const struct lab_op lab_op_scale = {"scale", forward, backward};
