/* record_values.c - the values of a tensor on their way to the step's npz. */
#include "record/recorder_state.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* "layers.0.linear#1/forward/output0": unique in its step. */
static char *value_name(const struct plumb_visit *visit, const char *slot)
{
    const struct plumb_place *place = visit ? visit->place : NULL;
    const char *label = place ? place->label.text : "";
    const char *phase = place ? plumb_phase_name(place->phase) : "";
    const size_t size = strlen(label) + strlen(phase) + strlen(slot) + 32;
    char *name = plumb_alloc(size);
    if (!name)
        return NULL;
    if (!place)
        (void)snprintf(name, size, "%s", slot);
    else if (visit->call > 0)
        (void)snprintf(name, size, "%s#%d/%s/%s", label, visit->call, phase, slot);
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

/* The bytes are counted before and copied without the lock: it takes milliseconds, in which the
 * writer can go on. */
static void *copy_unlocked(struct plumb_recorder *recorder, const void *data, size_t bytes)
{
    (void)pthread_mutex_unlock(&recorder->lock);
    void *copy = plumb_alloc(bytes);
    if (copy && bytes)
        memcpy(copy, data, bytes);
    (void)pthread_mutex_lock(&recorder->lock);
    return copy;
}

/* Values that fit are copied; larger ones, which never would, are written while the caller
 * waits. */
bool plumb_recorder_save(struct plumb_recorder *recorder, const struct plumb_visit *visit,
                         int64_t step, const struct plumb_value *value, size_t bytes)
{
    const size_t cost = bytes + sizeof(struct plumb_item);
    const bool borrow = !recorder->has_thread || cost > recorder->limit / 4;
    if (!borrow && !plumb_recorder_make_room(recorder, cost, SHARE_VALUES))
        return false;
    const size_t counted = borrow ? 0 : cost;
    recorder->used += counted;
    struct plumb_item *item = plumb_alloc_array(1, sizeof *item);
    char *name = value_name(visit, value->name);
    void *copy = item && name && !borrow ? copy_unlocked(recorder, value->data, bytes) : NULL;
    if (!item || !name || (!borrow && !copy)) {
        recorder->used -= counted;
        plumb_free(item);
        plumb_free(name);
        return false;
    }
    if (value->rank)
        memcpy(item->shape, value->shape, (size_t)value->rank * sizeof *item->shape);
    item->value = *value;
    item->value.name = name;
    item->value.shape = item->shape;
    item->value.data = borrow ? value->data : copy;
    item->step = step;
    item->copy = copy;
    item->bytes = counted;
    if (borrow)
        push_borrowed(recorder, item);
    else
        plumb_recorder_push(recorder, item);
    return !recorder->stopped;
}

void plumb_recorder_finish_step(struct plumb_recorder *recorder)
{
    struct plumb_item *item = plumb_alloc_array(1, sizeof *item);
    if (item)
        plumb_recorder_push(recorder, item);
    else
        plumb_recorder_stop_for_memory(recorder);
}
