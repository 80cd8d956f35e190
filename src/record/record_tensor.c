/*
 * record_tensor.c - one tensor of an op: statistics and fingerprint at once, values on request.
 *
 * The numbers are computed before the lock is taken, so that threads do not wait for each other.
 */
#include "record/recorder_state.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/dtype.h"
#include "model/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LOOK_ELEMENTS = 512, SHAPE_TEXT = 1024 };

/* What the caller gave, and what was found out about it. */
struct sighting {
    const char *slot;
    enum plumb_dtype dtype;
    int rank;
    const int64_t *shape;
    const void *values;
    size_t count, bytes;
    char shape_text[SHAPE_TEXT];
    struct plumb_block_tensor row;
};

static bool is_sound(struct sighting *seen)
{
    int64_t count = 0, bytes = 0;
    if (!seen->slot || (unsigned)seen->dtype >= PLUMB_DTYPE_COUNT || seen->rank < 0 ||
        seen->rank > PLUMB_MAX_RANK || (seen->rank && !seen->shape) ||
        !plumb_shape_count(seen->rank, seen->shape, &count) ||
        __builtin_mul_overflow(count, (int64_t)plumb_dtype_size(seen->dtype), &bytes) ||
        (count && !seen->values))
        return false;
    seen->count = (size_t)count;
    seen->bytes = (size_t)bytes;
    return true;
}

/* "64,3,7,7"; a shape that does not fit ends early, which its rank of up to 64 makes unlikely. */
static void describe_shape(struct sighting *seen)
{
    size_t at = 0;
    seen->shape_text[0] = '\0';
    for (int i = 0; i < seen->rank && at + 24 < SHAPE_TEXT; i++)
        at += (size_t)snprintf(seen->shape_text + at, SHAPE_TEXT - at, i ? ",%lld" : "%lld",
                               (long long)seen->shape[i]);
}

/* The first element that is not finite or, with none, at the type's largest value. */
static int64_t find_element(const struct sighting *seen)
{
    const struct plumb_stats *stats = &seen->row.stats;
    const bool nonfinite = stats->nan || stats->pos_inf || stats->neg_inf;
    if (!nonfinite && !stats->at_max)
        return -1;
    const size_t size = plumb_dtype_size(seen->dtype);
    const size_t parts = (size_t)plumb_dtype_parts(seen->dtype);
    const double top = plumb_dtype_max(plumb_dtype_part(seen->dtype));
    double wide[2 * LOOK_ELEMENTS];
    for (size_t at = 0, n; at < seen->count; at += n) {
        n = seen->count - at < LOOK_ELEMENTS ? seen->count - at : (size_t)LOOK_ELEMENTS;
        if (plumb_convert_values(seen->dtype, (const char *)seen->values + at * size,
                                 parts == 2 ? PLUMB_C128 : PLUMB_F64, wide, n,
                                 PLUMB_ROUND_NEAREST_EVEN, NULL))
            return -1;
        for (size_t i = 0; i < n * parts; i++)
            if (nonfinite ? !isfinite(wide[i]) : fabs(wide[i]) == top)
                return (int64_t)(at + i / parts);
    }
    return -1;
}

static struct plumb_known_stats *known_slot(struct plumb_recorder *recorder,
                                            const struct sighting *seen)
{
    return &recorder->known[seen->row.fingerprint & (PLUMB_KNOWN - 1)];
}

static bool recall(struct plumb_recorder *recorder, struct sighting *seen)
{
    (void)pthread_mutex_lock(&recorder->lock);
    const struct plumb_known_stats *known = known_slot(recorder, seen);
    const uint64_t parts = (uint64_t)plumb_dtype_parts(seen->dtype);
    const bool found = known->stats.count && known->stats.count == seen->count * parts &&
                       known->fingerprint == seen->row.fingerprint &&
                       known->dtype == seen->dtype;
    if (found) {
        seen->row.stats = known->stats;
        seen->row.element = known->element;
    }
    (void)pthread_mutex_unlock(&recorder->lock);
    return found;
}

/* With the lock held. */
static void remember(struct plumb_recorder *recorder, const struct sighting *seen)
{
    *known_slot(recorder, seen) =
        (struct plumb_known_stats){.fingerprint = seen->row.fingerprint,
                                   .dtype = seen->dtype,
                                   .element = seen->row.element,
                                   .stats = seen->row.stats};
}

static void examine(struct plumb_recorder *recorder, struct sighting *seen)
{
    struct plumb_block_tensor *row = &seen->row;
    row->fingerprint = plumb_values_fingerprint(seen->dtype, seen->values, seen->count);
    row->element = -1;
    row->time_ns = plumb_record_now();
    describe_shape(seen);
    if (recorder->save == PLUMB_SAVE_FINGERPRINT) {
        row->stats.count = seen->count;
        return;
    }
    row->flags = PLUMB_TENSOR_HAS_STATS;
    if (recall(recorder, seen))
        return;
    plumb_values_stats(seen->dtype, seen->values, seen->count, &row->stats);
    row->element = find_element(seen);
}

/* ---- values, with the lock ---------------------------------------------------------------- */

/* "layers.0.linear#1/forward/output0": unique in its step. */
static char *value_name(const struct plumb_recorded_op *op, int call, const char *slot)
{
    const char *label = op ? op->label : "", *phase = op ? plumb_phase_name(op->phase) : "";
    const size_t size = strlen(label) + strlen(phase) + strlen(slot) + 32;
    char *name = plumb_alloc(size);
    if (!name)
        return NULL;
    if (!op)
        (void)snprintf(name, size, "%s", slot);
    else if (call > 0)
        (void)snprintf(name, size, "%s#%d/%s/%s", label, call, phase, slot);
    else
        (void)snprintf(name, size, "%s/%s/%s", label, phase, slot);
    return name;
}

