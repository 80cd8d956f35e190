/*
 * pickle_opcodes.c - what each opcode does to the stack.
 *
 * Written after Lib/pickletools.py, protocols 0 to 5. Left out: extension registry (EXT1, EXT2,
 * EXT4) and out-of-band buffers (NEXT_BUFFER), which a file on its own cannot resolve.
 */
#include "base/pickle_machine.h"

#include <string.h>

enum { BIG_INTEGER_BYTES = 1024 };

/* The status that a helper left in machine->err when it returned NULL. */
static enum plumb_status failed(const struct pickle_machine *machine)
{
    return machine->err->status ? machine->err->status : PLUMB_DAMAGED;
}

static enum plumb_status push_int(struct pickle_machine *machine, int64_t value)
{
    struct plumb_pickle_node *node = plumb_pickle_push_new(machine, PLUMB_PICKLE_INT);
    if (!node)
        return failed(machine);
    node->integer = value;
    return PLUMB_OK;
}

static enum plumb_status push_empty(struct pickle_machine *machine, enum plumb_pickle_kind kind)
{
    return plumb_pickle_push_new(machine, kind) ? PLUMB_OK : failed(machine);
}

/* ---- numbers and constants -------------------------------------------------------------- */

static enum plumb_status do_none(struct pickle_machine *machine)
{
    return push_empty(machine, PLUMB_PICKLE_NONE);
}

static enum plumb_status do_bool(struct pickle_machine *machine)
{
    struct plumb_pickle_node *node = plumb_pickle_push_new(machine, PLUMB_PICKLE_BOOL);
    if (!node)
        return failed(machine);
    node->truth = machine->code == 0x88;
    return PLUMB_OK;
}

static enum plumb_status do_binint(struct pickle_machine *machine)
{
    return push_int(machine, (int32_t)plumb_bytes_u32(&machine->in));
}

static enum plumb_status do_binint1(struct pickle_machine *machine)
{
    return push_int(machine, plumb_bytes_u8(&machine->in));
}

static enum plumb_status do_binint2(struct pickle_machine *machine)
{
    return push_int(machine, plumb_bytes_u16(&machine->in));
}

/* Decimal digits of a little-endian two's complement number, by dividing it by ten. */
static enum plumb_status push_big(struct pickle_machine *machine, const unsigned char *bytes,
                                  size_t size)
{
    if (size > BIG_INTEGER_BYTES)
        return plumb_pickle_fail(machine, PLUMB_LIMIT, "has an integer of over 1024 bytes");
    unsigned char rest[BIG_INTEGER_BYTES];
    char digits[BIG_INTEGER_BYTES * 3 + 2];
    const bool negative = bytes[size - 1] & 0x80;
    unsigned carry = 1;
    for (size_t i = 0; i < size; i++) {
        const unsigned byte = negative ? (unsigned)(bytes[i] ^ 0xff) + carry : bytes[i];
        rest[i] = (unsigned char)byte;
        carry = byte >> 8;
    }
    size_t at = sizeof digits;
    while (size) {
        unsigned remainder = 0;
        for (size_t i = size; i-- > 0;) {
            const unsigned value = remainder << 8 | rest[i];
            rest[i] = (unsigned char)(value / 10);
            remainder = value % 10;
        }
        digits[--at] = (char)('0' + remainder);
        while (size && !rest[size - 1])
            size--;
    }
    if (negative)
        digits[--at] = '-';
    return plumb_pickle_push_text(machine, PLUMB_PICKLE_BIG, digits + at, sizeof digits - at);
}

