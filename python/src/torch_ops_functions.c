/* torch_ops_functions.c - what Python calls to record operators; plumb/torch_ops.py has the order. */
#include "parts.h"
#include "torch_ops.h"

#include "recorder_type.h"
#include "tensor_view.h"
#include "torch_layout.h"
#include "torch_modules.h"

#include <pthread.h>

static PyObject *text_or_none(const char *text)
{
    if (text)
        return PyUnicode_FromString(text);
    Py_RETURN_NONE;
}

static PyObject *load(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return text_or_none(plumb_torch_ops_load());
}

static PyObject *probe_begin(PyObject *self, PyObject *arguments)
{
    PyObject *one = NULL, *two = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OO", &one, &two))
        return NULL;
    return PyBool_FromLong(plumb_torch_layout_begin(plumb_torch_ops_symbols(), one, two));
}

static PyObject *probe_expect(PyObject *self, PyObject *arguments)
{
    int stage = 0;
    long long sequence = 0;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "iL", &stage, &sequence))
        return NULL;
    plumb_torch_layout_expect(stage, sequence);
    Py_RETURN_NONE;
}

static PyObject *probe_finish(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return text_or_none(plumb_torch_layout_finish(plumb_torch_ops_layout()));
}

static PyObject *table(PyObject *self, PyObject *list)
{
    (void)self;
    if (!plumb_op_names_add(list))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *open_records(PyObject *self, PyObject *arguments)
{
    PyObject *recorder = NULL;
    const char *pattern = NULL, *name = NULL;
    enum plumb_save save = PLUMB_SAVE_STATS;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "Ozs", &recorder, &pattern, &name))
        return NULL;
    if (!plumb_save_from_name(name, &save)) {
        PyErr_Format(PyExc_ValueError, "no kind of saving '%s'", name);
        return NULL;
    }
    plumb_op_records_open(plumb_recorder_of(recorder), pattern, save);
    Py_RETURN_NONE;
}

static PyObject *start(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    plumb_op_records_forget();
    return PyBool_FromLong(plumb_torch_ops_start());
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    plumb_torch_ops_stop();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *next_step(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    plumb_op_records_next_step();
    Py_RETURN_NONE;
}

static PyObject *forget(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    plumb_op_records_forget();
    Py_RETURN_NONE;
}

static PyObject *optimizer_runs(PyObject *self, PyObject *flag)
{
    (void)self;
    plumb_torch_ops_phase(PyObject_IsTrue(flag) == 1);
    Py_RETURN_NONE;
}

/* (phase, module, op, call, slot, dtype, shape, fingerprint, twelve statistics): computed elsewhere. */
static PyObject *known_elsewhere(PyObject *self, PyObject *arguments)
{
    const char *module = NULL, *op = NULL, *slot = NULL, *type = NULL;
    PyObject *shape_tuple = NULL;
    int phase = 0, call = 0;
    unsigned long long print = 0;
    double n[12];
    int64_t shape[PLUMB_MAX_RANK];
    enum plumb_dtype dtype = PLUMB_F32;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "ississOK(dddddddddddd)", &phase, &module, &op, &call,
                          &slot, &type, &shape_tuple, &print, &n[0], &n[1], &n[2], &n[3], &n[4],
                          &n[5], &n[6], &n[7], &n[8], &n[9], &n[10], &n[11]))
        return NULL;
    const int rank = plumb_view_numbers(shape_tuple, shape);
    if (rank < 0 || !plumb_dtype_from_name(type, &dtype) || phase < 0 ||
        phase >= PLUMB_PHASE_COUNT) {
        PyErr_SetString(PyExc_ValueError, "no such shape, type or phase");
        return NULL;
    }
    struct plumb_known known = {.known = true,
                                .has_stats = true,
                                .fingerprint = print,
                                .element = -1,
                                .stats = {.count = 1,
                                          .nan = (uint64_t)n[0],
                                          .pos_inf = (uint64_t)n[1],
                                          .neg_inf = (uint64_t)n[2],
                                          .zero = (uint64_t)n[3],
                                          .subnormal = (uint64_t)n[4],
                                          .at_max = (uint64_t)n[5],
                                          .min = n[6],
                                          .max = n[7],
                                          .mean = n[8],
                                          .std = n[9],
                                          .l2 = n[10],
                                          .abs_mean = n[11]}};
    for (int i = 0; i < rank; i++)
        known.stats.count *= (uint64_t)shape[i];
    plumb_op_record_known((enum plumb_phase)phase, module, op, call, slot, dtype, rank, shape,
                          &known);
    Py_RETURN_NONE;
}

static PyObject *counts(PyObject *self, PyObject *unused)
{
    struct plumb_op_counts now;
    (void)self;
    (void)unused;
    plumb_op_counts(&now);
    return Py_BuildValue(
        "{sKsKsKsKsKsK}", "operators", (unsigned long long)now.operators, "tensors",
        (unsigned long long)now.tensors, "referred", (unsigned long long)now.referred,
        "scanned_bytes", (unsigned long long)now.scanned_bytes, "foreign",
        (unsigned long long)now.foreign, "failed", (unsigned long long)now.failed);
}

static PyObject *seen(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return plumb_op_names_seen();
}

static PyObject *missed(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyLong_FromLong(plumb_op_names_missed());
}

static PyObject *expect_wrappers(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    plumb_torch_ops_expect_wrappers();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"ops_load", load, METH_NOARGS,
     "What is missing in this torch for the fast route, or None"},
    {"ops_probe_begin", probe_begin, METH_VARARGS,
     "Looks at what operators do with two tensors"},
    {"ops_probe_expect", probe_expect, METH_VARARGS, "Says which operator comes next"},
    {"ops_probe_finish", probe_finish, METH_NOARGS, "What was not found, or None"},
    {"ops_table", table, METH_O, "Adds operators"},
    {"ops_open", open_records, METH_VARARGS, "Recorder, pattern, what is saved"},
    {"ops_start", start, METH_NOARGS, "Records operators by the fast route from now on"},
    {"ops_stop", stop, METH_NOARGS, "Ends that"},
    {"ops_next_step", next_step, METH_NOARGS,
     "Of what was seen in the last step only weights and an optimizer's state are still known"},
    {"ops_forget", forget, METH_NOARGS, "Nothing of what was seen is known any more"},
    {"ops_optimizer", optimizer_runs, METH_O, "Whether the optimizer's step runs"},
    {"ops_known", known_elsewhere, METH_VARARGS, "Records a tensor whose numbers are known"},
    {"ops_counts", counts, METH_NOARGS, "What was recorded since the beginning"},
    {"ops_seen", seen, METH_NOARGS, "Operators that were seen since the last call"},
    {"ops_expect_wrappers", expect_wrappers, METH_NOARGS,
     "There are tensors that wrap others: what happens to those is recorded"},
    {"ops_missed", missed, METH_NOARGS, "How many were not in the table since the last call"},
    {"module_enter", PLUMB_METHOD(plumb_module_enter), METH_FASTCALL, "A forward pre-hook"},
    {"module_leave", PLUMB_METHOD(plumb_module_leave), METH_FASTCALL, "A forward hook"},
    {"module_resolver", plumb_module_resolver, METH_O, "Sets what names modules"},
    {NULL, NULL, 0, NULL},
};

bool plumb_torch_ops_add(PyObject *module)
{
    (void)pthread_atfork(NULL, NULL, plumb_torch_ops_after_fork);
    return PyModule_AddFunctions(module, functions) == 0;
}
