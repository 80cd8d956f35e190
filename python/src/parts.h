/* parts.h - what module.c puts together. */
#ifndef PLUMB_PYTHON_PARTS_H
#define PLUMB_PYTHON_PARTS_H

#include "python.h"

#include <stdbool.h>

/* Each adds its types and functions to the module; false with an exception. */
#define PART(name) bool plumb_##name##_add(PyObject *module);
#include "parts.def"
#undef PART

#endif
