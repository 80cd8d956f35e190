/* torch_tree.c - walks a pickled object; see torch_tree.h. */
#include "format/torch_tree.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "format/torch_json.h"

#include <stdio.h>
#include <string.h>

enum {
    DEEPEST = 100,
    NOTE_LIMIT = 1 << 16,
};

struct walk {
    const struct plumb_torch_tree *tree;
    struct plumb_buffer path; /* the dotted name of where we are */
    bool too_long;            /* the path would be */
    struct plumb_buffer note;
    uint64_t visits;
    int depth;
    int optimizers; /* how many dicts around us are an optimizer's */
    struct plumb_error *err;
};

static enum plumb_status walk_node(struct walk *walk, struct plumb_pickle_node *node);

bool plumb_torch_is_training_state(const char *name)
{
    static const char words[] =
        "optimizer optim optimizers optimizer_states optimizer_state optimizer_state_dict "
        "opt_state exp_avg exp_avg_sq max_exp_avg_sq momentum_buffer square_avg grad_avg "
        "acc_delta lr_scheduler lr_schedulers scheduler scheduler_state_dict "
        "opt_param_scheduler rng rng_state rng_states torch_rng_state cuda_rng_state "
        "cuda_rng_state_all cpu_rng_state npu_rng_state random_rng_state np_rng_state "
        "rng_tracker_states scaler grad_scaler gradscaler loss_scaler amp "
        "step param_groups";
    while (*name) {
        const size_t length = strcspn(name, ".");
        char word[64];
        if (length && length < sizeof word) {
            memcpy(word, name, length);
            word[length] = '\0';
            if (plumb_text_has_word(words, word))
                return true;
        }
        name += length;
        name += *name == '.';
    }
    return false;
}

/* ---- the path --------------------------------------------------------------------------- */

static void path_cut(struct walk *walk, size_t size)
{
    walk->path.size = size;
    if (walk->path.data)
        walk->path.data[size] = '\0';
}

static void path_add(struct walk *walk, const char *component)
{
    if (walk->path.size + 1 + strlen(component) > PLUMB_MAX_NAME) {
        walk->too_long = true;
        return;
    }
    if (walk->path.size)
        plumb_buffer_text(&walk->path, ".");
    plumb_buffer_text(&walk->path, component);
}

static void path_add_key(struct walk *walk, struct plumb_pickle_node *key)
{
    if (plumb_pickle_text(key)) {
        path_add(walk, key->text);
        return;
    }
    plumb_buffer_release(&walk->note);
    struct plumb_json_writer json = plumb_json_writer_of(&walk->note);
    plumb_torch_put_json(&json, key);
    path_add(walk, plumb_buffer_string(&walk->note));
}

static const char *path_or(const struct walk *walk, const char *otherwise)
{
    return walk->path.size ? walk->path.data : otherwise;
}

static enum plumb_status check_path(struct walk *walk)
{
    if (!walk->too_long)
        return plumb_buffer_failed(&walk->path) ? plumb_fail_memory(walk->err) : PLUMB_OK;
    return plumb_fail(walk->err, PLUMB_LIMIT, -1, "%s: a name of more than %d bytes",
                      walk->tree->file->path, PLUMB_MAX_NAME);
}

/* ---- leaves ----------------------------------------------------------------------------- */

static enum plumb_status add_note(struct walk *walk, struct plumb_pickle_node *node)
{
    plumb_buffer_release(&walk->note); /* a failed buffer starts anew */
    struct plumb_json_writer json = plumb_json_writer_of(&walk->note);
    plumb_torch_put_json(&json, node);
    const char *text = plumb_buffer_failed(&walk->note) ? "\"opaque: a long value\""
                                                        : plumb_buffer_string(&walk->note);
    return plumb_file_add_note(walk->tree->file, path_or(walk, "value"), text, walk->err);
}

static enum plumb_status add_opaque(struct walk *walk, const char *what)
{
    plumb_buffer_release(&walk->note);
    struct plumb_buffer line;
    plumb_buffer_init(&line, NOTE_LIMIT);
    plumb_buffer_printf(&line, "opaque: %s", what);
    struct plumb_json_writer json = plumb_json_writer_of(&walk->note);
    plumb_json_put_string(&json, plumb_buffer_string(&line));
    plumb_buffer_release(&line);
    return plumb_file_add_note(walk->tree->file, path_or(walk, "value"),
                               plumb_buffer_string(&walk->note), walk->err);
}

