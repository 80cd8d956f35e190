/*
 * op_layer_norm.c - each row (last axis) normalised, then scaled and shifted.
 *   saved: mean[row], 1/std[row]     attribute: epsilon
 */
#include "op.h"

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    size_t width = node->parameter[0]->tensor.count, rows = node->out->count / width;
    const real *gain = node->parameter[0]->tensor.value;
    const real *shift = node->parameter[1]->tensor.value;
    for (size_t i = 0; i < rows; i++) {
        const real *x = node->in[0]->value + i * width;
        double sum = 0, squares = 0;
        for (size_t j = 0; j < width; j++)
            sum += (double)x[j];
        double mean = sum / (double)width;
        for (size_t j = 0; j < width; j++)
            squares += ((double)x[j] - mean) * ((double)x[j] - mean);
        real scale = (real)(1.0 / sqrt(squares / (double)width + (double)node->attribute));
        node->saved[2 * i] = (real)mean;
        node->saved[2 * i + 1] = scale;
        for (size_t j = 0; j < width; j++)
            node->out->value[i * width + j] = (x[j] - (real)mean) * scale * gain[j] + shift[j];
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    size_t width = node->parameter[0]->tensor.count, rows = node->out->count / width;
    const real *gain = node->parameter[0]->tensor.value;
    real *d_gain = node->parameter[0]->tensor.grad, *d_shift = node->parameter[1]->tensor.grad;
    for (size_t i = 0; i < rows; i++) {
        const real *x = node->in[0]->value + i * width, *dy = node->out->grad + i * width;
        real mean = node->saved[2 * i], scale = node->saved[2 * i + 1];
        double sum = 0, product = 0;
        for (size_t j = 0; j < width; j++) {
            real normal = (x[j] - mean) * scale;
            d_gain[j] += dy[j] * normal;
            d_shift[j] += dy[j];
            sum += (double)(dy[j] * gain[j]);
            product += (double)(dy[j] * gain[j]) * (double)normal;
        }
        real mean_dy = (real)(sum / (double)width);
        real mean_product = (real)(product / (double)width);
        for (size_t j = 0; j < width; j++) {
            real normal = (x[j] - mean) * scale;
            node->in[0]->grad[i * width + j] +=
                scale * (dy[j] * gain[j] - mean_dy - normal * mean_product);
        }
    }
}

const struct lab_op lab_op_layer_norm = {"layer_norm", forward, backward};
