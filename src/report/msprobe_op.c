/* msprobe_op.c - see msprobe_op.h. */
#include "report/msprobe_op.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "format/torch_tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAF_LIMIT = 1 << 16, MOST_ARGUMENTS = 4096 };

/* ---- names --------------------------------------------------------------------------------------- */

/* msprobe takes letters, digits, dots, dashes and underscores only. */
static void clean(char *text)
{
    for (; *text; text++)
        if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
              (*text >= '0' && *text <= '9') || *text == '.' || *text == '-' || *text == '_'))
            *text = '_';
}

static void name_op(const struct plumb_tensor_record *record, bool gradient,
                    struct plumb_msprobe_target *target)
{
    const char *way = target->backward ? "backward" : "forward";
    if (record->origin && (strstr(record->origin, "ward") || strstr(record->origin, "_grad")))
        (void)snprintf(target->key, sizeof target->key, "%s", record->origin);
    else if (record->phase == PLUMB_PHASE_COLLECTIVE)
        (void)snprintf(target->key, sizeof target->key, "Distributed.%s.%d.forward", record->op,
                       record->call);
    else if (gradient)
        (void)snprintf(target->key, sizeof target->key, "Module.%s%s%s.parameters_grad.%d",
                       record->module, *record->module ? "." : "", record->op, record->call);
    else if (record->phase == PLUMB_PHASE_OPTIMIZER)
        (void)snprintf(target->key, sizeof target->key, "Optimizer.%s%s%s.%d.forward",
                       record->module, *record->module ? "." : "", record->op, record->call);
    else if (*record->module)
        (void)snprintf(target->key, sizeof target->key, "Module.%s.%s.%s.%d", record->module,
                       record->op, way, record->call);
    else
        (void)snprintf(target->key, sizeof target->key, "Functional.%s.%d.%s", record->op,
                       record->call, way);
    clean(target->key);
}

/* The number after "input" or "output"; -1 if the slot is not a place in a list. */
static int64_t list_index(const char *slot, const char *word)
{
    int64_t index = 0;
    if (!plumb_text_starts(slot, word) || !slot[strlen(word)])
        return -1;
    for (const char *c = slot + strlen(word); *c; c++) {
        if (*c < '0' || *c > '9' || index >= MOST_ARGUMENTS)
            return -1;
        index = index * 10 + (*c - '0');
    }
    return index < MOST_ARGUMENTS ? index : -1;
}

/* "x" of "input:x", "1.0" of "input1.0". */
static const char *slot_name(const char *slot, const char *word)
{
    const char *name = slot + strlen(word);
    return *name == ':' ? name + 1 : *name ? name : slot;
}

void plumb_msprobe_target_of(const struct plumb_tensor_record *record,
                             struct plumb_msprobe_target *target)
{
    const char *slot = record->slot, *name = slot, *part = "input";
    *target = (struct plumb_msprobe_target){.section = PLUMB_MSPROBE_KEYWORDS, .index = -1};
    target->backward = record->phase == PLUMB_PHASE_BACKWARD;
    const bool optimizer = record->phase == PLUMB_PHASE_OPTIMIZER;
    const bool gradient = !optimizer && plumb_text_starts(slot, "grad:");
    if (gradient) {
        target->section = PLUMB_MSPROBE_GRADIENTS;
        name = slot + 5;
        part = "";
    } else if (!optimizer && plumb_text_starts(slot, "param:")) {
        target->section = PLUMB_MSPROBE_PARAMETERS;
        name = slot + 6;
        part = "parameters";
    } else if (plumb_text_starts(slot, "output")) {
        target->section = PLUMB_MSPROBE_RESULTS;
        target->index = list_index(slot, "output");
        name = slot_name(slot, "output");
        part = "output";
    } else if (plumb_text_starts(slot, "input")) {
        target->index = list_index(slot, "input");
        target->section = target->index >= 0 ? PLUMB_MSPROBE_ARGUMENTS : PLUMB_MSPROBE_KEYWORDS;
        name = slot_name(slot, "input");
    }
    name_op(record, gradient, target);
    if (target->index < 0)
        (void)snprintf(target->name, sizeof target->name, "%s", name);
    clean(target->name);
    (void)snprintf(target->file, sizeof target->file, "%s%s%s.%s", target->key,
                   *part ? "." : "", part, target->index < 0 ? target->name : name);
}

/* ---- a tensor ------------------------------------------------------------------------------------------ */