static enum plumb_status add_tensor(struct walk *walk, const struct plumb_torch_tensor *tensor)
{
    /* The stored values are those before the bit is applied: they are not the tensor's. */
    if (tensor->conjugated || tensor->negated)
        return add_opaque(walk, tensor->conjugated ? "a tensor stored as its conjugate"
                                                   : "a tensor stored as its negative");
    const struct plumb_storage *storage = NULL;
    enum plumb_status status =
        walk->tree->find(walk->tree->context, &tensor->storage, &storage, walk->err);
    if (status)
        return status;
    const size_t size = plumb_dtype_size(tensor->dtype);
    const size_t unit = tensor->storage.untyped ? 1 : plumb_dtype_size(tensor->storage.dtype);
    uint64_t offset = 0, view = 0;
    const char *name = path_or(walk, "tensor");
    if (__builtin_mul_overflow((uint64_t)tensor->offset, size, &offset) ||
        __builtin_mul_overflow((uint64_t)tensor->storage.view_offset, unit, &view) ||
        __builtin_add_overflow(offset, view, &offset))
        return plumb_fail(walk->err, PLUMB_DAMAGED, -1,
                          "%s: tensor '%s' begins beyond 2^64 bytes of its storage",
                          walk->tree->file->path, name);
    const struct plumb_tensor_spec spec = {
        .name = name,
        .dtype = tensor->dtype,
        .rank = tensor->rank,
        .shape = tensor->shape,
        .strides = tensor->strides,
        .storage = storage,
        .offset = offset,
        .not_parameter =
            walk->optimizers > 0 || plumb_torch_is_training_state(name) ||
            (!plumb_dtype_is_float(tensor->dtype) && !plumb_dtype_is_complex(tensor->dtype)),
    };
    return plumb_file_add_tensor(walk->tree->file, &spec, walk->err);
}

/* ---- collections ------------------------------------------------------------------------ */

static enum plumb_status walk_pair(struct walk *walk, struct plumb_pickle_node *key,
                                   struct plumb_pickle_node *value)
{
    const char *text = plumb_pickle_text(key);
    if (text && strcmp(text, "_metadata") == 0) /* versions of modules, in every state dict */
        return PLUMB_OK;
    const size_t size = walk->path.size;
    path_add_key(walk, key);
    enum plumb_status status = check_path(walk);
    if (status == PLUMB_OK)
        status = walk_node(walk, value);
    path_cut(walk, size);
    return status;
}

static bool is_optimizer(const struct plumb_pickle_node *node)
{
    return plumb_pickle_find(node, "param_groups") && plumb_pickle_find(node, "state");
}

static enum plumb_status walk_pairs(struct walk *walk, struct plumb_pickle_node *node)
{
    const int optimizer = node->count <= 64 && is_optimizer(node);
    walk->optimizers += optimizer;
    enum plumb_status status = PLUMB_OK;
    for (uint32_t i = 0; i + 1 < node->count && status == PLUMB_OK; i += 2)
        status = walk_pair(walk, node->items[i], node->items[i + 1]);
    walk->optimizers -= optimizer;
    if (!node->count)
        status = plumb_file_add_note(walk->tree->file, path_or(walk, "value"), "{}", walk->err);
    return status;
}

static enum plumb_status walk_items(struct walk *walk, struct plumb_pickle_node *node)
{
    const size_t size = walk->path.size;
    enum plumb_status status = PLUMB_OK;
    for (uint32_t i = 0; i < node->count && status == PLUMB_OK; i++) {
        char index[16];
        (void)snprintf(index, sizeof index, "%u", i);
        path_add(walk, index);
        status = check_path(walk);
        if (status == PLUMB_OK)
            status = walk_node(walk, node->items[i]);
        path_cut(walk, size);
    }
    return status;
}

/* ---- objects ---------------------------------------------------------------------------- */

/* A whole torch.nn.Module: its tensors get the names that its state dict would give them. */
static enum plumb_status walk_module(struct walk *walk, struct plumb_pickle_node *state)
{
    static const char *const parts[] = {"_parameters", "_buffers", "_modules"};
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == PLUMB_OK; i++) {
        struct plumb_pickle_node *part = plumb_pickle_find(state, parts[i]);
        if (!plumb_pickle_is_mapping(part))
            continue;
        for (uint32_t k = 0; k + 1 < part->count && status == PLUMB_OK; k += 2)
            if (part->items[k + 1]->kind != PLUMB_PICKLE_NONE)
                status = walk_pair(walk, part->items[k], part->items[k + 1]);
    }
    return status;
}