static void push_borrowed(struct plumb_recorder *recorder, struct plumb_item *item)
{
    bool written = false;
    item->written = &written;
    plumb_recorder_push(recorder, item);
    while (!written)
        (void)pthread_cond_wait(&recorder->room, &recorder->lock);
}

/* Values that fit are copied; larger ones, which never would, are written while the caller waits.
 * False: dropped. */
static bool save_values(struct plumb_recorder *recorder, const struct sighting *seen,
                        const struct plumb_recorded_op *op, int call)
{
    const size_t bytes = seen->bytes + sizeof(struct plumb_item);
    const bool borrow = !recorder->has_thread || bytes > recorder->limit / 4;
    if (!borrow && !plumb_recorder_make_room(recorder, bytes, SHARE_VALUES))
        return false;
    struct plumb_item *item = plumb_alloc_array(1, sizeof *item);
    char *name = value_name(op, call, seen->slot);
    void *copy = item && name && !borrow ? plumb_alloc(seen->bytes) : NULL;
    if (!item || !name || (!borrow && !copy)) {
        plumb_free(item);
        plumb_free(name);
        return false;
    }
    if (copy && seen->bytes)
        memcpy(copy, seen->values, seen->bytes);
    if (seen->rank)
        memcpy(item->shape, seen->shape, (size_t)seen->rank * sizeof *item->shape);
    item->value = (struct plumb_value){.name = name,
                                       .dtype = seen->dtype,
                                       .rank = seen->rank,
                                       .shape = item->shape,
                                       .data = borrow ? seen->values : copy};
    item->step = seen->row.step;
    item->copy = copy;
    item->bytes = borrow ? 0 : bytes;
    recorder->used += item->bytes;
    if (borrow)
        push_borrowed(recorder, item);
    else
        plumb_recorder_push(recorder, item);
    return !recorder->stopped;
}

void plumb_recorder_finish_step(struct plumb_recorder *recorder)
{
    struct plumb_item *item = plumb_alloc_array(1, sizeof *item);
    if (item) {
        plumb_recorder_push(recorder, item);
        return;
    }
    struct plumb_error error;
    (void)plumb_fail_memory(&error);
    plumb_recorder_stop(recorder, &error);
}

/* ---- the row, with the lock ---------------------------------------------------------------- */

static bool name_op(struct plumb_recorder *recorder, struct plumb_batch *batch,
                    struct plumb_recorded_op *op)
{
    if (op->serial == batch->serial)
        return true;
    if (!plumb_recorder_name(recorder, batch, op->module, &op->module_id) ||
        !plumb_recorder_name(recorder, batch, op->name, &op->name_id))
        return false;
    op->serial = batch->serial;
    return true;
}

static void add_row(struct plumb_recorder *recorder, struct sighting *seen,
                    struct plumb_recorded_op *op, int call)
{
    struct plumb_batch *batch =
        plumb_recorder_batch(recorder, PLUMB_BLOCK_TENSORS, SHARE_TENSORS);
    struct plumb_block_tensor *row = &seen->row;
    if (!batch) {
        recorder->dropped.tensors += !recorder->stopped;
        return;
    }
    if (!plumb_recorder_name(recorder, batch, "", &row->module) ||
        (op && !name_op(recorder, batch, op)) ||
        !plumb_recorder_name(recorder, batch, seen->slot, &row->slot) ||
        !plumb_recorder_name(recorder, batch, plumb_dtype_name(seen->dtype), &row->dtype) ||
        !plumb_recorder_name(recorder, batch, seen->shape_text, &row->shape))
        return;
    row->op = row->module; /* "": outside of any op */
    row->call = call;
    if (op) {
        row->module = op->module_id;
        row->op = op->name_id;
        row->phase = (uint8_t)op->phase;
    }
    plumb_batch_add(batch, row);
}

void plumb_record_tensor(struct plumb_recorder *recorder, const char *slot,
                         enum plumb_dtype dtype, int rank, const int64_t *shape,
                         const void *values)
{
    if (!plumb_recorder_wants(recorder, WANTS_TENSORS))
        return;
    struct sighting seen = {
        .slot = slot, .dtype = dtype, .rank = rank, .shape = shape, .values = values};
    int call = 0;
    struct plumb_recorded_op *op = NULL;
    const bool sound = plumb_recorder_place(recorder, &op, &call) && is_sound(&seen);
    if (sound)
        examine(recorder, &seen);
    (void)pthread_mutex_lock(&recorder->lock);
    seen.row.step = recorder->step;
    if (!sound) {
        recorder->dropped.tensors++;
    } else if (!recorder->stopped) {
        if (seen.row.flags & PLUMB_TENSOR_HAS_STATS)
            remember(recorder, &seen);
        if (recorder->save == PLUMB_SAVE_TENSORS) {
            const bool saved = save_values(recorder, &seen, op, call);
            recorder->dropped.values += !saved && !recorder->stopped;
            seen.row.flags |= saved ? PLUMB_TENSOR_HAS_VALUES : 0;
        }
        add_row(recorder, &seen, op, call);
    }
    (void)pthread_mutex_unlock(&recorder->lock);
}