static enum plumb_status do_long(struct pickle_machine *machine)
{
    const size_t size =
        machine->code == 0x8a ? plumb_bytes_u8(&machine->in) : plumb_bytes_u32(&machine->in);
    const unsigned char *bytes = plumb_bytes_take(&machine->in, size);
    if (!bytes)
        return PLUMB_DAMAGED; /* the loop names the overrun */
    if (size > 8)
        return push_big(machine, bytes, size);
    uint64_t value = size && bytes[size - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return push_int(machine, (int64_t)value);
}

static enum plumb_status do_binfloat(struct pickle_machine *machine)
{
    const unsigned char *bytes = plumb_bytes_take(&machine->in, 8);
    struct plumb_pickle_node *node =
        bytes ? plumb_pickle_push_new(machine, PLUMB_PICKLE_FLOAT) : NULL;
    if (!node)
        return failed(machine);
    const uint64_t bits = plumb_load_u64_big(bytes);
    memcpy(&node->real, &bits, sizeof bits);
    return PLUMB_OK;
}

/* ---- text and bytes --------------------------------------------------------------------- */

static uint64_t length_argument(struct pickle_machine *machine)
{
    switch (machine->code) {
    case 'U': /* SHORT_BINSTRING */
    case 'C': /* SHORT_BINBYTES */
    case 0x8c:
        return plumb_bytes_u8(&machine->in);
    case 'T':
    case 'X':
    case 'B':
        return plumb_bytes_u32(&machine->in);
    default: /* BINUNICODE8, BINBYTES8, BYTEARRAY8 */
        return plumb_bytes_u64(&machine->in);
    }
}

static enum plumb_status do_string(struct pickle_machine *machine)
{
    const uint64_t length = length_argument(machine);
    const unsigned char *bytes = plumb_bytes_take(&machine->in, (size_t)length);
    if (!bytes)
        return PLUMB_DAMAGED;
    return plumb_pickle_push_text(machine, PLUMB_PICKLE_STRING, (const char *)bytes,
                                  (size_t)length);
}

static enum plumb_status do_bytes(struct pickle_machine *machine)
{
    const uint64_t length = length_argument(machine);
    const unsigned char *bytes = plumb_bytes_take(&machine->in, (size_t)length);
    struct plumb_pickle_node *node =
        bytes ? plumb_pickle_push_new(machine, PLUMB_PICKLE_BYTES) : NULL;
    if (!node)
        return failed(machine);
    node->text = (const char *)bytes;
    node->length = (size_t)length;
    return PLUMB_OK;
}

/* ---- collections ------------------------------------------------------------------------ */

static enum plumb_status do_empty(struct pickle_machine *machine)
{
    switch (machine->code) {
    case '}':
        return push_empty(machine, PLUMB_PICKLE_DICT);
    case ']':
        return push_empty(machine, PLUMB_PICKLE_LIST);
    case ')':
        return push_empty(machine, PLUMB_PICKLE_TUPLE);
    default:
        return push_empty(machine, PLUMB_PICKLE_SET);
    }
}

/* A new collection of all that is above the mark. */
static enum plumb_status collect(struct pickle_machine *machine, enum plumb_pickle_kind kind)
{
    struct plumb_pickle_node **items = NULL;
    size_t count = 0;
    enum plumb_status status = plumb_pickle_pop_mark(machine, &items, &count);
    if (status)
        return status;
    if (kind == PLUMB_PICKLE_DICT && count % 2)
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "has a key without a value");
    struct plumb_pickle_node *node = plumb_arena_alloc(machine->arena, 1, sizeof *node);
    if (!node)
        return plumb_pickle_fail_arena(machine);
    node->kind = kind;
    node->at = machine->at;
    status = plumb_pickle_append(machine, node, items, count);
    return status ? status : plumb_pickle_push(machine, node);
}

static enum plumb_status do_tuple(struct pickle_machine *machine)
{
    return collect(machine, PLUMB_PICKLE_TUPLE);
}

static enum plumb_status do_list(struct pickle_machine *machine)
{
    return collect(machine, PLUMB_PICKLE_LIST);
}

static enum plumb_status do_dict(struct pickle_machine *machine)
{
    return collect(machine, PLUMB_PICKLE_DICT);
}

static enum plumb_status do_frozenset(struct pickle_machine *machine)
{
    return collect(machine, PLUMB_PICKLE_SET);
}

static enum plumb_status do_short_tuple(struct pickle_machine *machine)
{
    const size_t count = machine->code - 0x84u; /* TUPLE1 is 0x85 */
    struct plumb_pickle_node *items[3] = {0};
    for (size_t i = count; i-- > 0;) {
        items[i] = plumb_pickle_pop(machine);
        if (!items[i])
            return failed(machine);
    }
    struct plumb_pickle_node *node = plumb_pickle_push_new(machine, PLUMB_PICKLE_TUPLE);
    return node ? plumb_pickle_append(machine, node, items, count) : failed(machine);
}

static enum plumb_status add_items(struct pickle_machine *machine,
                                   struct plumb_pickle_node *const *items, size_t count)
{
    struct plumb_pickle_node *node = plumb_pickle_top(machine);
    if (!node)
        return failed(machine);
    if (node->kind != PLUMB_PICKLE_LIST && node->kind != PLUMB_PICKLE_SET &&
        node->kind != PLUMB_PICKLE_CALL)
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "appends to what is not a list");
    if (node->kind == PLUMB_PICKLE_CALL && node->call->mapping)
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "uses one object as list and dict");
    return plumb_pickle_append(machine, node, items, count);
}

