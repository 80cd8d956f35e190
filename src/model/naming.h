/*
 * naming.h - what PyTorch and MindSpore call the same parameter, and how its shape differs.
 *
 *   layer                     PyTorch                        MindSpore
 *   BatchNorm*                weight bias                    gamma beta
 *                             running_mean running_var       moving_mean moving_variance
 *                             num_batches_tracked            -
 *   LayerNorm, GroupNorm      weight bias                    gamma beta
 *   RMSNorm                   weight                         gamma
 *   Embedding                 weight                         embedding_table
 *   PReLU                     weight                         w
 *   Conv1d, ConvTranspose1d   weight (o, i, k)               weight (o, i, 1, k)
 *   a norm or PReLU alone     running_mean running_var weight    mean variance a
 *   everything else           the same
 */
#ifndef PLUMB_MODEL_NAMING_H
#define PLUMB_MODEL_NAMING_H

#include "base/arena.h"

enum { PLUMB_NAMING_CANDIDATES = 8 };

/* Other names the same tensor may have in the other framework, in either direction; the first
 * is the likeliest. Returns how many; SIZE_MAX when out of memory. */
size_t plumb_naming_candidates(struct plumb_arena *arena, const char *name,
                               const char *candidates[PLUMB_NAMING_CANDIDATES]);

/* What torch calls a parameter that MindSpore calls `leaf` inside a layer; NULL if no other name. */
const char *plumb_naming_torch_leaf(const char *leaf, size_t length);

/* The name without wrappers that say nothing about the layer: state_dict. module. model. ... */
const char *plumb_naming_bare(const char *name);

/* True for names that only one framework has: num_batches_tracked. */
bool plumb_naming_has_no_partner(const char *name);

/* Optimizer state, learning rate, step counters: by the names the frameworks use. */
bool plumb_naming_is_optimizer(const char *name);

/* Running statistics and counters: part of the model, but nothing that is trained. */
bool plumb_naming_is_buffer(const char *name);

/* True if shapes are equal, or differ only as a 1-d convolution's do. */
bool plumb_naming_same_layout(const struct plumb_tensor *a, const struct plumb_tensor *b);

/* What a tensor becomes in the other framework. */
struct plumb_naming {
    const char *name;
    int rank;
    const int64_t *shape;
    bool renamed, reshaped;
    bool dropped; /* it has no place there */
    const char *why_dropped;
};

/* Translates all tensors of a file at once, because what a `weight` is shows only from its
 * neighbours. `to` is "mindspore" or "pytorch"; names may live in the arena. */
enum plumb_status plumb_naming_translate(struct plumb_arena *arena,
                                         const struct plumb_tensor *const *tensors,
                                         size_t count, const char *to,
                                         struct plumb_naming *names, struct plumb_error *err);

#endif
