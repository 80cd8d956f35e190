/* batch.c - see batch.h. */
#include "record/batch.h"

#include "base/memory.h"

#include <string.h>

size_t plumb_batch_cost(unsigned kind)
{
    return sizeof(struct plumb_batch) + plumb_block_layout(kind)->row_size * PLUMB_BATCH_ROWS;
}

struct plumb_batch *plumb_batch_new(unsigned kind)
{
    const size_t row_size = plumb_block_layout(kind)->row_size;
    struct plumb_batch *batch = plumb_alloc_array(1, sizeof *batch);
    unsigned char *memory = plumb_alloc(row_size * PLUMB_BATCH_ROWS);
    if (!batch || !memory) {
        plumb_free(batch);
        plumb_free(memory);
        return NULL;
    }
    batch->kind = kind;
    batch->has_steps = plumb_block_layout(kind)->has_steps;
    batch->row_size = row_size;
    batch->memory = memory;
    plumb_buffer_init(&batch->text, PLUMB_BLOCK_LARGEST / 2);
    plumb_batch_begin(batch, 0);
    return batch;
}

void plumb_batch_free(struct plumb_batch *batch)
{
    if (!batch)
        return;
    plumb_buffer_release(&batch->text);
    plumb_table_release(&batch->names);
    plumb_arena_release(&batch->arena);
    plumb_free(batch->memory);
    plumb_free(batch);
}

void plumb_batch_begin(struct plumb_batch *batch, uint64_t serial)
{
    batch->next = NULL;
    batch->serial = serial;
    batch->rows = 0;
    batch->first_step = batch->last_step = 0;
    batch->bytes = plumb_batch_cost(batch->kind);
    if (batch->text.capacity > 2 * PLUMB_BATCH_TEXT)
        plumb_buffer_release(&batch->text);
    plumb_buffer_clear(&batch->text);
    plumb_table_release(&batch->names);
    plumb_arena_release(&batch->arena);
}

bool plumb_batch_is_full(const struct plumb_batch *batch)
{
    return batch->rows == PLUMB_BATCH_ROWS || batch->text.size >= PLUMB_BATCH_TEXT;
}

bool plumb_batch_text(struct plumb_batch *batch, const char *text, size_t length,
                      uint32_t *offset)
{
    const size_t at = batch->text.size;
    char *to = plumb_buffer_reserve(&batch->text, length + 1);
    if (!to)
        return false;
    plumb_buffer_append(&batch->text, text, length);
    plumb_buffer_append(&batch->text, "", 1);
    batch->bytes += length + 1;
    *offset = (uint32_t)at;
    return true;
}

bool plumb_batch_name(struct plumb_batch *batch, const char *text, uint32_t *offset)
{
    size_t at = 0, length = strlen(text ? text : "");
    if (length > PLUMB_BATCH_LONGEST)
        length = PLUMB_BATCH_LONGEST;
    const char *name = text ? text : "";
    if (plumb_table_get(&batch->names, name, &at)) {
        *offset = (uint32_t)at;
        return true;
    }
    char *key = plumb_arena_text(&batch->arena, name, length);
    if (!key || !plumb_batch_text(batch, key, length, offset) ||
        !plumb_table_put(&batch->names, key, *offset))
        return false;
    batch->bytes += length + PLUMB_BATCH_TEXT_OVERHEAD;
    return true;
}

/* By the time it is written, its memory is at hand. */
static void fetch_row(const struct plumb_batch *batch, size_t row)
{
    enum { LINE = 64 };
    for (size_t i = 0; i < batch->row_size; i += LINE)
        __builtin_prefetch(batch->memory + row * batch->row_size + i, 1);
}

void plumb_batch_add(struct plumb_batch *batch, const void *row)
{
    memcpy(batch->memory + batch->rows * batch->row_size, row, batch->row_size);
    if (batch->has_steps) {
        int64_t step;
        memcpy(&step, row, sizeof step);
        if (batch->rows == 0 || step < batch->first_step)
            batch->first_step = step;
        if (batch->rows == 0 || step > batch->last_step)
            batch->last_step = step;
    }
    batch->rows++;
    if (batch->rows < PLUMB_BATCH_ROWS)
        fetch_row(batch, batch->rows);
}

void plumb_batch_write(const struct plumb_batch *batch, uint64_t number, int64_t time_ns,
                       struct plumb_buffer *to)
{
    const struct plumb_block_header header = {.kind = batch->kind,
                                              .rows = batch->rows,
                                              .first_step = batch->first_step,
                                              .last_step = batch->last_step,
                                              .number = number,
                                              .time_ns = time_ns};
    plumb_block_write(to, header, batch->memory, plumb_buffer_string(&batch->text),
                      batch->text.size);
}
