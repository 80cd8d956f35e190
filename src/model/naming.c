/* naming.c - the table of naming.h, and how a layer is recognised by its neighbours. */
#include "model/naming.h"

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

enum layer { LAYER_NORM, LAYER_EMBEDDING, LAYER_PRELU, LAYER_OTHER };

struct leaf_rule {
    const char *torch, *mindspore;
    enum layer layer;
    bool alone; /* MindSpore's name only when the layer is the whole network */
};

static const struct leaf_rule rules[] = {
    {"weight", "gamma", LAYER_NORM, false},
    {"bias", "beta", LAYER_NORM, false},
    {"running_mean", "moving_mean", LAYER_NORM, false},
    {"running_var", "moving_variance", LAYER_NORM, false},
    {"weight", "embedding_table", LAYER_EMBEDDING, false},
    {"weight", "w", LAYER_PRELU, false},
    {"running_mean", "mean", LAYER_NORM, true},
    {"running_var", "variance", LAYER_NORM, true},
    {"weight", "a", LAYER_PRELU, true},
};
enum { RULE_COUNT = sizeof rules / sizeof *rules };

/* "weight" of "layers.0.norm.weight". */
static const char *leaf_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static char *with_leaf(struct plumb_arena *arena, const char *name, const char *leaf)
{
    return plumb_arena_printf(arena, "%.*s%s", (int)(leaf_of(name) - name), name, leaf);
}

size_t plumb_naming_candidates(struct plumb_arena *arena, const char *name,
                               const char *candidates[PLUMB_NAMING_CANDIDATES])
{
    const char *leaf = leaf_of(name);
    size_t count = 0;
    for (size_t i = 0; i < RULE_COUNT && count < PLUMB_NAMING_CANDIDATES; i++) {
        const char *other = strcmp(rules[i].torch, leaf) == 0       ? rules[i].mindspore
                            : strcmp(rules[i].mindspore, leaf) == 0 ? rules[i].torch
                                                                    : NULL;
        if (!other)
            continue;
        candidates[count] = with_leaf(arena, name, other);
        if (!candidates[count++])
            return SIZE_MAX;
    }
    return count;
}

const char *plumb_naming_torch_leaf(const char *leaf, size_t length)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (!rules[i].alone && strlen(rules[i].mindspore) == length &&
            memcmp(rules[i].mindspore, leaf, length) == 0)
            return rules[i].torch;
    return NULL;
}

const char *plumb_naming_bare(const char *name)
{
    static const char *const wrappers[] = {
        "state_dict.", "model_state_dict.", "module.", "_orig_mod.",
        "model.",      "network.",          "net.",    "_backbone."};
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (plumb_text_starts(name, wrappers[i]) && name[strlen(wrappers[i])])
            return plumb_naming_bare(name + strlen(wrappers[i]));
    return name;
}

bool plumb_naming_has_no_partner(const char *name)
{
    return strcmp(leaf_of(name), "num_batches_tracked") == 0;
}

static bool has_component(const char *name, const char *component)
{
    const size_t length = strlen(component);
    for (const char *at = name; at; at = strchr(at, '.')) {
        at += *at == '.';
        if (strncmp(at, component, length) == 0 && (at[length] == '.' || !at[length]))
            return true;
    }
    return false;
}

bool plumb_naming_is_optimizer(const char *name)
{
    static const char *const components[] = {
        "optimizer", "optim",       "optimizer_states", "optimizer_state_dict",
        "exp_avg",   "exp_avg_sq",  "momentum_buffer",  "param_groups",
        "moment1",   "moment2",     "moments",          "adam_m",
        "adam_v",    "lr_scheduler"};
    static const char *const whole[] = {
        "global_step",          "learning_rate", "beta1_power", "beta2_power", "momentum",
        "weight_decay",         "epoch_num",     "step_num",    "scale_sense", "loss_scale",
        "current_iterator_step"};
    for (size_t i = 0; i < sizeof components / sizeof *components; i++)
        if (has_component(name, components[i]))
            return true;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(name, whole[i]) == 0)
            return true;
    return false;
}

