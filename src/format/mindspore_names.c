/* mindspore_names.c - which entries of a MindSpore checkpoint are the model's own. */
#include "format/mindspore_names.h"

#include "base/text.h"

#include <string.h>

/* An optimizer's state of parameter `x` is called `prefix.x`. */
static const char *const sure_prefixes[] = {
    "moment1.",    "moment2.",     "moments.", "moment.",       "adam_m.",
    "adam_v.",     "lamb_m.",      "lamb_v.",  "accum.",        "accum_update.",
    "accu_grads.", "exp_avg.",     "exp_inf.", "exp_avg_sq.",   "max_exp_avg_sq.",
    "mean_grad.",  "mean_square.", "vhat.",    "momentum_buf.", "step_size.",
};

/* These are names of layers as well: a state only if the file has `x` too. */
static const char *const unsure_prefixes[] = {"linear.", "prev.", "stat.", "ax.", "ax_."};

static const char states[] = "global_step learning_rate beta1_power beta2_power momentum "
                             "weight_decay epoch_num step_num loss_scale scale_sense "
                             "current_iterator_step last_overflow_iterator_step state_step";

static bool is_state_of_another(const struct plumb_file *file, const char *name)
{
    const size_t sure = sizeof sure_prefixes / sizeof *sure_prefixes;
    const size_t unsure = sizeof unsure_prefixes / sizeof *unsure_prefixes;
    for (size_t i = 0; i < sure; i++)
        if (plumb_text_starts(name, sure_prefixes[i]))
            return true;
    for (size_t i = 0; i < unsure; i++)
        if (plumb_text_starts(name, unsure_prefixes[i]) &&
            plumb_file_find(file, name + strlen(unsure_prefixes[i])))
            return true;
    return false;
}

/* What append_dict adds (step, epoch, loss ...) has no dimensions and belongs to no layer. */
static bool is_appended(const struct plumb_tensor *tensor)
{
    return tensor->rank == 0 &&
           (!plumb_dtype_is_float(tensor->dtype) || !strchr(tensor->name, '.'));
}

void plumb_mindspore_mark_states(struct plumb_file *file, size_t first)
{
    for (size_t i = first; i < file->tensor_count; i++) {
        struct plumb_tensor *tensor = file->tensors[i];
        if (plumb_text_has_word(states, tensor->name) || is_appended(tensor) ||
            is_state_of_another(file, tensor->name))
            tensor->parameter = false;
    }
}
