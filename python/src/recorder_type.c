/*
 * recorder_type.c - a recorder as a Python object.
 *
 * Opening raises, because the caller has to know. After that no method raises: an argument that
 * makes no sense is counted in `errors` and the training goes on.
 */
#include "recorder_type.h"

#include "parts.h"
#include "tensor_view.h"

#include <stdio.h>
#include <string.h>

enum { RELEASE_LOCK_FROM = 1 << 16 }; /* bytes from which other threads may run meanwhile */

struct recorder_object {
    PyObject ob_base;
    struct plumb_recorder *recorder;
    unsigned long long errors;
    char trouble[256]; /* the first of them */
};

static PyObject *recorder_type;

struct plumb_recorder *plumb_recorder_of(PyObject *object)
{
    if (!object || !recorder_type || !PyObject_TypeCheck(object, (PyTypeObject *)recorder_type))
        return NULL;
    return ((struct recorder_object *)object)->recorder;
}

void plumb_recorder_swallow(PyObject *object)
{
    struct recorder_object *self = (struct recorder_object *)object;
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    if (!PyErr_Occurred())
        return;
    PyErr_Fetch(&type, &value, &trace);
    if (self->errors++ == 0) {
        PyObject *text = value ? PyObject_Str(value) : NULL;
        const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
        (void)snprintf(self->trouble, sizeof self->trouble, "%s", utf8 ? utf8 : "an error");
        PyErr_Clear();
        Py_XDECREF(text);
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

static PyObject *done(PyObject *self)
{
    plumb_recorder_swallow(self);
    Py_RETURN_NONE;
}

/* ---- open and close ------------------------------------------------------------------------- */

static PyObject *raise_status(const struct plumb_error *error)
{
    PyErr_SetString(error->status == PLUMB_INVALID ? PyExc_ValueError : PyExc_OSError,
                    error->message);
    return NULL;
}

static PyObject *recorder_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {
        "path",  "rank",  "world_size",   "framework",      "command_line", "level", "save",
        "steps", "ranks", "memory_limit", "wait_when_full", "flight_slots", NULL};
    struct plumb_recorder_options options = {0};
    const char *level = "op", *save = "stats";
    int wait = 0;
    unsigned long long limit = 0, slots = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|iisssszzKpK", (char **)(uintptr_t)names,
                                     &options.path, &options.rank, &options.world_size,
                                     &options.framework, &options.command_line, &level, &save,
                                     &options.steps, &options.ranks, &limit, &wait, &slots))
        return NULL;
    if (!plumb_level_from_name(level, &options.level) ||
        !plumb_save_from_name(save, &options.save))
        return PyErr_Format(PyExc_ValueError, "no level %s or no kind of saving %s", level,
                            save);
    options.memory_limit = limit;
    options.wait_when_full = wait != 0;
    options.flight_slots = (size_t)slots;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct recorder_object *self = (struct recorder_object *)allocate(type, 0);
    if (!self)
        return NULL;
    struct plumb_error error;
    enum plumb_status status;
    Py_BEGIN_ALLOW_THREADS
    status = plumb_recorder_open(&options, &self->recorder, &error);
    Py_END_ALLOW_THREADS
    if (status) {
        Py_DECREF(self);
        return raise_status(&error);
    }
    return (PyObject *)self;
}

static PyObject *recorder_close(PyObject *object, PyObject *args)
{
    struct recorder_object *self = (struct recorder_object *)object;
    struct plumb_recorder *recorder = self->recorder;
    const char *how = NULL;
    struct plumb_error error;
    enum plumb_status status;
    if (!PyArg_ParseTuple(args, "|z", &how))
        PyErr_Clear();
    self->recorder = NULL;
    Py_BEGIN_ALLOW_THREADS
    status = plumb_recorder_close(recorder, how, &error);
    Py_END_ALLOW_THREADS
    return status ? PyUnicode_FromString(error.message) : done(object);
}

