/*
 * op_squared_error.c - a loss: mean over labels of the squared distance between the row and the
 * label's unit vector.
 *   attribute: a factor on the mean
 */
#include "op.h"

static real error_at(const struct lab_node *node, const struct lab_pass *pass, size_t i,
                     size_t classes)
{
    bool label = (size_t)pass->batch->labels[i / classes] == i % classes;
    return node->in[0]->value[i] - (label ? 1 : 0);
}

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    const struct lab_tensor *in = node->in[0];
    size_t classes = (size_t)in->shape[in->rank - 1];
    double sum = 0;
    for (size_t i = 0; i < in->count; i++) {
        double error = (double)error_at(node, pass, i, classes);
        sum += error * error;
    }
    node->out->value[0] = node->attribute * (real)(sum / (double)(in->count / classes));
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    const struct lab_tensor *in = node->in[0];
    size_t classes = (size_t)in->shape[in->rank - 1];
    real factor = 2 * node->out->grad[0] * node->attribute / (real)(in->count / classes);
    for (size_t i = 0; i < in->count; i++)
        in->grad[i] += factor * error_at(node, pass, i, classes);
}

const struct lab_op lab_op_squared_error = {"squared_error", forward, backward};
