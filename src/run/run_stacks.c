/* run_stacks.c - where in the program ops were called: the table that the rows of tensors refer to. */
#include "run/run.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { MOST_STACKS = 1 << 20 };

static bool make_room(struct plumb_rank_file *rank, uint32_t number)
{
    size_t larger = rank->stack_capacity ? rank->stack_capacity : 64;
    while (larger <= number)
        larger *= 2;
    if (larger == rank->stack_capacity)
        return true;
    const char **stacks = plumb_realloc_array(rank->stacks, larger, sizeof *stacks);
    if (!stacks)
        return false;
    for (size_t i = rank->stack_capacity; i < larger; i++)
        stacks[i] = NULL;
    rank->stacks = stacks;
    rank->stack_capacity = larger;
    return true;
}

enum plumb_status plumb_rank_take_stacks(struct plumb_run *run, struct plumb_rank_file *rank,
                                         const struct plumb_block *block,
                                         struct plumb_error *err)
{
    for (size_t i = 0; i < block->rows; i++) {
        struct plumb_block_stack row;
        plumb_block_row(block, i, &row);
        const char *lines = plumb_block_text(block, row.lines);
        if (row.number == 0 || !*lines)
            continue;
        if (row.number > MOST_STACKS)
            return plumb_fail(err, PLUMB_LIMIT, -1, "%s: more than %d call stacks", run->path,
                              MOST_STACKS);
        char *kept = plumb_arena_text(&run->arena, lines, strlen(lines));
        if (!kept || !make_room(rank, row.number))
            return plumb_fail_memory(err);
        rank->stacks[row.number] = kept;
    }
    return PLUMB_OK;
}

const char *plumb_rank_stack(const struct plumb_rank_file *rank, uint32_t number)
{
    return number && number < rank->stack_capacity ? rank->stacks[number] : NULL;
}

const char *plumb_stack_line(const char *stack, size_t *length)
{
    const char *line = stack;
    while (*line == ' ' && strchr(line, '\n'))
        line = strchr(line, '\n') + 1;
    if (*line == ' ' || !*line)
        line = stack; /* packages alone */
    line += *line == ' ';
    *length = strcspn(line, "\n");
    return line;
}

/* ---- the stack of one op ----------------------------------------------------------------------- */

struct search {
    const char *op, *slot, *stack;
};

static bool look(void *context, const struct plumb_tensor_record *record)
{
    struct search *search = context;
    if (strcmp(record->label, search->op) == 0 && record->stack &&
        (!search->slot || strcmp(record->slot, search->slot) == 0))
        search->stack = record->stack;
    return !search->stack;
}

const char *plumb_run_called_at(struct plumb_run *run, int rank, int64_t step, const char *op,
                                const char *slot)
{
    struct search search = {.op = op, .slot = slot};
    const struct plumb_run_query query = {
        .rank = rank, .some_steps = true, .first_step = step, .last_step = step};
    return plumb_run_visit_records(run, &query, look, &search, NULL) ? NULL : search.stack;
}
