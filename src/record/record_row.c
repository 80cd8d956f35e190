/*
 * record_row.c - the row of a tensor and the texts that name it.
 *
 * A program records tensors of the same few slots, types and shapes again and again. Each such kind is
 * kept with its texts, so that nothing is printed or looked up by its text for a row, and each
 * text is put into a batch once.
 */
#include "record/recorder_state.h"

#include <stdio.h>
#include <string.h>

enum { SHAPE_TEXT = 1024, NEAR = 4 /* slots where a kind may be */ };

/* "64,3,7,7"; a shape that does not fit ends early, which its rank of up to 64 makes unlikely. */
static void describe_shape(const struct plumb_value *value, char text[SHAPE_TEXT])
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < value->rank && at + 24 < SHAPE_TEXT; i++)
        at += (size_t)snprintf(text + at, SHAPE_TEXT - at, i ? ",%lld" : "%lld",
                               (long long)value->shape[i]);
}

static bool name_tensor(struct plumb_recorder *recorder, struct plumb_batch *batch,
                        const struct plumb_value *value, struct plumb_block_tensor *row)
{
    char shape[SHAPE_TEXT];
    describe_shape(value, shape);
    return plumb_recorder_name(recorder, batch, value->name, &row->slot) &&
           plumb_recorder_name(recorder, batch, plumb_dtype_name(value->dtype), &row->dtype) &&
           plumb_recorder_name(recorder, batch, shape, &row->shape);
}

/* The kept text; NULL: there is no room for it. */
static struct plumb_text *keep_text(struct plumb_recorder *recorder, const char *text)
{
    size_t found = 0;
    if (plumb_table_get(&recorder->texts, text, &found))
        return (struct plumb_text *)(uintptr_t)found;
    const size_t length = strlen(text) + 1;
    struct plumb_text *kept = plumb_recorder_keep(recorder, sizeof *kept + length);
    if (!kept)
        return NULL;
    char *copy = (char *)(kept + 1);
    memcpy(copy, text, length);
    *kept = (struct plumb_text){.text = copy, .length = length - 1};
    return plumb_table_put(&recorder->texts, copy, (size_t)(uintptr_t)kept) ? kept : NULL;
}

static bool keep_texts(struct plumb_recorder *recorder, struct plumb_tensor_kind *kind,
                       const struct plumb_value *value)
{
    char shape[SHAPE_TEXT];
    describe_shape(value, shape);
    kind->slot_text = keep_text(recorder, value->name);
    kind->dtype_text = keep_text(recorder, plumb_dtype_name(value->dtype));
    kind->shape_text = keep_text(recorder, shape);
    return kind->slot_text && kind->dtype_text && kind->shape_text;
}

/* ---- kinds of tensors ----------------------------------------------------------------------- */

static uint64_t hash_kind(const struct plumb_value *value)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = (uint64_t)value->dtype << 8 | (uint64_t)value->rank;
    for (int i = 0; i < value->rank; i++)
        hash = (hash ^ (uint64_t)value->shape[i]) * odd;
    hash ^= hash >> 32;
    for (const char *at = value->name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * odd;
    return hash | 1;
}

static bool is_same(const struct plumb_tensor_kind *kind, uint64_t hash,
                    const struct plumb_value *value)
{
    if (kind->hash != hash || kind->dtype != value->dtype || kind->rank != value->rank)
        return false;
    for (int i = 0; i < value->rank; i++)
        if (kind->shape[i] != value->shape[i])
            return false;
    return strcmp(kind->slot, value->name) == 0;
}

static bool set_kind(struct plumb_recorder *recorder, struct plumb_tensor_kind *kind,
                     uint64_t hash, const struct plumb_value *value)
{
    *kind =
        (struct plumb_tensor_kind){.hash = hash, .dtype = value->dtype, .rank = value->rank};
    memcpy(kind->slot, value->name, strlen(value->name) + 1);
    for (int i = 0; i < value->rank; i++)
        kind->shape[i] = value->shape[i];
    if (keep_texts(recorder, kind, value))
        return true;
    kind->rank = -1; /* like no other */
    return false;
}

/* NULL: it cannot be kept. A program whose shapes always change has more than there is room for:
 * then one makes room for another. */
static struct plumb_tensor_kind *find_kind(struct plumb_recorder *recorder,
                                           const struct plumb_value *value)
{
    enum { MASK = (1 << PLUMB_KINDS_BITS) - 1 };
    if (value->rank > PLUMB_KIND_RANK)
        return NULL;
    const uint64_t hash = hash_kind(value);
    const size_t at = hash >> (64 - PLUMB_KINDS_BITS);
    struct plumb_tensor_kind *kind = &recorder->kinds[at];
    for (size_t i = 0; i < NEAR && kind->hash; i++) {
        if (is_same(kind, hash, value))
            return kind;
        kind = &recorder->kinds[(at + i + 1) & MASK];
    }
    return strlen(value->name) < PLUMB_KIND_SLOT && set_kind(recorder, kind, hash, value)
               ? kind
               : NULL;
}

static bool name_kind(struct plumb_recorder *recorder, struct plumb_batch *batch,
                      const struct plumb_value *value, struct plumb_block_tensor *row)
{
    struct plumb_tensor_kind *kind = find_kind(recorder, value);
    if (!kind)
        return name_tensor(recorder, batch, value, row);
    if (kind->serial != batch->serial) {
        if (!plumb_recorder_name_text(recorder, batch, kind->slot_text, &kind->slot_id) ||
            !plumb_recorder_name_text(recorder, batch, kind->dtype_text, &kind->dtype_id) ||
            !plumb_recorder_name_text(recorder, batch, kind->shape_text, &kind->shape_id))
            return false;
        kind->serial = batch->serial;
    }
    row->slot = kind->slot_id;
    row->dtype = kind->dtype_id;
    row->shape = kind->shape_id;
    return true;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool name_part(struct plumb_recorder *recorder, struct plumb_batch *batch,
                      const char *name, struct plumb_text **kept, uint32_t *id)
{
    if (!*kept)
        *kept = keep_text(recorder, name);
    return *kept ? plumb_recorder_name_text(recorder, batch, *kept, id)
                 : plumb_recorder_name(recorder, batch, name, id);
}

static bool name_place(struct plumb_recorder *recorder, struct plumb_batch *batch,
                       struct plumb_place *place, struct plumb_block_tensor *row)
{
    if (place->serial != batch->serial) {
        if (!name_part(recorder, batch, place->module, &place->module_text,
                       &place->module_id) ||
            !name_part(recorder, batch, place->name, &place->name_text, &place->name_id))
            return false;
        place->serial = batch->serial;
    }
    row->module = place->module_id;
    row->op = place->name_id;
    row->phase = (uint8_t)place->phase;
    return true;
}

void plumb_recorder_add_tensor(struct plumb_recorder *recorder, const struct plumb_visit *visit,
                               const struct plumb_value *value, struct plumb_block_tensor *row)
{
    struct plumb_batch *batch =
        plumb_recorder_batch(recorder, PLUMB_BLOCK_TENSORS, SHARE_TENSORS);
    if (!batch) {
        recorder->dropped.tensors += !recorder->stopped;
        return;
    }
    bool named;
    if (visit) {
        row->call = visit->call;
        row->stack = visit->stack;
        named = name_place(recorder, batch, visit->place, row) &&
                name_kind(recorder, batch, value, row);
    } else {
        named = plumb_recorder_name(recorder, batch, "", &row->module) &&
                name_tensor(recorder, batch, value, row);
        row->op = row->module;
    }
    if (named)
        plumb_batch_add(batch, row);
}
