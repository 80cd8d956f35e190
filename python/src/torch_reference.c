/* torch_reference.c - see torch_reference.h. torch_reference.py computes; this asks it at the right moments
 * and records what it says. */
#include "torch_reference.h"

#include "recorder_type.h"

static PyObject *expect, *compare;

static void keep(PyObject **kept, PyObject *function)
{
    Py_XDECREF(*kept);
    *kept = function == Py_None ? NULL : function;
    Py_XINCREF(*kept);
}

PyObject *plumb_reference_set(PyObject *self, PyObject *arguments)
{
    PyObject *before = NULL, *after = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OO", &before, &after))
        return NULL;
    keep(&expect, before);
    keep(&compare, after);
    Py_RETURN_NONE;
}

bool plumb_reference_expect(PyObject *function, PyObject *arguments, PyObject *keywords,
                            PyObject **expected)
{
    *expected = NULL;
    if (!expect)
        return true;
    PyObject *answer = PyObject_CallFunctionObjArgs(expect, function, arguments,
                                                    keywords ? keywords : Py_None, NULL);
    if (!answer)
        return false;
    if (answer == Py_None)
        Py_DECREF(answer);
    else
        *expected = answer;
    return true;
}

/* A pair (slot, tensor). */
static bool record_difference(struct plumb_recorder *recorder, PyObject *pair)
{
    const char *slot = NULL;
    PyObject *tensor = NULL;
    if (!PyArg_ParseTuple(pair, "sO", &slot, &tensor))
        return false;
    (void)plumb_recorder_take(recorder, slot, tensor);
    PyErr_Clear();
    return true;
}

bool plumb_reference_compare(struct plumb_recorder *recorder, PyObject *expected,
                             PyObject *result)
{
    PyObject *pairs =
        compare ? PyObject_CallFunctionObjArgs(compare, expected, result, NULL) : NULL;
    bool well = pairs != NULL;
    for (Py_ssize_t i = 0; well && i < PyList_Size(pairs); i++)
        well = record_difference(recorder, PyList_GetItem(pairs, i));
    Py_XDECREF(pairs);
    return well || !PyErr_Occurred();
}
