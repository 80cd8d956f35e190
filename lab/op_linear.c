/*
 * op_linear.c - y = x W^T + b; x is [..., in], W is [out, in].
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    const struct lab_tensor *w = &node->parameter[0]->tensor;
    size_t out = (size_t)w->shape[0], in = w->count / out, rows = node->out->count / out;
    real *y = node->out->value;
    for (size_t i = 0; i < node->out->count; i++)
        y[i] = node->parameter[1] ? node->parameter[1]->tensor.value[i % out] : 0;
    lab_transpose(w->value, out, in, node->scratch);
    lab_matmul(&node->precision, rows, out, in, (struct lab_matrix){node->in[0]->value, in, 1},
               (struct lab_matrix){node->scratch, out, 1}, (struct lab_matrix){y, out, 1});
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    struct lab_tensor *w = &node->parameter[0]->tensor, *x = node->in[0];
    size_t out = (size_t)w->shape[0], in = w->count / out, rows = node->out->count / out;
    real *dy = node->out->grad;
    lab_matmul(&node->precision, rows, in, out, (struct lab_matrix){dy, out, 1},
               (struct lab_matrix){w->value, in, 1}, (struct lab_matrix){x->grad, in, 1});
    lab_matmul(&node->precision, out, in, rows, (struct lab_matrix){dy, 1, out},
               (struct lab_matrix){x->value, in, 1}, (struct lab_matrix){w->grad, in, 1});
    if (!node->parameter[1])
        return;
    real *db = node->parameter[1]->tensor.grad;
    for (size_t i = 0; i < node->out->count; i++)
        db[i % out] += dy[i];
}

const struct lab_op lab_op_linear = {"linear", forward, backward};