static enum plumb_status walk_state(struct walk *walk, struct plumb_pickle_node *state)
{
    if (plumb_pickle_find(state, "_modules") && plumb_pickle_find(state, "_parameters"))
        return walk_module(walk, state);
    if (plumb_pickle_is_mapping(state))
        return walk_pairs(walk, state);
    enum plumb_status status = PLUMB_OK; /* (attributes or None, slots) */
    for (size_t i = 0; plumb_pickle_item(state, i) && status == PLUMB_OK; i++)
        if (plumb_pickle_is_mapping(plumb_pickle_item(state, i)))
            status = walk_pairs(walk, plumb_pickle_item(state, i));
    return status;
}

static bool holds_mapping(const struct plumb_pickle_node *state)
{
    for (size_t i = 0; plumb_pickle_item(state, i); i++)
        if (plumb_pickle_is_mapping(plumb_pickle_item(state, i)))
            return true;
    return plumb_pickle_is_mapping(state);
}

/* OrderedDict([[key, value], ...]), as Python 2 wrote it. */
static enum plumb_status walk_ordered(struct walk *walk, struct plumb_pickle_node *list)
{
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; plumb_pickle_item(list, i) && status == PLUMB_OK; i++) {
        struct plumb_pickle_node *pair = plumb_pickle_item(list, i);
        if (plumb_pickle_item(pair, 1))
            status = walk_pair(walk, plumb_pickle_item(pair, 0), plumb_pickle_item(pair, 1));
    }
    return status;
}

static enum plumb_status walk_call(struct walk *walk, struct plumb_pickle_node *node)
{
    const char *name = plumb_pickle_callable(node);
    if (strcmp(name, "collections.OrderedDict") == 0) {
        if (plumb_pickle_argument(node, 0))
            return walk_ordered(walk, plumb_pickle_argument(node, 0));
        return walk_pairs(walk, node);
    }
    if (plumb_torch_is_plain(node, &walk->visits))
        return add_note(walk, node);
    if (node->call->mapping)
        return walk_pairs(walk, node);
    if (node->count)
        return walk_items(walk, node);
    if (holds_mapping(node->call->state))
        return walk_state(walk, node->call->state);
    return add_note(walk, node);
}

static enum plumb_status walk_entered(struct walk *walk, struct plumb_pickle_node *node)
{
    struct plumb_torch_tensor tensor;
    const char *what = "";
    switch (plumb_torch_tensor_parse(node, &tensor, &what)) {
    case PLUMB_TORCH_TENSOR:
        return add_tensor(walk, &tensor);
    case PLUMB_TORCH_OPAQUE:
        return add_opaque(walk, what);
    case PLUMB_TORCH_OTHER:
        break;
    }
    if (node->kind == PLUMB_PICKLE_DICT)
        return walk_pairs(walk, node);
    if (node->kind == PLUMB_PICKLE_CALL)
        return walk_call(walk, node);
    if (plumb_torch_is_plain(node, &walk->visits) || node->kind == PLUMB_PICKLE_PERSISTENT)
        return add_note(walk, node);
    return walk_items(walk, node);
}

static enum plumb_status walk_node(struct walk *walk, struct plumb_pickle_node *node)
{
    if (++walk->visits > PLUMB_TORCH_MAX_VISITS)
        return plumb_fail(
            walk->err, PLUMB_LIMIT, -1,
            "%s: its objects contain each other so often that they make more than "
            "2^24 entries",
            walk->tree->file->path);
    if (walk->depth >= DEEPEST || !plumb_pickle_enter(node))
        return add_opaque(walk, "contains itself or is nested too deep");
    walk->depth++;
    enum plumb_status status = walk_entered(walk, node);
    walk->depth--;
    plumb_pickle_leave(node);
    return status;
}

enum plumb_status plumb_torch_add_tree(const struct plumb_torch_tree *tree,
                                       struct plumb_error *err)
{
    struct walk walk = {.tree = tree, .err = err};
    plumb_buffer_init(&walk.path, PLUMB_MAX_NAME);
    plumb_buffer_init(&walk.note, NOTE_LIMIT);
    enum plumb_status status = walk_node(&walk, tree->root);
    plumb_buffer_release(&walk.path);
    plumb_buffer_release(&walk.note);
    return status;
}
