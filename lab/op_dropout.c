/*
 * op_dropout.c - zeroes values with probability `attribute` and scales up the others. The mask
 * depends on the seed, the step, the node and the sample's place in the global batch.
 *   saved: the factor of each value
 */
#include "op.h"
#include "random.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    size_t samples = (size_t)pass->batch->samples, each = node->out->count / samples;
    uint64_t purpose = lab_random_name(node->path);
    for (size_t s = 0; s < samples; s++) {
        struct lab_random random =
            lab_random_key(pass->seed, purpose, (uint64_t)pass->random_step,
                           (uint64_t)pass->batch->first_sample + s);
        for (size_t i = s * each; i < (s + 1) * each; i++) {
            bool keep =
                !pass->dropout || lab_random_uniform(&random) >= (double)node->attribute;
            real factor = pass->dropout ? 1 / (1 - node->attribute) : 1;
            node->saved[i] = keep ? factor : 0;
            node->out->value[i] = node->in[0]->value[i] * node->saved[i];
        }
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    for (size_t i = 0; i < node->out->count; i++)
        node->in[0]->grad[i] += node->out->grad[i] * node->saved[i];
}

const struct lab_op lab_op_dropout = {"dropout", forward, backward};
