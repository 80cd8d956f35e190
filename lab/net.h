/*
 * net.h - a network: tensors, parameters and nodes in execution order.
 */
#ifndef LAB_NET_H
#define LAB_NET_H

#include "op.h"
#include "settings.h"

enum { LAB_MAX_NODES = 64, LAB_MAX_TENSORS = 96, LAB_MAX_PARAMETERS = 48 };

struct lab_net {
    const struct lab_net_kind *kind;
    const struct lab_settings *settings;
    int samples; /* of a batch on this rank */
    uint64_t seed;
    struct lab_node nodes[LAB_MAX_NODES];
    int node_count;
    struct lab_tensor *tensors[LAB_MAX_TENSORS]; /* activations */
    int tensor_count;
    struct lab_parameter *parameters[LAB_MAX_PARAMETERS];
    int parameter_count;
    struct lab_tensor *input; /* NULL when an embedding reads tokens */
    struct lab_tensor *logits, *loss;
    void **blocks;
    size_t block_count;
};

/* What a network works on, and how it is built. */
struct lab_net_kind {
    const char *name;
    const char *summary;
    int features[3]; /* rows, columns, channels of a sample; rows 0: tokens */
    int tokens;
    int classes;
    int layers; /* numbered from 0; the last is the head */
    void (*build)(struct lab_net *net);
    void (*defaults)(struct lab_settings *settings);
};

const struct lab_net_kind *lab_net_kind_find(const char *name);
const struct lab_net_kind *lab_net_kind_at(size_t i); /* NULL past the end */

struct lab_net *lab_net_new(const struct lab_net_kind *kind,
                            const struct lab_settings *settings, uint64_t seed, int samples);
void lab_net_free(struct lab_net *net);
/* Takes over parameters and running statistics of the same names. */
void lab_net_adopt(struct lab_net *net, const struct lab_net *from);

enum lab_phase { LAB_FORWARD, LAB_BACKWARD };

/* Sees every node before and after it runs; changes nothing but, as faulty hardware would, bits. */
struct lab_observer {
    void (*enter)(void *context, struct lab_node *node, enum lab_phase phase);
    void (*leave)(void *context, struct lab_node *node, enum lab_phase phase);
    void *context;
};

void lab_net_forward(struct lab_net *net, const struct lab_pass *pass,
                     const struct lab_observer *observer);
/* Gradients of loss_scale * loss, added to what is there. */
void lab_net_backward(struct lab_net *net, const struct lab_pass *pass, real loss_scale,
                      const struct lab_observer *observer);
void lab_net_clear_gradients(struct lab_net *net);
/* Parameters as the operators see them, from the master copies. */
void lab_net_refresh(struct lab_net *net);
int lab_net_correct(const struct lab_net *net, const struct lab_batch *batch);

/* ---- for builders --------------------------------------------------------------------- */

void *lab_net_allocate(struct lab_net *net, size_t count, size_t size);
struct lab_tensor *lab_net_tensor(struct lab_net *net, const char *name, int rank,
                                  const int64_t *shape);
enum lab_init { LAB_INIT_NORMAL, LAB_INIT_ONE, LAB_INIT_ZERO };
struct lab_parameter *lab_net_parameter(struct lab_net *net, const char *path, const char *name,
                                        int layer, int rank, const int64_t *shape,
                                        enum lab_init init, double deviation);
struct lab_node *lab_net_node(struct lab_net *net, const struct lab_op *op, const char *path,
                              int layer, struct lab_tensor *in, int rank, const int64_t *shape);

#endif