static void recorder_dealloc(PyObject *object)
{
    struct recorder_object *self = (struct recorder_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    (void)plumb_recorder_close(self->recorder, NULL, NULL);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* ---- steps and places ----------------------------------------------------------------------- */

static PyObject *step_begin(PyObject *self, PyObject *args)
{
    long long step = 0;
    if (PyArg_ParseTuple(args, "L", &step))
        plumb_record_step_begin(plumb_recorder_of(self), step);
    return done(self);
}

static PyObject *step_end(PyObject *self, PyObject *unused)
{
    (void)unused;
    plumb_record_step_end(plumb_recorder_of(self));
    return done(self);
}

static PyObject *wants_tensors(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(plumb_record_wants_tensors(plumb_recorder_of(self)));
}

static PyObject *wants_spans(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(plumb_record_wants_spans(plumb_recorder_of(self)));
}

static PyObject *enter(PyObject *self, PyObject *args)
{
    int phase = 0, call = PLUMB_CALL_COUNTED;
    const char *module = "", *op = "";
    if (PyArg_ParseTuple(args, "iss|i", &phase, &module, &op, &call))
        plumb_record_enter(plumb_recorder_of(self), (enum plumb_phase)phase, module, op, call);
    return done(self);
}

static PyObject *called_at(PyObject *self, PyObject *number)
{
    plumb_record_called_at(plumb_recorder_of(self), (uint32_t)PyLong_AsUnsignedLong(number));
    return done(self);
}

static PyObject *leave(PyObject *self, PyObject *unused)
{
    (void)unused;
    plumb_record_leave(plumb_recorder_of(self));
    return done(self);
}

/* ---- tensors -------------------------------------------------------------------------------- */

typedef void record_call(struct plumb_recorder *recorder, const char *slot,
                         enum plumb_dtype dtype, int rank, const int64_t *shape,
                         const void *values);

static bool record_values(struct plumb_recorder *recorder, const char *slot,
                          const struct plumb_view *view, record_call *record)
{
    const void *values = plumb_view_values(view);
    if (!values && view->count)
        return false;
    record(recorder, slot, view->dtype, view->rank, view->shape, values);
    return true;
}

static bool record_view(struct plumb_recorder *recorder, const char *slot,
                        const struct plumb_view *view, record_call *record)
{
    bool recorded;
    if (plumb_view_bytes(view) < RELEASE_LOCK_FROM)
        return record_values(recorder, slot, view, record);
    Py_BEGIN_ALLOW_THREADS
    recorded = record_values(recorder, slot, view, record);
    Py_END_ALLOW_THREADS
    return recorded;
}

/* False: its values cannot be seen from here. */
static bool take_with(struct plumb_recorder *recorder, const char *slot, PyObject *tensor,
                      record_call *record)
{
    struct plumb_view view;
    bool taken = false;
    if (plumb_view_of(tensor, &view) == PLUMB_VIEW_READY)
        taken = record_view(recorder, slot, &view, record);
    plumb_view_release(&view);
    return taken;
}

bool plumb_recorder_take(struct plumb_recorder *recorder, const char *slot, PyObject *tensor)
{
    return !plumb_record_wants_tensors(recorder) ||
           take_with(recorder, slot, tensor, plumb_record_tensor);
}

static PyObject *tensor(PyObject *self, PyObject *args)
{
    const char *slot = NULL;
    PyObject *object = NULL;
    bool taken = false;
    if (PyArg_ParseTuple(args, "sO", &slot, &object))
        taken = plumb_recorder_take(plumb_recorder_of(self), slot, object);
    plumb_recorder_swallow(self);
    return PyBool_FromLong(taken);
}

static PyObject *fingerprint(PyObject *self, PyObject *args)
{
    const char *slot = NULL;
    PyObject *object = NULL;
    bool taken = false;
    struct plumb_recorder *recorder = plumb_recorder_of(self);
    if (PyArg_ParseTuple(args, "sO", &slot, &object))
        taken = !plumb_record_wants_spans(recorder) ||
                take_with(recorder, slot, object, plumb_record_fingerprint);
    plumb_recorder_swallow(self);
    return PyBool_FromLong(taken);
}

static PyObject *tensor_at(PyObject *self, PyObject *args)
{
    const char *slot = NULL, *name = NULL;
    unsigned long long address = 0;
    PyObject *shape = NULL, *strides = Py_None;
    enum plumb_dtype dtype;
    struct plumb_view view;
    int64_t sizes[2][PLUMB_MAX_RANK];
    bool taken = false;
    if (PyArg_ParseTuple(args, "ssKO|O", &slot, &name, &address, &shape, &strides) &&
        plumb_dtype_from_name(name, &dtype)) {
        const bool strided = strides != Py_None;
        const int rank = plumb_view_numbers(shape, sizes[0]);
        if (rank >= 0 && (!strided || plumb_view_numbers(strides, sizes[1]) == rank) &&
            plumb_view_at(&view, dtype, (const void *)(uintptr_t)address, rank, sizes[0],
                          strided ? sizes[1] : NULL) == PLUMB_VIEW_READY)
            taken = record_view(plumb_recorder_of(self), slot, &view, plumb_record_tensor);
    }
    plumb_recorder_swallow(self);
    return PyBool_FromLong(taken);
}

/* ---- numbers, times, words ------------------------------------------------------------------ */

static PyObject *series(PyObject *self, PyObject *args)
{
    const char *name = NULL;
    long long step = 0;
    double value = 0;
    if (PyArg_ParseTuple(args, "sLd", &name, &step, &value))
        plumb_record_series(plumb_recorder_of(self), name, step, value);
    return done(self);
}

static PyObject *span(PyObject *self, PyObject *args)
{
    const char *track = NULL, *name = NULL;
    long long begin = 0, end = 0;
    if (PyArg_ParseTuple(args, "ssLL", &track, &name, &begin, &end))
        plumb_record_span(plumb_recorder_of(self), track, name, begin, end);
    return done(self);
}

static PyObject *counter(PyObject *self, PyObject *args)
{
    const char *name = NULL;
    long long time = 0;
    double value = 0;
    if (PyArg_ParseTuple(args, "sLd", &name, &time, &value))
        plumb_record_counter(plumb_recorder_of(self), name, time, value);
    return done(self);
}

static PyObject *config(PyObject *self, PyObject *args)
{
    const char *key = NULL, *json = NULL;
    if (PyArg_ParseTuple(args, "ss", &key, &json))
        plumb_record_config(plumb_recorder_of(self), key, json);
    return done(self);
}

static PyObject *collective(PyObject *self, PyObject *args)
{
    struct plumb_collective row = {0};
    long long sequence = 0, begin = 0, end = 0;
    unsigned long long bytes = 0;
    if (PyArg_ParseTuple(args, "ssLKLL", &row.group, &row.name, &sequence, &bytes, &begin,
                         &end)) {
        row.sequence = sequence;
        row.bytes = bytes;
        row.begin_ns = begin;
        row.end_ns = end;
        plumb_record_collective(plumb_recorder_of(self), &row);
    }
    return done(self);
}

/* ---- how it is going ------------------------------------------------------------------------ */

static PyObject *message(PyObject *object, PyObject *unused)
{
    struct recorder_object *self = (struct recorder_object *)object;
    const char *text = plumb_recorder_message(self->recorder);
    (void)unused;
    return text ? PyUnicode_FromString(text) : done(object);
}

static PyObject *dropped(PyObject *self, PyObject *unused)
{
    struct plumb_dropped counts;
    (void)unused;
    plumb_recorder_dropped(plumb_recorder_of(self), &counts);
    return Py_BuildValue("{sKsKsKsK}", "values", (unsigned long long)counts.values, "tensors",
                         (unsigned long long)counts.tensors, "spans",
                         (unsigned long long)counts.spans, "counters",
                         (unsigned long long)counts.counters);
}

static PyObject *errors(PyObject *object, PyObject *unused)
{
    struct recorder_object *self = (struct recorder_object *)object;
    (void)unused;
    return Py_BuildValue("Ks", self->errors, self->trouble);
}

static PyMethodDef methods[] = {
    {"step_begin", step_begin, METH_VARARGS, "step_begin(step)"},
    {"step_end", step_end, METH_NOARGS, "step_end()"},
    {"wants_tensors", wants_tensors, METH_NOARGS, "Are tensors recorded at this step?"},
    {"wants_spans", wants_spans, METH_NOARGS, "Are spans and counters recorded now?"},
    {"enter", enter, METH_VARARGS, "enter(phase, module, op, call=-1)"},
    {"called_at", called_at, METH_O, "called_at(number of stack_now()) of what was entered"},
    {"leave", leave, METH_NOARGS, "leave()"},
    {"tensor", tensor, METH_VARARGS, "tensor(slot, tensor) -> was it taken?"},
    {"fingerprint", fingerprint, METH_VARARGS,
     "fingerprint(slot, tensor) -> was it taken? At every level"},
    {"tensor_at", tensor_at, METH_VARARGS,
     "tensor_at(slot, dtype, address, shape, strides=None) -> was it taken?"},
    {"series", series, METH_VARARGS, "series(name, step, value)"},
    {"span", span, METH_VARARGS, "span(track, name, begin_ns, end_ns)"},
    {"counter", counter, METH_VARARGS, "counter(name, time_ns, value)"},
    {"config", config, METH_VARARGS, "config(key, json)"},
    {"collective", collective, METH_VARARGS,
     "collective(group, name, sequence, bytes, begin_ns, end_ns)"},
    {"message", message, METH_NOARGS, "Why the capture ended, or None"},
    {"dropped", dropped, METH_NOARGS, "What did not fit, by kind"},
    {"errors", errors, METH_NOARGS, "(how many calls made no sense, what the first was)"},
    {"close", recorder_close, METH_VARARGS,
     "close(how=None) -> why it had ended early, or None"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void *)(uintptr_t) "Writes what happens in a training process to a directory."},
    {Py_tp_new, (void *)recorder_new},
    {Py_tp_dealloc, (void *)recorder_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "plumb._plumb.Recorder",
    .basicsize = sizeof(struct recorder_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

bool plumb_recorder_type_add(PyObject *module)
{
    recorder_type = PyType_FromSpec(&spec);
    if (!recorder_type)
        return false;
    Py_INCREF(recorder_type);
    if (PyModule_AddObject(module, "Recorder", recorder_type)) {
        Py_DECREF(recorder_type);
        return false;
    }
    return true;
}
