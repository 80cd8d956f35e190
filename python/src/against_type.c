/* against_type.c - `Against`: a recorder's records compared with those of another run while they are made. */
#include "parts.h"
#include "recorder_type.h"

#include "plumb.h"

struct against_object {
    PyObject ob_base;
    struct plumb_against *against;
    PyObject *recorder; /* that is watched; or NULL */
};

static PyObject *against_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *path = NULL;
    int rank = 0;
    struct plumb_error error;
    enum plumb_status status;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "si", &path, &rank))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct against_object *self = (struct against_object *)allocate(type, 0);
    if (!self)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = plumb_against_open(path, rank, &self->against, &error);
    Py_END_ALLOW_THREADS
    if (status) {
        Py_DECREF(self);
        PyErr_SetString(PyExc_OSError, error.message);
        return NULL;
    }
    return (PyObject *)self;
}

/* The recorder is kept while it is watched: it must not outlive what it shows its records to. */
static void watch_none(struct against_object *self)
{
    plumb_recorder_observe(plumb_recorder_of(self->recorder), NULL);
    Py_CLEAR(self->recorder);
}

static PyObject *watch(PyObject *object, PyObject *recorder)
{
    struct against_object *self = (struct against_object *)object;
    watch_none(self);
    if (recorder == Py_None)
        Py_RETURN_NONE;
    if (!plumb_recorder_of(recorder)) {
        PyErr_SetString(PyExc_TypeError, "a recorder that is open is watched");
        return NULL;
    }
    Py_INCREF(recorder);
    self->recorder = recorder;
    plumb_recorder_observe(plumb_recorder_of(recorder), plumb_against_observer(self->against));
    Py_RETURN_NONE;
}

static PyObject *step(PyObject *object, PyObject *args)
{
    struct against_object *self = (struct against_object *)object;
    long long number = 0;
    struct plumb_error error;
    enum plumb_status status;
    if (!PyArg_ParseTuple(args, "L", &number))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = plumb_against_step(self->against, number, &error);
    Py_END_ALLOW_THREADS
    if (!status)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_OSError, error.message);
    return NULL;
}

static PyObject *first(PyObject *object, PyObject *args)
{
    struct against_object *self = (struct against_object *)object;
    int beyond = 0;
    if (!PyArg_ParseTuple(args, "p", &beyond))
        return NULL;
    const struct plumb_divergence *found = plumb_against_first(self->against, beyond != 0);
    if (!found)
        Py_RETURN_NONE;
    return Py_BuildValue("{sLsssssssssOss}", "step", (long long)found->step, "op", found->op,
                         "slot", found->slot, "phase", plumb_phase_name(found->phase), "basis",
                         plumb_basis_name(found->basis), "beyond_rounding",
                         found->beyond_rounding ? Py_True : Py_False, "reason", found->reason);
}

static PyObject *stopped(PyObject *object, PyObject *unused)
{
    struct against_object *self = (struct against_object *)object;
    const char *why = plumb_against_stopped(self->against);
    (void)unused;
    if (!why)
        Py_RETURN_NONE;
    return PyUnicode_FromString(why);
}

static PyObject *counts(PyObject *object, PyObject *unused)
{
    struct against_object *self = (struct against_object *)object;
    struct plumb_against_counts found;
    (void)unused;
    plumb_against_counts(self->against, &found);
    return Py_BuildValue("{sKsKsKsK}", "records", (unsigned long long)found.records, "steps",
                         (unsigned long long)found.steps, "saved",
                         (unsigned long long)found.saved, "gone",
                         (unsigned long long)found.gone);
}

static PyObject *save(PyObject *object, PyObject *args)
{
    struct against_object *self = (struct against_object *)object;
    const char *path = NULL;
    struct plumb_error error;
    enum plumb_status status;
    if (!PyArg_ParseTuple(args, "s", &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = plumb_against_save(self->against, path, &error);
    Py_END_ALLOW_THREADS
    if (!status)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_OSError, error.message);
    return NULL;
}

static void against_dealloc(PyObject *object)
{
    struct against_object *self = (struct against_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    watch_none(self);
    plumb_against_close(self->against);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"watch", watch, METH_O, "watch(recorder or None)"},
    {"step", step, METH_VARARGS, "step(number): it begins"},
    {"first", first, METH_VARARGS, "first(beyond_rounding) -> what differs first, or None"},
    {"stopped", stopped, METH_NOARGS, "Why nothing is compared any more, or None"},
    {"counts", counts, METH_NOARGS, "What was compared, saved and gone"},
    {"save", save, METH_VARARGS, "save(path): the values around the divergence, as npz"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Against(run, rank): compares while training."},
    {Py_tp_new, (void *)against_new},
    {Py_tp_dealloc, (void *)against_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "plumb._plumb.Against",
    .basicsize = sizeof(struct against_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

bool plumb_against_type_add(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    if (!type || PyModule_AddObject(module, "Against", type)) {
        Py_XDECREF(type);
        return false;
    }
    return true;
}
