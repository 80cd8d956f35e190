/* pickle.c - the stack, the marks, the memo and the loop of the machine; see pickle.h. */
#include "base/pickle_machine.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum {
    MEMO_LEAD = 1024, /* how far a memo index may run ahead of the opcodes that could fill it */
};

static const uint64_t steps_limit = UINT64_C(1) << 28;

enum plumb_status plumb_pickle_fail(const struct pickle_machine *machine,
                                    enum plumb_status status, const char *what)
{
    const uint64_t offset = machine->source->offset + machine->at;
    return plumb_fail(machine->err, status, (int64_t)offset, "%s: the pickle at byte %llu %s",
                      machine->source->label, (unsigned long long)offset, what);
}

enum plumb_status plumb_pickle_fail_arena(const struct pickle_machine *machine)
{
    const struct plumb_arena *arena = machine->arena;
    if (arena->limit && arena->limit - arena->allocated < arena->limit / 4)
        return plumb_pickle_fail(machine, PLUMB_LIMIT,
                                 "describes more objects than Plumb allows for its size");
    return plumb_fail_memory(machine->err);
}

/* Makes room for `wanted` entries; new ones are zero. */
static bool grow(void **entries, size_t *capacity, size_t wanted, size_t size)
{
    if (wanted <= *capacity)
        return true;
    size_t larger = *capacity ? *capacity * 2 : 64;
    if (larger < wanted)
        larger = wanted;
    char *grown = plumb_realloc_array(*entries, larger, size);
    if (!grown)
        return false;
    memset(grown + *capacity * size, 0, (larger - *capacity) * size);
    *entries = grown;
    *capacity = larger;
    return true;
}

enum plumb_status plumb_pickle_push(struct pickle_machine *machine,
                                    struct plumb_pickle_node *node)
{
    void *stack = machine->stack;
    if (!grow(&stack, &machine->stack_capacity, machine->stack_size + 1, sizeof node))
        return plumb_fail_memory(machine->err);
    machine->stack = stack;
    machine->stack[machine->stack_size++] = node;
    return PLUMB_OK;
}

struct plumb_pickle_node *plumb_pickle_push_new(struct pickle_machine *machine,
                                                enum plumb_pickle_kind kind)
{
    struct plumb_pickle_node *node = plumb_arena_alloc(machine->arena, 1, sizeof *node);
    if (!node) {
        (void)plumb_pickle_fail_arena(machine);
        return NULL;
    }
    node->kind = kind;
    node->at = machine->at;
    return plumb_pickle_push(machine, node) ? NULL : node;
}

struct plumb_pickle_node *plumb_pickle_top(struct pickle_machine *machine)
{
    const size_t floor = machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;
    if (machine->stack_size > floor)
        return machine->stack[machine->stack_size - 1];
    (void)plumb_pickle_fail(machine, PLUMB_DAMAGED, "takes from an empty stack");
    return NULL;
}

struct plumb_pickle_node *plumb_pickle_pop(struct pickle_machine *machine)
{
    struct plumb_pickle_node *node = plumb_pickle_top(machine);
    if (node)
        machine->stack_size--;
    return node;
}

enum plumb_status plumb_pickle_push_mark(struct pickle_machine *machine)
{
    void *marks = machine->marks;
    if (!grow(&marks, &machine->mark_capacity, machine->mark_count + 1, sizeof(size_t)))
        return plumb_fail_memory(machine->err);
    machine->marks = marks;
    machine->marks[machine->mark_count++] = machine->stack_size;
    return PLUMB_OK;
}

enum plumb_status plumb_pickle_pop_mark(struct pickle_machine *machine,
                                        struct plumb_pickle_node ***items, size_t *count)
{
    if (!machine->mark_count)
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "needs a mark and there is none");
    const size_t mark = machine->marks[--machine->mark_count];
    *items = machine->stack ? machine->stack + mark : NULL; /* nothing was pushed yet */
    *count = machine->stack_size - mark;
    machine->stack_size = mark;
    return PLUMB_OK;
}

enum plumb_status plumb_pickle_append(struct pickle_machine *machine,
                                      struct plumb_pickle_node *node,
                                      struct plumb_pickle_node *const *items, size_t count)
{
    if (count > UINT32_MAX / 2 - node->count)
        return plumb_pickle_fail(machine, PLUMB_LIMIT, "has a collection of over 2^31 items");
    const uint32_t wanted = node->count + (uint32_t)count;
    if (wanted > node->capacity) {
        const uint32_t capacity = node->capacity * 2 > wanted ? node->capacity * 2 : wanted;
        struct plumb_pickle_node **larger =
            plumb_arena_alloc(machine->arena, capacity, sizeof(struct plumb_pickle_node *));
        if (!larger)
            return plumb_pickle_fail_arena(machine);
        if (node->count)
            memcpy(larger, node->items, node->count * sizeof(struct plumb_pickle_node *));
        node->items = larger;
        node->capacity = capacity;
    }
    if (count)
        memcpy(node->items + node->count, items, count * sizeof(struct plumb_pickle_node *));
    node->count = wanted;
    return PLUMB_OK;
}

enum plumb_status plumb_pickle_remember(struct pickle_machine *machine, uint64_t index)
{
    struct plumb_pickle_node *node = plumb_pickle_top(machine);
    if (!node)
        return PLUMB_DAMAGED;
    if (index > machine->steps + MEMO_LEAD)
        return plumb_pickle_fail(machine, PLUMB_LIMIT,
                                 "has a memo index far above the number of its objects");
    void *memo = machine->memo;
    if (!grow(&memo, &machine->memo_capacity, (size_t)index + 1, sizeof node))
        return plumb_fail_memory(machine->err);
    machine->memo = memo;
    machine->memo[index] = node;
    if (machine->memo_size <= index)
        machine->memo_size = (size_t)index + 1;
    return PLUMB_OK;
}

