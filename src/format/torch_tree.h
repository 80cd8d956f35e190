/*
 * torch_tree.h - what torch.save() wrote, as tensors and notes.
 *
 * Dicts, lists and objects are flattened to dotted names: {"model": {"fc.weight": ...}} gives
 * "model.fc.weight". What is not a tensor becomes a note; what Plumb does not understand
 * becomes a note "opaque: ..." and never an error.
 */
#ifndef PLUMB_FORMAT_TORCH_TREE_H
#define PLUMB_FORMAT_TORCH_TREE_H

#include "base/pickle.h"
#include "format/torch_tensor.h"
#include "model/file.h"

struct plumb_torch_tree {
    struct plumb_file *file;
    struct plumb_pickle_node *root;
    /* Finds the storage that a tensor refers to. */
    enum plumb_status (*find)(void *context, const struct plumb_torch_reference *reference,
                              const struct plumb_storage **storage, struct plumb_error *err);
    void *context;
};

enum plumb_status plumb_torch_add_tree(const struct plumb_torch_tree *tree,
                                       struct plumb_error *err);
/* True if a dotted name speaks of optimizer, scheduler or random state. */
bool plumb_torch_is_training_state(const char *name);

#endif
