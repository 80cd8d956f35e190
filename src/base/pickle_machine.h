/* pickle_machine.h - the stack machine's state, shared by the files that implement it. */
#ifndef PLUMB_BASE_PICKLE_MACHINE_H
#define PLUMB_BASE_PICKLE_MACHINE_H

#include "base/bytes.h"
#include "base/pickle.h"

struct pickle_machine {
    const struct plumb_pickle_source *source;
    struct plumb_arena *arena;
    struct plumb_bytes in;
    size_t at;    /* where the opcode being executed is */
    uint8_t code; /* that opcode */
    uint64_t steps;
    struct plumb_pickle_node **stack;
    size_t stack_size, stack_capacity;
    size_t *marks; /* stack sizes */
    size_t mark_count, mark_capacity;
    struct plumb_pickle_node **memo;      /* NULL entries: not set */
    size_t memo_size, memo_capacity;      /* memo_size: one past the largest index in use */
    struct plumb_pickle_node *references; /* every PERSISTENT node made so far */
    struct plumb_error *err;
};

/* An opcode's action. On failure it has filled machine->err. */
typedef enum plumb_status pickle_action(struct pickle_machine *machine);

/* NULL: not an opcode of this machine. Indexed by the opcode. */
extern pickle_action *const plumb_pickle_actions[256];

enum plumb_status plumb_pickle_fail(const struct pickle_machine *machine,
                                    enum plumb_status status, const char *what);
/* After an arena said no: it is either at its limit or there is no memory. */
enum plumb_status plumb_pickle_fail_arena(const struct pickle_machine *machine);
enum plumb_status plumb_pickle_push(struct pickle_machine *machine,
                                    struct plumb_pickle_node *node);
/* A new node on the stack; NULL after a failure. */
struct plumb_pickle_node *plumb_pickle_push_new(struct pickle_machine *machine,
                                                enum plumb_pickle_kind kind);
/* The top of the stack above the last mark; NULL (and a filled error) if there is none. */
struct plumb_pickle_node *plumb_pickle_pop(struct pickle_machine *machine);
struct plumb_pickle_node *plumb_pickle_top(struct pickle_machine *machine);
/* Removes the last mark; `items` are those above it, which stay valid until the next push. */
enum plumb_status plumb_pickle_pop_mark(struct pickle_machine *machine,
                                        struct plumb_pickle_node ***items, size_t *count);
enum plumb_status plumb_pickle_push_mark(struct pickle_machine *machine);
enum plumb_status plumb_pickle_append(struct pickle_machine *machine,
                                      struct plumb_pickle_node *node,
                                      struct plumb_pickle_node *const *items, size_t count);
enum plumb_status plumb_pickle_remember(struct pickle_machine *machine, uint64_t index);
enum plumb_status plumb_pickle_recall(struct pickle_machine *machine, uint64_t index);
/* Pushes text copied to the arena. */
enum plumb_status plumb_pickle_push_text(struct pickle_machine *machine,
                                         enum plumb_pickle_kind kind, const char *text,
                                         size_t length);
enum plumb_status plumb_pickle_push_global(struct pickle_machine *machine, const char *module,
                                           size_t module_length, const char *name,
                                           size_t name_length);
enum plumb_status plumb_pickle_push_call(struct pickle_machine *machine,
                                         struct plumb_pickle_node *callable,
                                         struct plumb_pickle_node *arguments);
/* The rest of the line, without its end, which is consumed; NULL after a failure. */
const char *plumb_pickle_line(struct pickle_machine *machine, size_t *length);

/* Actions of opcodes whose argument is text (protocol 0), in pickle_text.c. */
pickle_action plumb_pickle_do_int_line, plumb_pickle_do_float_line, plumb_pickle_do_string_line,
    plumb_pickle_do_unicode_line, plumb_pickle_do_get_line, plumb_pickle_do_put_line,
    plumb_pickle_do_global_line, plumb_pickle_do_inst_line, plumb_pickle_do_persistent_line;

#endif
