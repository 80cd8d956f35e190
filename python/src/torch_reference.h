/* torch_reference.h - each operator's results computed a second time, more exactly, and the differences. */
#ifndef PLUMB_PYTHON_TORCH_REFERENCE_H
#define PLUMB_PYTHON_TORCH_REFERENCE_H

#include "parts.h"

#include "plumb.h"

/* (expect, compare) of torch_reference.py, or (None, None): no reference. */
PyObject *plumb_reference_set(PyObject *self, PyObject *arguments);

/* Before an operator runs, because it may write to its arguments. `expected`: a new reference, or NULL if there is
 * nothing to compare. False: Python wants out (Ctrl-C). */
bool plumb_reference_expect(PyObject *function, PyObject *arguments, PyObject *keywords,
                            PyObject **expected);

/* Afterwards: records the differences under the operator that is entered. False as above. */
bool plumb_reference_compare(struct plumb_recorder *recorder, PyObject *expected,
                             PyObject *result);

#endif
