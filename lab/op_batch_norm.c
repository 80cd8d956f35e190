/*
 * op_batch_norm.c - each channel (last axis) normalised over everything else, then scaled and
 * shifted. In training with the batch's own statistics, which move the running ones; else with
 * the running ones.
 *   saved: mean[c], 1/std[c]     state: running mean, running variance
 *   attribute: epsilon           flag: running statistics in training, too
 */
#include "op.h"

static void measure(struct lab_node *node, real *mean, real *scale)
{
    size_t channels = node->parameter[0]->tensor.count, rows = node->out->count / channels;
    const real *x = node->in[0]->value;
    for (size_t c = 0; c < channels; c++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < rows; i++)
            sum += (double)x[i * channels + c];
        double m = sum / (double)rows;
        for (size_t i = 0; i < rows; i++) {
            double d = (double)x[i * channels + c] - m;
            squares += d * d;
        }
        double variance = squares / (double)rows;
        mean[c] = (real)m;
        scale[c] = (real)(1.0 / sqrt(variance + (double)node->attribute));
        node->state[0][c] += node->momentum * ((real)m - node->state[0][c]);
        node->state[1][c] += node->momentum * ((real)variance - node->state[1][c]);
    }
}

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    size_t channels = node->parameter[0]->tensor.count;
    real *mean = node->saved, *scale = node->saved + channels;
    if (pass->training && !node->flag) {
        measure(node, mean, scale);
    } else {
        for (size_t c = 0; c < channels; c++) {
            mean[c] = node->state[0][c];
            scale[c] = 1 / real_sqrt(node->state[1][c] + node->attribute);
        }
    }
    const real *x = node->in[0]->value, *gain = node->parameter[0]->tensor.value;
    const real *shift = node->parameter[1]->tensor.value;
    for (size_t i = 0; i < node->out->count; i++) {
        size_t c = i % channels;
        node->out->value[i] = (x[i] - mean[c]) * scale[c] * gain[c] + shift[c];
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    size_t channels = node->parameter[0]->tensor.count, rows = node->out->count / channels;
    const real *x = node->in[0]->value, *dy = node->out->grad;
    const real *mean = node->saved, *scale = node->saved + channels;
    bool own = pass->training && !node->flag;
    for (size_t c = 0; c < channels; c++) {
        double sum = 0, product = 0;
        for (size_t i = c; i < rows * channels; i += channels) {
            sum += (double)dy[i];
            product += (double)dy[i] * (double)((x[i] - mean[c]) * scale[c]);
        }
        node->parameter[0]->tensor.grad[c] += (real)product;
        node->parameter[1]->tensor.grad[c] += (real)sum;
        real factor = node->parameter[0]->tensor.value[c] * scale[c];
        real mean_dy = own ? (real)(sum / (double)rows) : 0;
        real mean_product = own ? (real)(product / (double)rows) : 0;
        for (size_t i = c; i < rows * channels; i += channels) {
            real normal = (x[i] - mean[c]) * scale[c];
            node->in[0]->grad[i] += factor * (dy[i] - mean_dy - normal * mean_product);
        }
    }
}

const struct lab_op lab_op_batch_norm = {"batch_norm", forward, backward};
