/*
 * op_names.h - the operators torch knows, and what has to be known of each to record it.
 *
 * torch names an operator with two strings; those of a schema keep their address, so that a small
 * cache by address finds most.
 */
#ifndef PLUMB_PYTHON_OP_NAMES_H
#define PLUMB_PYTHON_OP_NAMES_H

#include "python.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum plumb_op_flags {
    PLUMB_OP_COMPOSITE = 1,  /* made of other operators, which are seen instead */
    PLUMB_OP_VIEW = 2,       /* gives other views of its inputs: no new values */
    PLUMB_OP_COLLECTIVE = 4, /* its results are not there when it returns */
    PLUMB_OP_EMPTY = 8,      /* gives memory whose content means nothing */
    PLUMB_OP_COPY = 16,      /* its output has the values of its first input */
    PLUMB_OP_SILENT = 32,    /* moves no tensors worth recording: profiler marks */
    PLUMB_OP_OUT = 64,       /* what it writes to had no meaning before: out= */
    PLUMB_OP_TORCH = 128,    /* torch's own: it runs no code of others. Set by op_names.c */
};

struct plumb_op {
    char *name;     /* "aten::add" */
    char *overload; /* "Tensor" */
    char *label;    /* "add"; "c10d.allreduce_" outside of aten */
    unsigned flags;
    int arguments, results; /* -1: not known */
    uint64_t writes;        /* bit i: argument i is written */
    atomic_ullong calls;    /* that were seen */
    atomic_int inner; /* operators that ran inside of it, the last time they were counted */
};

/* Replaces nothing: adds what is new. `list` has tuples (name, overload, flags, arguments,
 * results, writes). False with an exception. */
bool plumb_op_names_add(PyObject *list);
/* NULL: no operator of that name; `name` may then be any text. */
struct plumb_op *plumb_op_find(const char *name, const char *overload);
/* The same if texts that name an operator are those of its schema, and no copies. */
struct plumb_op *plumb_op_of_schema(const char *name, const char *overload);
/* No operator, but the autograd engine evaluating a node. */
bool plumb_op_is_engine(const char *name);
/* Operators that were met but are not in the table, since the last call. */
int plumb_op_names_missed(void);
/* {"aten::add.Tensor": how often it was seen}; NULL with an exception. Counts begin again. */
PyObject *plumb_op_names_seen(void);

#endif