enum plumb_status plumb_pickle_recall(struct pickle_machine *machine, uint64_t index)
{
    if (index >= machine->memo_size || !machine->memo[index])
        return plumb_pickle_fail(machine, PLUMB_DAMAGED,
                                 "refers to an object that it has not described");
    return plumb_pickle_push(machine, machine->memo[index]);
}

enum plumb_status plumb_pickle_push_text(struct pickle_machine *machine,
                                         enum plumb_pickle_kind kind, const char *text,
                                         size_t length)
{
    struct plumb_pickle_node *node = plumb_pickle_push_new(machine, kind);
    if (!node)
        return machine->err->status;
    node->text = plumb_arena_text(machine->arena, text, length);
    node->length = length;
    return node->text ? PLUMB_OK : plumb_pickle_fail_arena(machine);
}

enum plumb_status plumb_pickle_push_global(struct pickle_machine *machine, const char *module,
                                           size_t module_length, const char *name,
                                           size_t name_length)
{
    const size_t length = module_length + 1 + name_length;
    char *text = plumb_arena_alloc(machine->arena, length + 1, 1);
    if (!text)
        return plumb_pickle_fail_arena(machine);
    memcpy(text, module, module_length);
    text[module_length] = '.';
    memcpy(text + module_length + 1, name, name_length);
    struct plumb_pickle_node *node = plumb_pickle_push_new(machine, PLUMB_PICKLE_GLOBAL);
    if (!node)
        return machine->err->status;
    node->text = text;
    node->length = length;
    return PLUMB_OK;
}

enum plumb_status plumb_pickle_push_call(struct pickle_machine *machine,
                                         struct plumb_pickle_node *callable,
                                         struct plumb_pickle_node *arguments)
{
    struct plumb_pickle_call *call = plumb_arena_alloc(machine->arena, 1, sizeof *call);
    if (!call)
        return plumb_pickle_fail_arena(machine);
    struct plumb_pickle_node *node = plumb_pickle_push_new(machine, PLUMB_PICKLE_CALL);
    if (!node)
        return machine->err->status;
    call->callable = callable;
    call->arguments = arguments;
    node->call = call;
    return PLUMB_OK;
}

const char *plumb_pickle_line(struct pickle_machine *machine, size_t *length)
{
    struct plumb_bytes *in = &machine->in;
    const unsigned char *begin = in->data + in->at;
    const unsigned char *end =
        plumb_bytes_left(in) ? memchr(begin, '\n', plumb_bytes_left(in)) : NULL;
    if (!end) {
        (void)plumb_pickle_fail(machine, PLUMB_DAMAGED, "ends in the middle of a line");
        return NULL;
    }
    *length = (size_t)(end - begin);
    (void)plumb_bytes_take(in, *length + 1);
    return (const char *)begin;
}

static enum plumb_status run(struct pickle_machine *machine)
{
    for (;;) {
        machine->at = machine->in.at;
        machine->code = plumb_bytes_u8(&machine->in);
        if (!plumb_bytes_ok(&machine->in))
            return plumb_pickle_fail(machine, PLUMB_DAMAGED,
                                     "ends before its end mark; the file is truncated");
        if (machine->code == '.')
            return PLUMB_OK;
        if (++machine->steps > steps_limit)
            return plumb_pickle_fail(machine, PLUMB_LIMIT, "has more than 2^28 opcodes");
        pickle_action *action = plumb_pickle_actions[machine->code];
        if (!action) {
            char what[64];
            (void)snprintf(what, sizeof what, "has an unknown opcode 0x%02x", machine->code);
            return plumb_pickle_fail(machine, PLUMB_DAMAGED, what);
        }
        enum plumb_status status = action(machine);
        if (!plumb_bytes_ok(&machine->in))
            return plumb_pickle_fail(machine, PLUMB_DAMAGED,
                                     "ends in the middle of an opcode; the file is truncated");
        if (status)
            return status;
    }
}

enum plumb_status plumb_pickle_read(const struct plumb_pickle_source *source,
                                    struct plumb_arena *arena, struct plumb_pickle *pickle,
                                    struct plumb_error *err)
{
    struct plumb_error local = {0}; /* actions ask it why a helper failed */
    struct pickle_machine machine = {.source = source,
                                     .arena = arena,
                                     .in = plumb_bytes_of(source->bytes, source->size),
                                     .err = &local};
    machine.references = plumb_arena_alloc(arena, 1, sizeof *machine.references);
    enum plumb_status status = PLUMB_OK;
    if (machine.references) {
        machine.references->kind = PLUMB_PICKLE_LIST;
        status = run(&machine);
    } else {
        status = plumb_pickle_fail_arena(&machine);
    }
    if (status == PLUMB_OK) {
        machine.mark_count = 0;
        *pickle = (struct plumb_pickle){.root = plumb_pickle_top(&machine),
                                        .references = machine.references,
                                        .used = machine.in.at};
        status = pickle->root ? PLUMB_OK : PLUMB_DAMAGED;
    }
    if (status && err)
        *err = local;
    plumb_free(machine.stack);
    plumb_free(machine.marks);
    plumb_free(machine.memo);
    return status;
}