bool plumb_naming_is_buffer(const char *name)
{
    static const char *const leaves[] = {"running_mean", "running_var", "num_batches_tracked",
                                         "moving_mean", "moving_variance"};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (strcmp(leaf_of(name), leaves[i]) == 0)
            return true;
    return false;
}

static bool is_conv1d_pair(const struct plumb_tensor *three, const struct plumb_tensor *four)
{
    return three->rank == 3 && four->rank == 4 && four->shape[2] == 1 &&
           three->shape[0] == four->shape[0] && three->shape[1] == four->shape[1] &&
           three->shape[2] == four->shape[3];
}

bool plumb_naming_same_layout(const struct plumb_tensor *a, const struct plumb_tensor *b)
{
    if (a->rank != b->rank)
        return is_conv1d_pair(a, b) || is_conv1d_pair(b, a);
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

/* ---- translating a whole file --------------------------------------------------------- */

struct translation {
    struct plumb_arena *arena;
    const struct plumb_tensor *const *tensors;
    size_t count;
    struct plumb_table index; /* by name */
    bool to_mindspore;
    size_t wrapper;        /* bytes of a wrapper that all names share */
    bool has_tall_kernels; /* some k x 1 convolution: then 1 x k ones are 2-d as well */
};

static const struct plumb_tensor *sibling(const struct translation *t, const char *name,
                                          const char *leaf)
{
    char *path = with_leaf(t->arena, name, leaf);
    size_t i;
    return path && plumb_table_get(&t->index, path, &i) ? t->tensors[i] : NULL;
}

static bool mentions(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

static bool sounds_like_embedding(const char *name)
{
    static const char *const words[] = {"emb", "wte", "wpe", "token", "vocab", "lookup"};
    return mentions(name, words, sizeof words / sizeof *words);
}

static bool sounds_like_prelu(const char *name)
{
    static const char *const words[] = {"prelu", "relu", "act"};
    return mentions(name, words, sizeof words / sizeof *words);
}

/* What a PyTorch layer is, from one of its tensors and that tensor's neighbours. */
static enum layer recognise(const struct translation *t, const struct plumb_tensor *tensor)
{
    const char *name = tensor->name;
    const struct plumb_tensor *weight = sibling(t, name, "weight");
    if (sibling(t, name, "running_mean"))
        return LAYER_NORM;
    if (!weight)
        return LAYER_OTHER;
    const struct plumb_tensor *bias = sibling(t, name, "bias");
    if (weight->rank == 1) {
        if (bias || weight->shape[0] > 1)
            return !bias && sounds_like_prelu(name) ? LAYER_PRELU : LAYER_NORM;
        return LAYER_PRELU;
    }
    if (weight->rank == 2 && !bias && sounds_like_embedding(name))
        return LAYER_EMBEDDING;
    return LAYER_OTHER;
}

/* A MindSpore leaf means what the table says only in the right company. */
static bool fits_mindspore(const struct translation *t, const struct plumb_tensor *tensor,
                           const struct leaf_rule *rule)
{
    if (rule->layer == LAYER_PRELU)
        return tensor->rank == 1;
    return !rule->alone || sibling(t, tensor->name, "gamma");
}

static const char *new_leaf(const struct translation *t, const struct plumb_tensor *tensor)
{
    const char *leaf = leaf_of(tensor->name), *found = leaf;
    const bool alone = leaf == tensor->name;
    const enum layer layer = t->to_mindspore ? recognise(t, tensor) : LAYER_OTHER;
    for (size_t i = 0; i < RULE_COUNT; i++) {
        const struct leaf_rule *rule = &rules[i];
        if (rule->alone && !alone)
            continue; /* and where it is alone, the later rule wins */
        if (t->to_mindspore && layer == rule->layer && strcmp(leaf, rule->torch) == 0)
            found = rule->mindspore;
        if (!t->to_mindspore && strcmp(leaf, rule->mindspore) == 0 &&
            fits_mindspore(t, tensor, rule))
            found = rule->torch;
    }
    return found;
}

/* A 1-d convolution's weight has three dimensions in PyTorch and four in MindSpore. Going back,
 * 1 x 1 kernels stay: they are far oftener 2-d. So do 1 x k ones where k x 1 ones exist. */
static bool wants_reshape(const struct translation *t, const struct plumb_tensor *tensor)
{
    if (strcmp(leaf_of(tensor->name), "weight") != 0)
        return false;
    if (t->to_mindspore)
        return tensor->rank == 3;
    if (tensor->rank != 4 || tensor->shape[2] != 1)
        return false;
    if (strcasestr(tensor->name, "1d"))
        return true;
    return tensor->shape[3] > 1 && !t->has_tall_kernels;
}

static enum plumb_status reshape(const struct translation *t, const struct plumb_tensor *tensor,
                                 struct plumb_naming *out, struct plumb_error *err)
{
    int64_t *shape = plumb_arena_alloc(t->arena, 4, sizeof *shape);
    if (!shape)
        return plumb_fail_memory(err);
    shape[0] = tensor->shape[0];
    shape[1] = tensor->shape[1];
    shape[2] = t->to_mindspore ? 1 : tensor->shape[3];
    shape[3] = t->to_mindspore ? tensor->shape[2] : 0;
    out->rank = t->to_mindspore ? 4 : 3;
    out->shape = shape;
    out->reshaped = true;
    return PLUMB_OK;
}

static enum plumb_status translate_one(const struct translation *t,
                                       const struct plumb_tensor *tensor,
                                       struct plumb_naming *out, struct plumb_error *err)
{
    *out = (struct plumb_naming){
        .name = tensor->name, .rank = tensor->rank, .shape = tensor->shape};
    if (plumb_naming_is_optimizer(tensor->name))
        out->why_dropped = "optimizer state";
    else if (t->to_mindspore && plumb_naming_has_no_partner(tensor->name))
        out->why_dropped = "num_batches_tracked, which MindSpore does not keep";
    if (out->why_dropped) {
        out->dropped = true;
        return PLUMB_OK;
    }
    char *name = with_leaf(t->arena, tensor->name, new_leaf(t, tensor));
    if (!name)
        return plumb_fail_memory(err);
    out->name = name + t->wrapper;
    out->renamed = strcmp(out->name, tensor->name) != 0;
    return wants_reshape(t, tensor) ? reshape(t, tensor, out, err) : PLUMB_OK;
}

/* How long the wrapper is that every tensor of the model carries; `model.` is kept, because it
 * is a real part of many networks. */
static size_t shared_wrapper(const struct translation *t)
{
    static const char *const wrappers[] = {"state_dict.", "model_state_dict.", "module.",
                                           "_orig_mod."};
    for (size_t w = 0; w < sizeof wrappers / sizeof *wrappers; w++) {
        size_t with = 0, without = 0;
        for (size_t i = 0; i < t->count; i++) {
            if (plumb_naming_is_optimizer(t->tensors[i]->name))
                continue;
            const bool starts = plumb_text_starts(t->tensors[i]->name, wrappers[w]);
            with += starts;
            without += !starts;
        }
        if (with && !without)
            return strlen(wrappers[w]);
    }
    return 0;
}

static bool any_tall_kernel(const struct translation *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->tensors[i]->rank == 4 && t->tensors[i]->shape[2] > 1 &&
            t->tensors[i]->shape[3] == 1)
            return true;
    return false;
}

enum plumb_status plumb_naming_translate(struct plumb_arena *arena,
                                         const struct plumb_tensor *const *tensors,
                                         size_t count, const char *to,
                                         struct plumb_naming *names, struct plumb_error *err)
{
    struct translation t = {.arena = arena, .tensors = tensors, .count = count};
    t.to_mindspore = strcmp(to, "mindspore") == 0;
    if (!t.to_mindspore && strcmp(to, "pytorch") != 0)
        return plumb_fail(err, PLUMB_INVALID, -1,
                          "no framework is called '%s'; use 'mindspore' or 'pytorch'", to);
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < count && status == PLUMB_OK; i++)
        if (!plumb_table_put(&t.index, tensors[i]->name, i))
            status = plumb_fail_memory(err);
    t.wrapper = shared_wrapper(&t);
    t.has_tall_kernels = any_tall_kernel(&t);
    for (size_t i = 0; i < count && status == PLUMB_OK; i++)
        status = translate_one(&t, tensors[i], &names[i], err);
    plumb_table_release(&t.index);
    return status;
}
