/*
 * op_softmax.c - each row (last axis) as probabilities.
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    size_t width = (size_t)node->out->shape[node->out->rank - 1];
    for (size_t row = 0; row < node->out->count; row += width) {
        const real *x = node->in[0]->value + row;
        real *y = node->out->value + row, top = x[0], sum = 0;
        for (size_t j = 1; j < width; j++)
            top = x[j] > top ? x[j] : top;
        for (size_t j = 0; j < width; j++)
            sum += y[j] = real_exp(x[j] - top);
        for (size_t j = 0; j < width; j++)
            y[j] /= sum;
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    size_t width = (size_t)node->out->shape[node->out->rank - 1];
    for (size_t row = 0; row < node->out->count; row += width) {
        const real *y = node->out->value + row, *dy = node->out->grad + row;
        real dot = 0;
        for (size_t j = 0; j < width; j++)
            dot += y[j] * dy[j];
        for (size_t j = 0; j < width; j++)
            node->in[0]->grad[row + j] += y[j] * (dy[j] - dot);
    }
}

const struct lab_op lab_op_softmax = {"softmax", forward, backward};