static enum plumb_status set_items(struct pickle_machine *machine,
                                   struct plumb_pickle_node *const *items, size_t count)
{
    struct plumb_pickle_node *node = plumb_pickle_top(machine);
    if (!node)
        return failed(machine);
    if (count % 2)
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "has a key without a value");
    if (node->kind == PLUMB_PICKLE_CALL && (node->call->mapping || !node->count))
        node->call->mapping = true;
    else if (node->kind != PLUMB_PICKLE_DICT)
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "sets an item of what is not a dict");
    return plumb_pickle_append(machine, node, items, count);
}

static enum plumb_status do_append(struct pickle_machine *machine)
{
    struct plumb_pickle_node *item = plumb_pickle_pop(machine);
    return item ? add_items(machine, &item, 1) : failed(machine);
}

static enum plumb_status do_appends(struct pickle_machine *machine)
{
    struct plumb_pickle_node **items = NULL;
    size_t count = 0;
    enum plumb_status status = plumb_pickle_pop_mark(machine, &items, &count);
    return status ? status : add_items(machine, items, count);
}

static enum plumb_status do_setitem(struct pickle_machine *machine)
{
    struct plumb_pickle_node *pair[2] = {0};
    pair[1] = plumb_pickle_pop(machine);
    pair[0] = pair[1] ? plumb_pickle_pop(machine) : NULL;
    return pair[0] ? set_items(machine, pair, 2) : failed(machine);
}

static enum plumb_status do_setitems(struct pickle_machine *machine)
{
    struct plumb_pickle_node **items = NULL;
    size_t count = 0;
    enum plumb_status status = plumb_pickle_pop_mark(machine, &items, &count);
    return status ? status : set_items(machine, items, count);
}

/* ---- stack and memo --------------------------------------------------------------------- */

static enum plumb_status do_nothing(struct pickle_machine *machine)
{
    (void)machine;
    return PLUMB_OK;
}

static enum plumb_status do_proto(struct pickle_machine *machine)
{
    return plumb_bytes_u8(&machine->in) <= 5
               ? PLUMB_OK
               : plumb_pickle_fail(machine, PLUMB_UNSUPPORTED,
                                   "is of a protocol above 5, which Plumb does not know");
}

static enum plumb_status do_frame(struct pickle_machine *machine)
{
    (void)plumb_bytes_u64(&machine->in); /* a hint for buffering */
    return PLUMB_OK;
}

static enum plumb_status do_pop(struct pickle_machine *machine)
{
    /* Python's POP takes the mark if it is on top. */
    if (machine->mark_count && machine->marks[machine->mark_count - 1] == machine->stack_size) {
        machine->mark_count--;
        return PLUMB_OK;
    }
    return plumb_pickle_pop(machine) ? PLUMB_OK : failed(machine);
}

static enum plumb_status do_pop_mark(struct pickle_machine *machine)
{
    struct plumb_pickle_node **items = NULL;
    size_t count = 0;
    return plumb_pickle_pop_mark(machine, &items, &count);
}

static enum plumb_status do_dup(struct pickle_machine *machine)
{
    struct plumb_pickle_node *node = plumb_pickle_top(machine);
    return node ? plumb_pickle_push(machine, node) : failed(machine);
}

static enum plumb_status do_put(struct pickle_machine *machine)
{
    return plumb_pickle_remember(machine, machine->code == 'q' ? plumb_bytes_u8(&machine->in)
                                                               : plumb_bytes_u32(&machine->in));
}

static enum plumb_status do_memoize(struct pickle_machine *machine)
{
    return plumb_pickle_remember(machine, machine->memo_size);
}

static enum plumb_status do_get(struct pickle_machine *machine)
{
    return plumb_pickle_recall(machine, machine->code == 'h' ? plumb_bytes_u8(&machine->in)
                                                             : plumb_bytes_u32(&machine->in));
}

/* ---- objects ---------------------------------------------------------------------------- */

static enum plumb_status do_stack_global(struct pickle_machine *machine)
{
    struct plumb_pickle_node *name = plumb_pickle_pop(machine);
    struct plumb_pickle_node *module = name ? plumb_pickle_pop(machine) : NULL;
    if (!module)
        return failed(machine);
    if (!plumb_pickle_text(module) || !plumb_pickle_text(name))
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "names a global by what is not text");
    return plumb_pickle_push_global(machine, module->text, module->length, name->text,
                                    name->length);
}

static enum plumb_status do_call(struct pickle_machine *machine)
{
    struct plumb_pickle_node *arguments = plumb_pickle_pop(machine);
    struct plumb_pickle_node *callable = arguments ? plumb_pickle_pop(machine) : NULL;
    return callable ? plumb_pickle_push_call(machine, callable, arguments) : failed(machine);
}

