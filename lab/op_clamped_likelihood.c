/*
 * op_clamped_likelihood.c - a loss that takes its input for probabilities: mean over labels of
 * -log of x[label], held between `momentum` and 1. What a loss "from probabilities" does to
 * logits.
 *   attribute: a factor on the mean     momentum: the lowest probability
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    const struct lab_tensor *in = node->in[0];
    size_t classes = (size_t)in->shape[in->rank - 1], rows = in->count / classes;
    double loss = 0;
    for (size_t i = 0; i < rows; i++) {
        real p = in->value[i * classes + (size_t)pass->batch->labels[i]];
        p = p < node->momentum ? node->momentum : p > 1 ? 1 : p;
        loss -= (double)real_log(p);
    }
    node->out->value[0] = node->attribute * (real)(loss / (double)rows);
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    const struct lab_tensor *in = node->in[0];
    size_t classes = (size_t)in->shape[in->rank - 1], rows = in->count / classes;
    real factor = node->out->grad[0] * node->attribute / (real)rows;
    for (size_t i = 0; i < rows; i++) {
        size_t at = i * classes + (size_t)pass->batch->labels[i];
        real p = in->value[at];
        if (p > node->momentum && p < 1)
            in->grad[at] -= factor / p;
    }
}

const struct lab_op lab_op_clamped_likelihood = {"likelihood", forward, backward};