static const char *mindspore_dtype(enum plumb_dtype dtype)
{
    static const char *const names[PLUMB_DTYPE_COUNT] = {
        [PLUMB_F64] = "Float64",   [PLUMB_F32] = "Float32",   [PLUMB_F16] = "Float16",
        [PLUMB_BF16] = "BFloat16", [PLUMB_I8] = "Int8",       [PLUMB_I16] = "Int16",
        [PLUMB_I32] = "Int32",     [PLUMB_I64] = "Int64",     [PLUMB_U8] = "UInt8",
        [PLUMB_U16] = "UInt16",    [PLUMB_U32] = "UInt32",    [PLUMB_U64] = "UInt64",
        [PLUMB_BOOL] = "Bool",     [PLUMB_C64] = "Complex64", [PLUMB_C128] = "Complex128",
    };
    return names[dtype] ? names[dtype] : plumb_dtype_name(dtype);
}

/* Python's json writes what is not finite as bare words, and so does msprobe. */
static void put_number(struct plumb_buffer *out, const char *key, bool known, double value)
{
    char text[PLUMB_NUMBER_TEXT];
    plumb_number_text(value, text);
    plumb_buffer_printf(out, ", \"%s\": %s", key,
                        !known            ? "null"
                        : isfinite(value) ? text
                        : isnan(value)    ? "NaN"
                        : value > 0       ? "Infinity"
                                          : "-Infinity");
}

/* Ours are of the finite values only; msprobe's of all: a NaN makes all four NaN. */
static void put_statistics(struct plumb_buffer *out, const struct plumb_tensor_record *record)
{
    const struct plumb_stats *stats = &record->stats;
    const double inf = (double)INFINITY, nan = (double)NAN;
    double max = stats->max, min = stats->min, mean = stats->mean, norm = stats->l2;
    bool known[4];
    const double given[4] = {max, min, mean, norm};
    const bool infinite = stats->pos_inf || stats->neg_inf;
    for (int i = 0; i < 4; i++)
        known[i] = record->has_stats && (!isnan(given[i]) || stats->nan || infinite);
    max = stats->pos_inf ? inf : max;
    min = stats->neg_inf ? -inf : min;
    mean = stats->pos_inf && stats->neg_inf ? nan
           : stats->pos_inf                 ? inf
           : stats->neg_inf                 ? -inf
                                            : mean;
    norm = infinite ? inf : norm;
    put_number(out, "Max", known[0], stats->nan ? nan : max);
    put_number(out, "Min", known[1], stats->nan ? nan : min);
    put_number(out, "Mean", known[2], stats->nan ? nan : mean);
    put_number(out, "Norm", known[3], stats->nan ? nan : norm);
}

static void put_leaf(struct plumb_buffer *out, const struct plumb_tensor_record *record,
                     bool mindspore, const char *data_name)
{
    const char *torch = plumb_torch_dtype_name(record->dtype);
    plumb_buffer_printf(out, "{\"type\": \"%s\", \"dtype\": \"%s%s\", \"shape\": [",
                        mindspore ? "mindspore.Tensor" : "torch.Tensor",
                        mindspore ? "" : "torch.",
                        mindspore ? mindspore_dtype(record->dtype)
                        : torch   ? torch
                                  : plumb_dtype_name(record->dtype));
    for (int i = 0; i < record->dims; i++)
        plumb_buffer_printf(out, "%s%lld", i ? ", " : "", (long long)record->shape[i]);
    plumb_buffer_text(out, "]");
    put_statistics(out, record);
    if (!mindspore)
        plumb_buffer_text(out, ", \"requires_grad\": false");
    if (record->fingerprint_kind == PLUMB_FINGERPRINT_CRC32)
        plumb_buffer_printf(out, ", \"md5\": \"%08llx\"",
                            (unsigned long long)record->fingerprint);
    if (data_name)
        plumb_buffer_printf(out, ", \"data_name\": \"%s\"", data_name);
    plumb_buffer_text(out, "}");
}

/* ---- a step ----------------------------------------------------------------------------------------------- */

static struct plumb_msprobe_export_op *find_op(struct plumb_msprobe_step *step,
                                               const struct plumb_msprobe_target *target)
{
    size_t index = 0;
    if (plumb_table_get(&step->keys, target->key, &index))
        return &step->ops[index];
    if (step->count == step->capacity) {
        const size_t larger = step->capacity ? step->capacity * 2 : 256;
        void *ops = plumb_realloc_array(step->ops, larger, sizeof *step->ops);
        if (!ops)
            return NULL;
        step->ops = ops;
        step->capacity = larger;
    }
    const char *key = plumb_arena_text(&step->arena, target->key, strlen(target->key));
    if (!key || !plumb_table_put(&step->keys, key, step->count))
        return NULL;
    struct plumb_msprobe_export_op *op = &step->ops[step->count++];
    *op = (struct plumb_msprobe_export_op){.key = key, .backward = target->backward};
    return op;
}

