/*
 * op_embedding.c - out[sample, token] = table[token id] + position[place].
 *   parameter 0: table [vocabulary, width]     parameter 1: position [tokens, width]
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    size_t width = (size_t)node->out->shape[2], tokens = (size_t)node->out->shape[1];
    for (size_t i = 0; i < node->out->count; i++) {
        size_t place = i / width;
        size_t id = (size_t)pass->batch->tokens[place];
        node->out->value[i] =
            node->parameter[0]->tensor.value[id * width + i % width] +
            node->parameter[1]->tensor.value[place % tokens * width + i % width];
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    size_t width = (size_t)node->out->shape[2], tokens = (size_t)node->out->shape[1];
    for (size_t i = 0; i < node->out->count; i++) {
        size_t place = i / width;
        size_t id = (size_t)pass->batch->tokens[place];
        node->parameter[0]->tensor.grad[id * width + i % width] += node->out->grad[i];
        node->parameter[1]->tensor.grad[place % tokens * width + i % width] +=
            node->out->grad[i];
    }
}

const struct lab_op lab_op_embedding = {"embedding", forward, backward};
