/*
 * msprobe_op.h - the operations of one step and rank on their way into a dump.json of msprobe.
 *
 * Tensors of an op may lie apart in a run (an op that calls others gets its outputs last), and belong
 * together in the dump: a step is gathered, then written.
 */
#ifndef PLUMB_REPORT_MSPROBE_OP_H
#define PLUMB_REPORT_MSPROBE_OP_H

#include "base/arena.h"
#include "base/json_write.h"
#include "base/table.h"

/* Where in an operation a tensor goes. */
enum plumb_msprobe_section {
    PLUMB_MSPROBE_ARGUMENTS,
    PLUMB_MSPROBE_KEYWORDS,
    PLUMB_MSPROBE_RESULTS,
    PLUMB_MSPROBE_PARAMETERS,
    PLUMB_MSPROBE_GRADIENTS,
    PLUMB_MSPROBE_SECTIONS
};

struct plumb_msprobe_tensor {
    enum plumb_msprobe_section section;
    int64_t index;    /* in a list of arguments or results */
    const char *name; /* in an object; NULL in a list */
    const char *leaf; /* its JSON */
    struct plumb_msprobe_tensor *next;
};

struct plumb_msprobe_export_op {
    const char *key;
    bool backward;
    const char *stack; /* the run's; NULL: not known */
    struct plumb_msprobe_tensor *first, *last;
};

struct plumb_msprobe_step {
    struct plumb_arena arena;
    struct plumb_table keys;
    struct plumb_msprobe_export_op *ops;
    size_t count, capacity;
};

/* The operation a record belongs to, as msprobe would call it, and its place in that. The name of the
 * file its values get is `key.input.0` and the like. False: out of memory. */
struct plumb_msprobe_target {
    char key[1024], file[1400];
    enum plumb_msprobe_section section;
    bool backward;
    int64_t index;
    char name[256]; /* "" in a list */
};
void plumb_msprobe_target_of(const struct plumb_tensor_record *record,
                             struct plumb_msprobe_target *target);
/* `data_name` is NULL if no values are saved. */
bool plumb_msprobe_step_add(struct plumb_msprobe_step *step,
                            const struct plumb_tensor_record *record,
                            const struct plumb_msprobe_target *target, bool mindspore,
                            const char *data_name);
/* One operation as the member of "data". */
void plumb_msprobe_op_json(const struct plumb_msprobe_export_op *op,
                           struct plumb_json_writer *json);
void plumb_msprobe_step_clear(struct plumb_msprobe_step *step);

#endif
