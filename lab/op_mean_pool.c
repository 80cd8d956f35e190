/*
 * op_mean_pool.c - the mean of each channel over an image: [s, row, column, c] to [s, c].
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    size_t channels = (size_t)node->out->shape[1];
    size_t places = node->in[0]->count / node->out->count;
    for (size_t i = 0; i < node->out->count; i++) {
        real sum = 0;
        for (size_t p = 0; p < places; p++)
            sum += node->in[0]->value[(i / channels * places + p) * channels + i % channels];
        node->out->value[i] = sum / (real)places;
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    size_t channels = (size_t)node->out->shape[1];
    size_t places = node->in[0]->count / node->out->count;
    for (size_t i = 0; i < node->out->count; i++)
        for (size_t p = 0; p < places; p++)
            node->in[0]->grad[(i / channels * places + p) * channels + i % channels] +=
                node->out->grad[i] / (real)places;
}

const struct lab_op lab_op_mean_pool = {"mean_pool", forward, backward};
