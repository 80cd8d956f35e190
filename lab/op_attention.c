/*
 * op_attention.c - causal attention: in is [sample, token, 3 * width] with query, key and value
 * beside each other, out is [sample, token, width]; the heads share the width.
 *   saved: probabilities [sample, head, token, token]
 */
#include "op.h"

struct head {
    size_t tokens, size, stride; /* stride: between tokens of the input */
    real *q, *k, *v;             /* of values or gradients */
};

static struct head head_of(const struct lab_node *node, real *base, size_t index)
{
    const struct lab_tensor *in = node->in[0];
    size_t tokens = (size_t)in->shape[1], width = (size_t)in->shape[2] / 3;
    size_t heads = (size_t)node->heads, size = width / heads;
    size_t sample = index / heads, head = index % heads;
    real *q = base + sample * tokens * 3 * width + head * size;
    return (struct head){tokens, size, 3 * width, q, q + width, q + 2 * width};
}

static void softmax_causal(real *scores, size_t tokens, real factor)
{
    for (size_t i = 0; i < tokens; i++) {
        real *row = scores + i * tokens, top = row[0] * factor, sum = 0;
        for (size_t j = 0; j <= i; j++) {
            row[j] *= factor;
            if (row[j] > top)
                top = row[j];
        }
        for (size_t j = 0; j <= i; j++) {
            row[j] = real_exp(row[j] - top);
            sum += row[j];
        }
        for (size_t j = 0; j < tokens; j++)
            row[j] = j <= i ? row[j] / sum : 0;
    }
}

static void clear(real *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = 0;
}

/* Keys (or values) of a head as a [size, tokens] matrix. */
static void turn(const real *from, const struct head *h, real *to)
{
    for (size_t t = 0; t < h->tokens; t++)
        for (size_t s = 0; s < h->size; s++)
            to[s * h->tokens + t] = from[t * h->stride + s];
}

static void forward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    size_t heads = (size_t)(node->in[0]->shape[0] * node->heads);
    clear(node->out->value, node->out->count);
    for (size_t index = 0; index < heads; index++) {
        struct head h = head_of(node, node->in[0]->value, index);
        size_t t = h.tokens, width = h.stride / 3;
        real *p = node->saved + index * t * t;
        real *out = node->out->value + index / (size_t)node->heads * t * width +
                    index % (size_t)node->heads * h.size;
        clear(p, t * t);
        turn(h.k, &h, node->scratch);
        lab_matmul(&node->precision, t, t, h.size, (struct lab_matrix){h.q, h.stride, 1},
                   (struct lab_matrix){node->scratch, t, 1}, (struct lab_matrix){p, t, 1});
        softmax_causal(p, t, 1 / real_sqrt((real)h.size));
        lab_round(&node->precision, p, t * t);
        lab_matmul(&node->precision, t, h.size, t, (struct lab_matrix){p, t, 1},
                   (struct lab_matrix){h.v, h.stride, 1}, (struct lab_matrix){out, width, 1});
    }
}

/* dP becomes dS: the gradient through the softmax and the factor before it. */
static void softmax_backward(const real *p, real *dp, size_t tokens, real factor)
{
    for (size_t i = 0; i < tokens; i++) {
        real dot = 0;
        for (size_t j = 0; j <= i; j++)
            dot += p[i * tokens + j] * dp[i * tokens + j];
        for (size_t j = 0; j < tokens; j++)
            dp[i * tokens + j] =
                j <= i ? p[i * tokens + j] * (dp[i * tokens + j] - dot) * factor : 0;
    }
}

static void backward(struct lab_node *node, const struct lab_pass *pass)
{
    (void)pass;
    size_t heads = (size_t)(node->in[0]->shape[0] * node->heads);
    for (size_t index = 0; index < heads; index++) {
        struct head h = head_of(node, node->in[0]->value, index);
        struct head d = head_of(node, node->in[0]->grad, index);
        size_t t = h.tokens, width = h.stride / 3;
        real *p = node->saved + index * t * t, *dp = node->scratch + h.size * t;
        real *dy = node->out->grad + index / (size_t)node->heads * t * width +
                   index % (size_t)node->heads * h.size;
        const struct lab_precision *precision = &node->precision;
        clear(dp, t * t);
        turn(h.v, &h, node->scratch);
        lab_matmul(precision, t, t, h.size, (struct lab_matrix){dy, width, 1},
                   (struct lab_matrix){node->scratch, t, 1}, (struct lab_matrix){dp, t, 1});
        lab_matmul(precision, t, h.size, t, (struct lab_matrix){p, 1, t},
                   (struct lab_matrix){dy, width, 1}, (struct lab_matrix){d.v, d.stride, 1});
        softmax_backward(p, dp, t, 1 / real_sqrt((real)h.size));
        lab_matmul(precision, t, h.size, t, (struct lab_matrix){dp, t, 1},
                   (struct lab_matrix){h.k, h.stride, 1},
                   (struct lab_matrix){d.q, d.stride, 1});
        lab_matmul(precision, t, h.size, t, (struct lab_matrix){dp, 1, t},
                   (struct lab_matrix){h.q, h.stride, 1},
                   (struct lab_matrix){d.k, d.stride, 1});
    }
}

const struct lab_op lab_op_attention = {"attention", forward, backward};
