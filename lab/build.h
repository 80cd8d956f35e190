/*
 * build.h - what the three networks are put together from.
 */
#ifndef LAB_BUILD_H
#define LAB_BUILD_H

#include "net.h"

/* A layer inside the network starts with what keeps the size of values under relu. */
struct lab_tensor *lab_build_linear(struct lab_net *net, const char *path, int layer,
                                    struct lab_tensor *x, int64_t width);
/* The last layer starts small, so that the first loss is that of guessing. `tied` NULL: a weight
 * of its own and a bias. */
struct lab_tensor *lab_build_head(struct lab_net *net, int layer, struct lab_tensor *x,
                                  struct lab_parameter *tied);
struct lab_tensor *lab_build_conv2d(struct lab_net *net, const char *path, int layer,
                                    struct lab_tensor *x, int64_t channels);
struct lab_tensor *lab_build_norm(struct lab_net *net, const struct lab_op *op,
                                  const char *path, int layer, struct lab_tensor *x);
struct lab_tensor *lab_build_activation(struct lab_net *net, const struct lab_op *op,
                                        const char *path, int layer, struct lab_tensor *x);
struct lab_tensor *lab_build_dropout(struct lab_net *net, const char *path, int layer,
                                     struct lab_tensor *x);
struct lab_tensor *lab_build_add(struct lab_net *net, const char *path, int layer,
                                 struct lab_tensor *a, struct lab_tensor *b);
/* Cuts the gradient where the settings say so. */
struct lab_tensor *lab_build_cut(struct lab_net *net, const char *path, int layer,
                                 struct lab_tensor *x);
void lab_build_loss(struct lab_net *net, int layer, struct lab_tensor *logits);
/* What all networks start from; a network's own defaults change it. */
void lab_settings_default(struct lab_settings *settings);

#endif
