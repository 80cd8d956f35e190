/* op_records.c - running operators and their tensors, as records of the run. Any thread, with or without the GIL. */
#include "torch_ops.h"

#include "seen_values.h"
#include "torch_modules.h"
#include "torch_team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACES = 1 << 14,
    SLOTS = 256, /* numbers of slots that have a text ready */
    LABEL = 512,
    /* Then torch, which refuses to show the tensors of an operator here, is not asked again. */
    MOST_FAILURES = 4,
};

/* An operator at a place in the model, looked up by three numbers instead of by text. */
struct place {
    _Atomic(const struct plumb_op *) op; /* set last; NULL: free */
    uint32_t module;
    unsigned kind;              /* phase, plus 4 if recomputed */
    struct plumb_place *handle; /* NULL: not to be recorded */
    atomic_int failures;
};

static struct {
    struct plumb_recorder *recorder;
    enum plumb_save save;
    char *patterns; /* separated by commas; NULL: all is wanted */
    struct place places[PLACES];
    size_t place_count;
    pthread_mutex_t lock; /* of adding places */
} records = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    atomic_ullong operators, tensors, referred, scanned_bytes, foreign, failed;
} counted;

static char slot_names[2][SLOTS][12]; /* "input0", "output0" */

/* Each recording counts its own. */
static void count_anew(void)
{
    atomic_store(&counted.operators, 0);
    atomic_store(&counted.tensors, 0);
    atomic_store(&counted.referred, 0);
    atomic_store(&counted.scanned_bytes, 0);
    atomic_store(&counted.foreign, 0);
    atomic_store(&counted.failed, 0);
}

void plumb_op_records_open(struct plumb_recorder *recorder, const char *patterns,
                           enum plumb_save save)
{
    (void)pthread_mutex_lock(&records.lock);
    if (recorder)
        count_anew();
    records.recorder = recorder;
    records.save = save;
    free(records.patterns);
    records.patterns = patterns && *patterns ? strdup(patterns) : NULL;
    for (size_t i = 0; i < PLACES; i++)
        atomic_store(&records.places[i].op, NULL);
    records.place_count = 0;
    for (int i = 0; i < SLOTS; i++) {
        (void)snprintf(slot_names[0][i], sizeof slot_names[0][i], "input%d", i);
        (void)snprintf(slot_names[1][i], sizeof slot_names[1][i], "output%d", i);
    }
    (void)pthread_mutex_unlock(&records.lock);
}

bool plumb_op_is_open(void)
{
    return records.recorder != NULL;
}

void plumb_op_records_forget(void)
{
    plumb_seen_forget_all();
}

/* Where values are saved, each step has its own. */
void plumb_op_records_next_step(void)
{
    if (records.save == PLUMB_SAVE_TENSORS)
        plumb_seen_forget_all();
    else
        plumb_seen_next_step();
}

void plumb_op_counts(struct plumb_op_counts *counts)
{
    *counts = (struct plumb_op_counts){
        .operators = atomic_load(&counted.operators),
        .tensors = atomic_load(&counted.tensors),
        .referred = atomic_load(&counted.referred),
        .scanned_bytes = atomic_load(&counted.scanned_bytes),
        .foreign = atomic_load(&counted.foreign),
        .failed = atomic_load(&counted.failed),
    };
}

static void count(atomic_ullong *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* ---- places --------------------------------------------------------------------------------- */

/* `*` and `?`, against the whole text. The pattern ends at a comma. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0' || *pattern == ',';
}

static const char *next_pattern(const char *pattern)
{
    const char *comma = strchr(pattern, ',');
    return comma ? comma + 1 : NULL;
}

static bool is_wanted(const char *path, const char *name)
{
    char label[2 * LABEL];
    if (!records.patterns)
        return true;
    (void)snprintf(label, sizeof label, "%s%s%s", path, *path ? "." : "", name);
    bool wanted = false;
    for (const char *at = records.patterns; at && !wanted; at = next_pattern(at))
        wanted = matches(at, name) || matches(at, label);
    return wanted;
}

/* With the lock held. */
static void make_place(struct place *place, const struct plumb_op *op, uint32_t module,
                       unsigned kind)
{
    char name[LABEL];
    (void)snprintf(name, sizeof name, "%s%s", op->label, kind & 4 ? ".recompute" : "");
    place->module = module;
    place->kind = kind;
    place->handle = NULL;
    atomic_store(&place->failures, 0);
    if (is_wanted(plumb_module_path(module), name))
        place->handle = plumb_record_place(records.recorder, (enum plumb_phase)(kind & 3),
                                           plumb_module_path(module), name);
    records.place_count++;
    atomic_store_explicit(&place->op, op, memory_order_release);
}

/* The place, or the free one where it belongs. */
static struct place *look_up(const struct plumb_op *op, uint32_t module, unsigned kind)
{
    const uint64_t hash =
        ((uint64_t)(uintptr_t)op ^ ((uint64_t)module << 36) ^ ((uint64_t)kind << 57)) *
        UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = hash >> 50;; at = (at + 1) & (PLACES - 1)) {
        struct place *place = &records.places[at];
        const struct plumb_op *of = atomic_load_explicit(&place->op, memory_order_acquire);
        if (!of || (of == op && place->module == module && place->kind == kind))
            return place;
    }
}

