/*
 * record_row.c - the row of a tensor and the texts that name it.
 *
 * A program records the same tensors at a place again and again, in the same order. So the n-th
 * tensor of a place is compared with what was n-th the last time, and its texts are looked up
 * only if it is another one. The texts are few: each is put into a batch once.
 */
#include "record/recorder_state.h"

#include <stdio.h>
#include <string.h>

enum { SHAPE_TEXT = 1024 };

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

static bool is_same(const struct plumb_usual_tensor *usual, const struct plumb_value *value)
{
    return usual->dtype == value->dtype && usual->rank == value->rank &&
           (value->rank == 0 || memcmp(usual->shape, value->shape,
                                       (size_t)value->rank * sizeof *value->shape) == 0) &&
           strcmp(usual->slot, value->name) == 0;
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
    *kept = (struct plumb_text){.text = copy};
    return plumb_table_put(&recorder->texts, copy, (size_t)(uintptr_t)kept) ? kept : NULL;
}

static bool keep_texts(struct plumb_recorder *recorder, struct plumb_usual_tensor *usual,
                       const struct plumb_value *value)
{
    char shape[SHAPE_TEXT];
    describe_shape(value, shape);
    usual->slot_text = keep_text(recorder, value->name);
    usual->dtype_text = keep_text(recorder, plumb_dtype_name(value->dtype));
    usual->shape_text = keep_text(recorder, shape);
    return usual->slot_text && usual->dtype_text && usual->shape_text;
}

/* What the visit's next tensor is; NULL: it is not kept. */
static struct plumb_usual_tensor *find_usual(struct plumb_recorder *recorder,
                                             struct plumb_visit *visit,
                                             const struct plumb_value *value)
{
    const unsigned n = visit->tensors++;
    if (n >= PLUMB_PLACE_TENSORS || value->rank > PLUMB_USUAL_RANK)
        return NULL;
    struct plumb_usual_tensor **usual = &visit->place->usual[n];
    if (*usual && is_same(*usual, value))
        return *usual;
    const size_t length = strlen(value->name);
    if (length >= PLUMB_USUAL_SLOT)
        return NULL;
    if (!*usual)
        *usual = plumb_recorder_keep(recorder, sizeof **usual);
    if (!*usual)
        return NULL;
    **usual = (struct plumb_usual_tensor){.dtype = value->dtype, .rank = value->rank};
    memcpy((*usual)->slot, value->name, length + 1);
    for (int i = 0; i < value->rank; i++)
        (*usual)->shape[i] = value->shape[i];
    if (keep_texts(recorder, *usual, value))
        return *usual;
    (*usual)->rank = -1; /* like no other */
    return NULL;
}

static bool name_text(struct plumb_recorder *recorder, struct plumb_batch *batch,
                      struct plumb_text *text, uint32_t *id)
{
    if (text->serial != batch->serial) {
        if (!plumb_recorder_name(recorder, batch, text->text, &text->id))
            return false;
        text->serial = batch->serial;
    }
    *id = text->id;
    return true;
}

static bool name_usual(struct plumb_recorder *recorder, struct plumb_batch *batch,
                       struct plumb_visit *visit, const struct plumb_value *value,
                       struct plumb_block_tensor *row)
{
    struct plumb_usual_tensor *usual = find_usual(recorder, visit, value);
    if (!usual)
        return name_tensor(recorder, batch, value, row);
    if (usual->serial != batch->serial) {
        if (!name_text(recorder, batch, usual->slot_text, &usual->slot_id) ||
            !name_text(recorder, batch, usual->dtype_text, &usual->dtype_id) ||
            !name_text(recorder, batch, usual->shape_text, &usual->shape_id))
            return false;
        usual->serial = batch->serial;
    }
    row->slot = usual->slot_id;
    row->dtype = usual->dtype_id;
    row->shape = usual->shape_id;
    return true;
}

static bool name_place(struct plumb_recorder *recorder, struct plumb_batch *batch,
                       struct plumb_place *place, struct plumb_block_tensor *row)
{
    if (place->serial != batch->serial) {
        if (!plumb_recorder_name(recorder, batch, place->module, &place->module_id) ||
            !plumb_recorder_name(recorder, batch, place->name, &place->name_id))
            return false;
        place->serial = batch->serial;
    }
    row->module = place->module_id;
    row->op = place->name_id;
    row->phase = (uint8_t)place->phase;
    return true;
}

void plumb_recorder_add_tensor(struct plumb_recorder *recorder, struct plumb_visit *visit,
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
                name_usual(recorder, batch, visit, value, row);
    } else {
        named = plumb_recorder_name(recorder, batch, "", &row->module) &&
                name_tensor(recorder, batch, value, row);
        row->op = row->module;
    }
    if (named)
        plumb_batch_add(batch, row);
}