/* NEWOBJ_EX: keyword arguments are kept as the object's state. */
static enum plumb_status do_newobj_ex(struct pickle_machine *machine)
{
    struct plumb_pickle_node *keywords = plumb_pickle_pop(machine);
    enum plumb_status status = keywords ? do_call(machine) : failed(machine);
    if (status == PLUMB_OK)
        machine->stack[machine->stack_size - 1]->call->state = keywords;
    return status;
}

/* OBJ: mark, class, arguments ... */
static enum plumb_status do_obj(struct pickle_machine *machine)
{
    enum plumb_status status = collect(machine, PLUMB_PICKLE_TUPLE);
    if (status)
        return status;
    struct plumb_pickle_node *arguments = plumb_pickle_pop(machine);
    if (!arguments || !arguments->count)
        return plumb_pickle_fail(machine, PLUMB_DAMAGED, "makes an object without a class");
    struct plumb_pickle_node *callable = arguments->items[0];
    arguments->items++;
    arguments->count--;
    arguments->capacity--;
    return plumb_pickle_push_call(machine, callable, arguments);
}

static enum plumb_status do_build(struct pickle_machine *machine)
{
    struct plumb_pickle_node *state = plumb_pickle_pop(machine);
    struct plumb_pickle_node *node = state ? plumb_pickle_top(machine) : NULL;
    if (!node)
        return failed(machine);
    if (node->kind == PLUMB_PICKLE_CALL)
        node->call->state = state;
    return PLUMB_OK;
}

static enum plumb_status do_persistent(struct pickle_machine *machine)
{
    struct plumb_pickle_node *what = plumb_pickle_pop(machine);
    struct plumb_pickle_node *node =
        what ? plumb_pickle_push_new(machine, PLUMB_PICKLE_PERSISTENT) : NULL;
    if (!node)
        return failed(machine);
    enum plumb_status status = plumb_pickle_append(machine, node, &what, 1);
    return status ? status : plumb_pickle_append(machine, machine->references, &node, 1);
}

pickle_action *const plumb_pickle_actions[256] = {
    ['('] = plumb_pickle_push_mark,
    ['0'] = do_pop,
    ['1'] = do_pop_mark,
    ['2'] = do_dup,
    ['B'] = do_bytes,
    ['C'] = do_bytes,
    ['F'] = plumb_pickle_do_float_line,
    ['G'] = do_binfloat,
    ['I'] = plumb_pickle_do_int_line,
    ['J'] = do_binint,
    ['K'] = do_binint1,
    ['L'] = plumb_pickle_do_int_line,
    ['M'] = do_binint2,
    ['N'] = do_none,
    ['P'] = plumb_pickle_do_persistent_line,
    ['Q'] = do_persistent,
    ['R'] = do_call,
    ['S'] = plumb_pickle_do_string_line,
    ['T'] = do_string,
    ['U'] = do_string,
    ['V'] = plumb_pickle_do_unicode_line,
    ['X'] = do_string,
    ['a'] = do_append,
    ['b'] = do_build,
    ['c'] = plumb_pickle_do_global_line,
    ['d'] = do_dict,
    ['e'] = do_appends,
    ['g'] = plumb_pickle_do_get_line,
    ['h'] = do_get,
    ['i'] = plumb_pickle_do_inst_line,
    ['j'] = do_get,
    ['l'] = do_list,
    ['o'] = do_obj,
    ['p'] = plumb_pickle_do_put_line,
    ['q'] = do_put,
    ['r'] = do_put,
    ['s'] = do_setitem,
    ['t'] = do_tuple,
    ['u'] = do_setitems,
    ['}'] = do_empty,
    [']'] = do_empty,
    [')'] = do_empty,
    [0x80] = do_proto,
    [0x81] = do_call, /* NEWOBJ */
    [0x85] = do_short_tuple,
    [0x86] = do_short_tuple,
    [0x87] = do_short_tuple,
    [0x88] = do_bool,
    [0x89] = do_bool,
    [0x8a] = do_long,
    [0x8b] = do_long,
    [0x8c] = do_string,  /* SHORT_BINUNICODE */
    [0x8d] = do_string,  /* BINUNICODE8 */
    [0x8e] = do_bytes,   /* BINBYTES8 */
    [0x8f] = do_empty,   /* EMPTY_SET */
    [0x90] = do_appends, /* ADDITEMS */
    [0x91] = do_frozenset,
    [0x92] = do_newobj_ex,
    [0x93] = do_stack_global,
    [0x94] = do_memoize,
    [0x95] = do_frame,
    [0x96] = do_bytes,   /* BYTEARRAY8 */
    [0x98] = do_nothing, /* READONLY_BUFFER */
};