/* NULL: there are too many. */
static struct place *find_place(const struct plumb_op *op, struct plumb_op_context context)
{
    const unsigned kind = (unsigned)context.phase | (context.recomputed ? 4 : 0);
    struct place *place = look_up(op, context.module, kind);
    if (atomic_load_explicit(&place->op, memory_order_acquire))
        return place;
    (void)pthread_mutex_lock(&records.lock);
    place = look_up(op, context.module, kind);
    if (!atomic_load(&place->op) && records.place_count < PLACES / 2)
        make_place(place, op, context.module, kind);
    if (!atomic_load(&place->op))
        place = NULL;
    (void)pthread_mutex_unlock(&records.lock);
    return place;
}

bool plumb_op_is_recorded(const struct plumb_op *op)
{
    return !(op->flags & (PLUMB_OP_VIEW | PLUMB_OP_EMPTY | PLUMB_OP_SILENT)) &&
           records.recorder;
}

void plumb_op_enter(struct plumb_op_call *call, struct plumb_op *op,
                    struct plumb_op_context context)
{
    call->op = op;
    call->recorder = records.recorder;
    call->recorded = call->delayed = call->refused = false;
    call->failures = NULL;
    call->inputs = call->outputs = 0;
    call->tensors = call->referred = 0;
    count(&counted.operators, 1);
    atomic_fetch_add_explicit(&op->calls, 1, memory_order_relaxed);
    if (!plumb_op_is_recorded(op))
        return;
    struct place *place = find_place(op, context);
    if (!place || !place->handle)
        return;
    call->failures = &place->failures;
    call->refused =
        atomic_load_explicit(&place->failures, memory_order_relaxed) >= MOST_FAILURES;
    if (call->refused)
        return;
    plumb_record_enter_place(call->recorder, place->handle, PLUMB_CALL_COUNTED);
    plumb_record_called_at(call->recorder, context.stack);
    call->recorded = true;
}

void plumb_op_leave(struct plumb_op_call *call)
{
    if (call->refused) /* what it wrote is not known */
        plumb_seen_forget_all();
    if (!call->recorded)
        return;
    plumb_record_leave(call->recorder);
    count(&counted.tensors, call->tensors);
    count(&counted.referred, call->referred);
    call->recorded = false;
}

/* ---- tensors -------------------------------------------------------------------------------- */

static void record(struct plumb_op_call *call, bool output, int number,
                   const struct plumb_op_tensor *tensor, const void *values,
                   struct plumb_known *known)
{
    char text[24];
    const char *slot = text;
    if (number < SLOTS)
        slot = slot_names[output][number];
    else
        (void)snprintf(text, sizeof text, output ? "output%d" : "input%d", number);
    call->tensors++;
    plumb_record_known(call->recorder, slot, tensor->dtype, tensor->rank, tensor->shape, values,
                       known);
}

static void know(const struct plumb_op_tensor *tensor, const void *values, bool stats,
                 struct plumb_known *known)
{
    const size_t bytes = (size_t)tensor->count * plumb_dtype_size(tensor->dtype);
    count(&counted.scanned_bytes, bytes);
    plumb_known_by(plumb_torch_team(bytes), tensor->dtype, values, (size_t)tensor->count, stats,
                   known);
}

/* Walks the values: they are new. */
static bool examine(struct plumb_op_call *call, bool output, int number,
                    const struct plumb_op_tensor *tensor, struct plumb_known *known)
{
    const void *values = plumb_op_tensor_values(tensor);
    *known = (struct plumb_known){.known = false};
    if (!values)
        return false;
    know(tensor, values, records.save != PLUMB_SAVE_FINGERPRINT, known);
    record(call, output, number, tensor, values, known);
    return true;
}

/* Values without holes in another order than C's: their statistics as they lie in memory, where others will look for
 * them. The fingerprint of their own order is not worth bringing them into it. */
static void examine_flat(struct plumb_op_call *call, int number,
                         const struct plumb_op_tensor *tensor)
{
    const int64_t stride = 1;
    struct plumb_op_tensor flat = *tensor;
    struct plumb_known known;
    flat.order = PLUMB_ORDER_PLAIN;
    flat.rank = 1;
    flat.shape = &tensor->count;
    flat.strides = &stride;
    know(tensor, tensor->data, true, &known);
    plumb_seen_remember(&flat, &known);
    known.fingerprint = 0;
    known.element = -1;
    record(call, false, number, tensor, NULL, &known);
}

static void delay(struct plumb_op_call *call, const struct plumb_op_tensor *tensor)
{
    call->late = *tensor;
    memcpy(call->late_numbers, tensor->shape, (size_t)tensor->rank * sizeof *tensor->shape);
    call->late.shape = call->late_numbers;
    call->delayed = true;
}

/* What has to be known of values for not looking at them. */
static enum plumb_seen_match enough(void)
{
    return records.save == PLUMB_SAVE_STATS ? PLUMB_SEEN_STATS : PLUMB_SEEN_ALL;
}

