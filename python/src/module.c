/* module.c - the extension module plumb._plumb: put together from the parts listed in parts.def. */
#include "large_pages.h"
#include "parts.h"

#include "plumb.h"

static PyObject *now(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyLong_FromLongLong(plumb_record_now());
}

static PyMethodDef functions[] = {
    {"now", now, METH_NOARGS, "Nanoseconds of the clock that spans and counters use"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_plumb",
    .m_doc = "The C side of Plumb: recording, tensors, reading.",
    .m_size = -1,
    .m_methods = functions,
};

static bool add_constants(PyObject *module)
{
    return !PyModule_AddStringConstant(module, "VERSION", plumb_version()) &&
           !PyModule_AddStringConstant(module, "CPU", plumb_cpu()) &&
           !PyModule_AddIntConstant(module, "FORWARD", PLUMB_PHASE_FORWARD) &&
           !PyModule_AddIntConstant(module, "BACKWARD", PLUMB_PHASE_BACKWARD) &&
           !PyModule_AddIntConstant(module, "OPTIMIZER", PLUMB_PHASE_OPTIMIZER) &&
           !PyModule_AddIntConstant(module, "COLLECTIVE", PLUMB_PHASE_COLLECTIVE);
}

PyMODINIT_FUNC PyInit__plumb(void);

PyMODINIT_FUNC PyInit__plumb(void)
{
    static bool (*const parts[])(PyObject *) = {
#define PART(name) plumb_##name##_add,
#include "parts.def"
#undef PART
    };
    plumb_use_large_pages();
    PyObject *module = PyModule_Create(&definition);
    bool sound = module && add_constants(module);
    for (size_t i = 0; sound && i < sizeof parts / sizeof *parts; i++)
        sound = parts[i](module);
    if (!sound)
        Py_CLEAR(module);
    return module;
}
