/* python.h - CPython's limited interface, the same for every file of the extension. */
#ifndef PLUMB_PYTHON_PYTHON_H
#define PLUMB_PYTHON_PYTHON_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000 /* METH_FASTCALL is stable since 3.10 */
#endif
#include <Python.h>

/* What a method of another calling convention is stored as. */
#define PLUMB_METHOD(function) ((PyCFunction)(void (*)(void))(function))

#endif
