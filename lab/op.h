/*
 * op.h - tensors, operators and the nodes of a network.
 *
 * A network is a list of nodes in execution order. A node names its operator, its inputs, its
 * parameters and its output; backward walks the list from the end, and every operator adds to
 * the gradients of what it read.
 */
#ifndef LAB_OP_H
#define LAB_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "matmul.h"
#include "precision.h"
#include "real.h"

enum { LAB_NAME = 64, LAB_DIMENSIONS = 4, LAB_INPUTS = 2, LAB_PARAMETERS = 2 };

/* What the recorder found out about values when they had been written: whoever reads them need not
 * ask again. Who writes them later clears `known.known`. See recording.c. */
struct lab_recorded {
    struct plumb_known known;
    enum plumb_dtype dtype; /* as what they were recorded */
};

struct lab_tensor {
    char name[LAB_NAME];
    int rank;
    int64_t shape[LAB_DIMENSIONS];
    size_t count;
    real *value;
    real *grad;
    struct lab_recorded recorded_value, recorded_grad;
};

struct lab_parameter {
    struct lab_tensor tensor; /* value: what the operators compute with */
    real *master;             /* what the optimizer updates; the same memory when not rounded */
    int layer;
    bool decays;                      /* weight decay applies: not for biases and norms */
    bool trainable;                   /* false: its gradient is not computed */
    struct plumb_place *update_place; /* the recorder's; NULL: not looked up */
};

/* What a pass over the network works on. */
struct lab_batch {
    int samples;
    int labels_per_sample;
    int64_t first_sample; /* its place in the global batch: random masks follow the sample */
    real *features;
    int32_t *tokens;
    int32_t *labels;
};

struct lab_pass {
    bool training;
    bool dropout; /* masks are drawn */
    uint64_t seed;
    int64_t random_step;
    const struct lab_batch *batch;
};

struct lab_node;

struct lab_op {
    const char *name;
    void (*forward)(struct lab_node *node, const struct lab_pass *pass);
    void (*backward)(struct lab_node *node, const struct lab_pass *pass);
};

struct lab_node {
    const struct lab_op *op;
    char path[LAB_NAME];
    int layer;
    struct lab_tensor *in[LAB_INPUTS];
    struct lab_parameter *parameter[LAB_PARAMETERS];
    struct lab_tensor *out;
    struct lab_precision precision;
    real *saved; /* kept from forward for backward */
    real *scratch;
    real *state[2]; /* running statistics */
    real attribute; /* probability, factor, epsilon: see the operator */
    real momentum;
    int heads;
    bool flag;                    /* see the operator */
    struct plumb_place *place[2]; /* the recorder's, by enum lab_phase; NULL: not looked up */
};

#define LAB_OP(name) extern const struct lab_op lab_op_##name;
#include "ops.def"
#undef LAB_OP

#endif
