/*
 * op_max_pool.c - the largest of each 2 x 2 square of an image [sample, row, column, channel].
 */
#include "op.h"

/* Index in the input of the largest value of the square that output `i` stands for. */
static size_t largest_of(const struct lab_node *node, size_t i)
{
    size_t channels = (size_t)node->out->shape[3], width = (size_t)node->out->shape[2];
    size_t height = (size_t)node->out->shape[1];
    size_t channel = i % channels, column = i / channels % width;
    size_t line = i / channels / width; /* sample and row: input lines are twice as many */
    size_t in_width = (size_t)node->in[0]->shape[2];
    size_t first =
        ((line / height * (size_t)node->in[0]->shape[1] + line % height * 2) * in_width +
         column * 2) *
            channels +
        channel;
    size_t best = first;
    for (size_t k = 1; k < 4; k++) {
        size_t other = first + (k / 2 * in_width + k % 2) * channels;
        if (node->in[0]->value[other] > node->in[0]->value[best])
            best = other;
    }
    return best;
}

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++)
        node->out->value[i] = node->in[0]->value[largest_of(node, i)];
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++)
        node->in[0]->grad[largest_of(node, i)] += node->out->grad[i];
}

const struct lab_op lab_op_max_pool = {"max_pool", forward, backward};