bool plumb_msprobe_step_add(struct plumb_msprobe_step *step,
                            const struct plumb_tensor_record *record,
                            const struct plumb_msprobe_target *target, bool mindspore,
                            const char *data_name)
{
    struct plumb_buffer leaf;
    struct plumb_msprobe_export_op *op = find_op(step, target);
    struct plumb_msprobe_tensor *tensor = plumb_arena_alloc(&step->arena, 1, sizeof *tensor);
    if (!op || !tensor)
        return false;
    if (!op->stack)
        op->stack = record->stack;
    plumb_buffer_init(&leaf, LEAF_LIMIT);
    put_leaf(&leaf, record, mindspore, data_name);
    tensor->section = target->section;
    tensor->index = target->index;
    tensor->leaf = plumb_buffer_failed(&leaf)
                       ? NULL
                       : plumb_arena_text(&step->arena, leaf.data, leaf.size);
    plumb_buffer_release(&leaf);
    if (*target->name)
        tensor->name = plumb_arena_text(&step->arena, target->name, strlen(target->name));
    if (op->last)
        op->last->next = tensor;
    else
        op->first = tensor;
    op->last = tensor;
    return tensor->leaf && (!*target->name || tensor->name);
}

/* Positions that nothing was recorded of are null. */
static void put_list(const struct plumb_msprobe_export_op *op,
                     enum plumb_msprobe_section section, struct plumb_json_writer *json)
{
    int64_t next = 0;
    plumb_json_open_array(json);
    for (const struct plumb_msprobe_tensor *tensor = op->first; tensor; tensor = tensor->next) {
        if (tensor->section != section)
            continue;
        for (; tensor->index >= 0 && next < tensor->index; next++)
            plumb_json_put_null(json);
        next++;
        if (tensor->name)
            plumb_json_open_object(json);
        if (tensor->name)
            plumb_json_put_key(json, tensor->name);
        plumb_json_put_raw(json, tensor->leaf);
        if (tensor->name)
            plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
}

static void put_object(const struct plumb_msprobe_export_op *op,
                       enum plumb_msprobe_section section, bool in_list,
                       struct plumb_json_writer *json)
{
    for (const struct plumb_msprobe_tensor *tensor = op->first; tensor; tensor = tensor->next) {
        if (tensor->section != section)
            continue;
        plumb_json_put_key(json, tensor->name ? tensor->name : "value");
        if (in_list)
            plumb_json_open_array(json);
        plumb_json_put_raw(json, tensor->leaf);
        if (in_list)
            plumb_json_close_array(json);
    }
}

static bool has_section(const struct plumb_msprobe_export_op *op,
                        enum plumb_msprobe_section section)
{
    for (const struct plumb_msprobe_tensor *tensor = op->first; tensor; tensor = tensor->next)
        if (tensor->section == section)
            return true;
    return false;
}

void plumb_msprobe_op_json(const struct plumb_msprobe_export_op *op,
                           struct plumb_json_writer *json)
{
    plumb_json_new_line(json);
    plumb_json_put_key(json, op->key);
    plumb_json_open_object(json);
    if (has_section(op, PLUMB_MSPROBE_GRADIENTS)) {
        put_object(op, PLUMB_MSPROBE_GRADIENTS, true, json);
        plumb_json_close_object(json);
        return;
    }
    plumb_json_put_key(json, op->backward ? "input" : "input_args");
    put_list(op, PLUMB_MSPROBE_ARGUMENTS, json);
    if (!op->backward) {
        plumb_json_put_key(json, "input_kwargs");
        plumb_json_open_object(json);
        put_object(op, PLUMB_MSPROBE_KEYWORDS, false, json);
        plumb_json_close_object(json);
    }
    plumb_json_put_key(json, "output");
    put_list(op, PLUMB_MSPROBE_RESULTS, json);
    if (has_section(op, PLUMB_MSPROBE_PARAMETERS)) {
        plumb_json_put_key(json, "parameters");
        plumb_json_open_object(json);
        put_object(op, PLUMB_MSPROBE_PARAMETERS, false, json);
        plumb_json_close_object(json);
    }
    plumb_json_close_object(json);
}

void plumb_msprobe_step_clear(struct plumb_msprobe_step *step)
{
    plumb_table_release(&step->keys);
    plumb_arena_release(&step->arena);
    plumb_free(step->ops);
    *step = (struct plumb_msprobe_step){0};
}
