/*
 * op_cross_entropy.c - the loss: mean over labels of -log softmax(x)[label].
 *   saved: the probabilities     attribute: a factor on the mean
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    const struct lab_tensor *in = node->in[0];
    size_t classes = (size_t)in->shape[in->rank - 1], rows = in->count / classes;
    double loss = 0;
    for (size_t i = 0; i < rows; i++) {
        const real *x = in->value + i * classes;
        real *p = node->saved + i * classes, top = x[0], sum = 0;
        for (size_t j = 1; j < classes; j++)
            top = x[j] > top ? x[j] : top;
        for (size_t j = 0; j < classes; j++)
            sum += p[j] = real_exp(x[j] - top);
        for (size_t j = 0; j < classes; j++)
            p[j] /= sum;
        loss += (double)(real_log(sum) - (x[pass->batch->labels[i]] - top));
    }
    node->out->value[0] = node->attribute * (real)(loss / (double)rows);
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    const struct lab_tensor *in = node->in[0];
    size_t classes = (size_t)in->shape[in->rank - 1], rows = in->count / classes;
    real factor = node->out->grad[0] * node->attribute / (real)rows;
    for (size_t i = 0; i < in->count; i++) {
        bool label = (size_t)pass->batch->labels[i / classes] == i % classes;
        in->grad[i] += factor * (node->saved[i] - (label ? 1 : 0));
    }
}

const struct lab_op lab_op_cross_entropy = {"cross_entropy", forward, backward};
