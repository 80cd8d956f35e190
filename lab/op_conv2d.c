/*
 * op_conv2d.c - 3 x 3 convolution, padding 1, over images [sample, row, column, channel]; the
 * weight is [out, 3, 3, in]. The patches are laid out as rows of a matrix (kept in `saved`),
 * after which it is a linear layer.
 */
#include "op.h"

enum { SIDE = 3 };

/* Walks all patches; `spread` false gathers x into the patches, true adds patches into x. */
static void move_patches(const struct lab_tensor *image, real *x, real *patches, bool spread)
{
    int64_t samples = image->shape[0], height = image->shape[1], width = image->shape[2];
    int64_t channels = image->shape[3];
    real *patch = patches;
    for (int64_t place = 0; place < samples * height * width; place++) {
        int64_t row = place / width % height, column = place % width;
        for (int64_t tap = 0; tap < SIDE * SIDE; tap++, patch += channels) {
            int64_t r = row + tap / SIDE - 1, c = column + tap % SIDE - 1;
            bool inside = r >= 0 && r < height && c >= 0 && c < width;
            real *pixel = x + ((place / (width * height) * height + r) * width + c) * channels;
            for (int64_t k = 0; k < channels; k++) {
                if (!spread)
                    patch[k] = inside ? pixel[k] : 0;
                else if (inside)
                    pixel[k] += patch[k];
            }
        }
    }
}

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    const struct lab_tensor *w = &node->parameter[0]->tensor;
    size_t out = (size_t)w->shape[0], taps = w->count / out, rows = node->out->count / out;
    move_patches(node->in[0], node->in[0]->value, node->saved, false);
    for (size_t i = 0; i < node->out->count; i++)
        node->out->value[i] = 0;
    lab_transpose(w->value, out, taps, node->scratch);
    lab_matmul(&node->precision, rows, out, taps, (struct lab_matrix){node->saved, taps, 1},
               (struct lab_matrix){node->scratch, out, 1},
               (struct lab_matrix){node->out->value, out, 1});
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    struct lab_tensor *w = &node->parameter[0]->tensor;
    size_t out = (size_t)w->shape[0], taps = w->count / out, rows = node->out->count / out;
    real *dy = node->out->grad;
    lab_matmul(&node->precision, out, taps, rows, (struct lab_matrix){dy, 1, out},
               (struct lab_matrix){node->saved, taps, 1},
               (struct lab_matrix){w->grad, taps, 1});
    for (size_t i = 0; i < rows * taps; i++)
        node->saved[i] = 0;
    lab_matmul(&node->precision, rows, taps, out, (struct lab_matrix){dy, out, 1},
               (struct lab_matrix){w->value, taps, 1},
               (struct lab_matrix){node->saved, taps, 1});
    move_patches(node->in[0], node->in[0]->grad, node->saved, true);
}

const struct lab_op lab_op_conv2d = {"conv2d", forward, backward};
