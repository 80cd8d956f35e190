/*
 * torch_modules.h - which module is running: paths by number, each thread's stack, and the module in whose
 * forward pass a node of the backward pass was made.
 *
 * Forward operators carry the number that the autograd node made by them will have; the node says the
 * same number when it runs.
 */
#ifndef PLUMB_PYTHON_TORCH_MODULES_H
#define PLUMB_PYTHON_TORCH_MODULES_H

#include "python.h"

#include <stdbool.h>
#include <stdint.h>

enum { PLUMB_NO_MODULE = 0 }; /* the path "" */

/* The path of a module's number; never NULL. */
const char *plumb_module_path(uint32_t module);
/* What made a node of the backward pass: the module, and where the program called the operator. */
struct plumb_maker {
    uint32_t module, stack;
};
/* Of the calling thread: the module whose forward runs, where the program called it (see call_stacks.h), and how
 * many are nested. */
struct plumb_module_state {
    struct plumb_maker now;
    int depth;
};
struct plumb_module_state plumb_module_current(void);

void plumb_module_made(int64_t sequence, struct plumb_maker maker);
struct plumb_maker plumb_module_that_made(int64_t sequence);
bool plumb_module_is_known(int64_t sequence);

/* Hooks of torch.nn.modules.module: (module, arguments) and (module, arguments, result). */
PyObject *plumb_module_enter(PyObject *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *plumb_module_leave(PyObject *self, PyObject *const *arguments, Py_ssize_t count);
/* A function that is given a module without a number and returns a list of (module, path): it and
 * those inside of it. */
PyObject *plumb_module_resolver(PyObject *self, PyObject *function);
/* The number of a path, which is kept. */
uint32_t plumb_module_number(const char *path);

#endif
