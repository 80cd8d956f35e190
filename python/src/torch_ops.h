/*
 * torch_ops.h - recording every operator of a step: what the two routes share.
 *
 * torch_ops.c is the fast route (torch's own record callbacks, no Python), torch_dispatch.c the one that
 * works everywhere (a dispatch mode), with torch_reference.c beside it. Both find out which operator runs with which tensors; op_records.c
 * turns that into records.
 */
#ifndef PLUMB_PYTHON_TORCH_OPS_H
#define PLUMB_PYTHON_TORCH_OPS_H

#include "op_names.h"
#include "op_tensor.h"

#include "plumb.h"

#include <stdatomic.h>

/* ---- op_records.c ---- */

/* What is recorded, from now on. `patterns`, separated by commas, select operators
 * by label or name; NULL: all. */
void plumb_op_records_open(struct plumb_recorder *recorder, const char *patterns,
                           enum plumb_save save);
bool plumb_op_is_open(void);
/* Nothing is known of any values. */
void plumb_op_records_forget(void);
/* Of what the last step left for the next: it is, if operators were recorded all the time. */
void plumb_op_records_next_step(void);

/* How a running operator is recorded; one for each thread. */
struct plumb_op_call {
    struct plumb_op *op;
    struct plumb_recorder *recorder;
    bool recorded;        /* its place was entered */
    bool refused;         /* torch does not show its tensors, and is not asked again */
    atomic_int *failures; /* of its place; NULL: it has none */
    int inputs, outputs;
    unsigned tensors, referred; /* recorded; of these, with numbers that were known */
    /* An input whose values will be known from the output: a copy that makes order. */
    bool delayed;
    struct plumb_op_tensor late;
    int64_t late_numbers[2 * PLUMB_MAX_RANK];
};

struct plumb_op_context {
    uint32_t module;
    uint32_t stack; /* where the program called it; 0: not known */
    enum plumb_phase phase;
    bool recomputed;
};

/* Of no interest are views and memory without content. */
bool plumb_op_is_recorded(const struct plumb_op *op);
void plumb_op_enter(struct plumb_op_call *call, struct plumb_op *op,
                    struct plumb_op_context context);
void plumb_op_input(struct plumb_op_call *call, const struct plumb_op_tensor *tensor);
void plumb_op_output(struct plumb_op_call *call, const struct plumb_op_tensor *tensor);
/* An input or output that there is, but cannot be read. */
void plumb_op_skip(struct plumb_op_call *call, bool output, enum plumb_op_look look);
void plumb_op_leave(struct plumb_op_call *call);
/* Tensors outside of operators: parameters, their gradients, what the optimizer keeps. NULL: not to be
 * recorded. A place is good until the recorder is closed. */
struct plumb_place *plumb_op_place(enum plumb_phase phase, const char *module, const char *op);
void plumb_op_visit(struct plumb_place *place, uint32_t stack);
void plumb_op_show(const char *slot, const struct plumb_op_tensor *tensor);
void plumb_op_end_visit(void);
/* What is known of values that this step has recorded; false: nothing. */
bool plumb_op_recall(const struct plumb_view *view, struct plumb_stats *stats);

/* A tensor whose numbers were computed on its device. */
void plumb_op_record_known(enum plumb_phase phase, const char *module, const char *op, int call,
                           const char *slot, enum plumb_dtype dtype, int rank,
                           const int64_t *shape, struct plumb_known *known);

struct plumb_op_counts {
    uint64_t operators, tensors, referred, scanned_bytes, foreign, failed;
};
void plumb_op_counts(struct plumb_op_counts *counts);

/* ---- torch_ops.c ---- */

/* The optimizer's step runs in this thread; with the GIL held. */
void plumb_torch_ops_phase(bool optimizer);
bool plumb_torch_ops_in_optimizer(void);
uint32_t plumb_torch_ops_optimizer_stack(void);
/* Nothing is recorded in this thread meanwhile: Plumb's own operators. Nests. */
void plumb_torch_ops_mute(int more);

/* From now on operators are asked for tensors that wrap others, of which those inside are recorded. */
void plumb_torch_ops_expect_wrappers(void);

/* NULL: what is called in torch was found; else the name that was not. */
const char *plumb_torch_ops_load(void);
const struct plumb_torch_symbols *plumb_torch_ops_symbols(void);
struct plumb_torch_layout *plumb_torch_ops_layout(void);
bool plumb_torch_ops_start(void);
void plumb_torch_ops_stop(void);
void plumb_torch_ops_after_fork(void);

#endif
