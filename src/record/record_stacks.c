/*
 * record_stacks.c - where in the program ops are called: each distinct stack is written once.
 *
 * A training has as many stacks as its source has lines that call something, and goes through the same ones at every
 * step. The rows of tensors have their number.
 */
#include "record/recorder_state.h"

#include <string.h>

enum {
    MOST_STACKS = 1 << 16,
    LONGEST_STACK = 16 << 10,
    STACK_OVERHEAD = 64, /* memory of one in the table */
};

/* With the lock held. */
static uint32_t add_stack(struct plumb_recorder *recorder, const char *lines, size_t length)
{
    const size_t number = recorder->stacks.count + 1;
    struct plumb_batch *batch = plumb_recorder_batch(recorder, PLUMB_BLOCK_STACKS, SHARE_ALL);
    char *kept =
        batch && number < MOST_STACKS ? plumb_recorder_keep(recorder, length + 1) : NULL;
    struct plumb_block_stack row = {.number = (uint32_t)number};
    if (!kept)
        return 0;
    memcpy(kept, lines, length + 1);
    if (!plumb_table_put(&recorder->stacks, kept, number)) {
        plumb_recorder_stop_for_memory(recorder);
        return 0;
    }
    recorder->used += STACK_OVERHEAD;
    if (!plumb_recorder_name(recorder, batch, lines, &row.lines))
        return 0;
    plumb_batch_add(batch, &row);
    return row.number;
}

uint32_t plumb_record_stack(struct plumb_recorder *recorder, const char *lines)
{
    const size_t length = lines ? strlen(lines) : 0;
    size_t number = 0;
    if (!plumb_recorder_wants(recorder, WANTS_SERIES) || !length || length > LONGEST_STACK)
        return 0;
    (void)pthread_mutex_lock(&recorder->lock);
    if (!plumb_table_get(&recorder->stacks, lines, &number))
        number = add_stack(recorder, lines, length);
    (void)pthread_mutex_unlock(&recorder->lock);
    return (uint32_t)number;
}

void plumb_record_called_at(struct plumb_recorder *recorder, uint32_t stack)
{
    struct plumb_visit *visit = recorder ? plumb_recorder_visit(recorder) : NULL;
    if (visit)
        visit->stack = stack;
}