void plumb_op_input(struct plumb_op_call *call, const struct plumb_op_tensor *tensor)
{
    if (!call->recorded)
        return;
    const int number = call->inputs++;
    struct plumb_known known;
    const enum plumb_seen_match match = plumb_seen_find(tensor, &known);
    if (match == PLUMB_SEEN_EMPTY)
        return;
    if (match < enough()) {
        if (number == 0 && (call->op->flags & PLUMB_OP_COPY) &&
            tensor->order != PLUMB_ORDER_PLAIN)
            delay(call, tensor);
        else if (tensor->order == PLUMB_ORDER_PERMUTED && records.save == PLUMB_SAVE_STATS)
            examine_flat(call, number, tensor);
        else if (examine(call, false, number, tensor, &known))
            plumb_seen_remember(tensor, &known);
        return;
    }
    if (match == PLUMB_SEEN_STATS) {
        known.fingerprint = 0; /* of another order: not computed */
        known.element = -1;
    }
    call->referred++;
    record(call, false, number, tensor, NULL, &known);
}

/* The input of a copy has the values of its output. */
static void record_late(struct plumb_op_call *call, const struct plumb_op_tensor *output,
                        struct plumb_known *known)
{
    call->delayed = false;
    if (output->dtype == call->late.dtype && output->count == call->late.count &&
        output->order == PLUMB_ORDER_PLAIN)
        record(call, false, 0, &call->late, output->data, known);
}

void plumb_op_output(struct plumb_op_call *call, const struct plumb_op_tensor *tensor)
{
    if (call->op->flags & PLUMB_OP_VIEW)
        return;
    if (call->op->flags & PLUMB_OP_EMPTY)
        plumb_seen_replace(tensor, NULL);
    else if (!call->recorded || (call->op->flags & PLUMB_OP_COLLECTIVE))
        plumb_seen_forget(tensor);
    if (!call->recorded || (call->op->flags & PLUMB_OP_COLLECTIVE))
        return;
    struct plumb_known known = {.known = false};
    if (call->delayed)
        record_late(call, tensor, &known);
    const int number = call->outputs++;
    if (known.known)
        record(call, true, number, tensor, tensor->data, &known);
    else if (!examine(call, true, number, tensor, &known)) {
        plumb_seen_forget(tensor);
        return;
    }
    plumb_seen_replace(tensor, &known);
}

void plumb_op_skip(struct plumb_op_call *call, bool output, enum plumb_op_look look)
{
    if (output)
        call->outputs++;
    else
        call->inputs++;
    if (look == PLUMB_LOOK_FOREIGN || look == PLUMB_LOOK_WRAPPER)
        count(&counted.foreign, 1);
    if (look == PLUMB_LOOK_FAILED) {
        count(&counted.failed, 1);
        if (call->failures)
            atomic_fetch_add_explicit(call->failures, 1, memory_order_relaxed);
    }
}

struct plumb_place *plumb_op_place(enum plumb_phase phase, const char *module, const char *op)
{
    return records.recorder && is_wanted(module, op)
               ? plumb_record_place(records.recorder, phase, module, op)
               : NULL;
}

void plumb_op_visit(struct plumb_place *place, uint32_t stack)
{
    plumb_record_enter_place(records.recorder, place, 0);
    plumb_record_called_at(records.recorder, stack);
}

void plumb_op_end_visit(void)
{
    plumb_record_leave(records.recorder);
}

void plumb_op_show(const char *slot, const struct plumb_op_tensor *tensor)
{
    struct plumb_known known = {.known = false};
    const enum plumb_seen_match match = plumb_seen_find(tensor, &known);
    const bool reads = match < PLUMB_SEEN_ALL || records.save == PLUMB_SAVE_TENSORS;
    const void *values = reads ? plumb_op_tensor_values(tensor) : NULL;
    if (reads && !values)
        return;
    known.known = match == PLUMB_SEEN_ALL;
    plumb_record_known(records.recorder, slot, tensor->dtype, tensor->rank, tensor->shape,
                       values, &known);
    count(&counted.tensors, 1);
}

bool plumb_op_recall(const struct plumb_view *view, struct plumb_stats *stats)
{
    struct plumb_op_tensor tensor;
    struct plumb_known known;
    if (!plumb_op_is_open() || !plumb_op_tensor_from_view(view, &tensor) ||
        plumb_seen_find(&tensor, &known) < PLUMB_SEEN_STATS || !known.has_stats)
        return false;
    *stats = known.stats;
    return true;
}

void plumb_op_record_known(enum plumb_phase phase, const char *module, const char *op, int call,
                           const char *slot, enum plumb_dtype dtype, int rank,
                           const int64_t *shape, struct plumb_known *known)
{
    if (!is_wanted(module, op))
        return;
    plumb_record_enter(records.recorder, phase, module, op, call);
    plumb_record_known(records.recorder, slot, dtype, rank, shape, NULL, known);
    plumb_record_leave(records.recorder);
    count(&counted.operators, 1);
    count(&counted.tensors, 1);
}
