/*
 * torch_dispatch.c - the route that works everywhere: a dispatch mode whose handler is in C.
 *
 * torch wants `__torch_dispatch__` bound to the mode object, so this is a base class that Python mixes with
 * TorchDispatchMode. It sees the calling thread only, costs five microseconds an operator, and makes the engine
 * add gradients out of place; the values are the same.
 */
#include "parts.h"
#include "torch_ops.h"

#include "call_stacks.h"
#include "seen_values.h"
#include "tensor_view.h"
#include "torch_modules.h"
#include "torch_reference.h"
#include "torch_symbols.h"

#include <stdint.h>

enum { ENTRIES = 1 << 12, DEEPEST_LIST = 3, KINDS = 16 };

/* An OpOverload, which lives as long as the process, and what to call instead. */
struct entry {
    PyObject *function, *call;
    struct plumb_op *op; /* NULL: not in the table */
};

static struct entry entries[ENTRIES];
static int entry_count;
/* torch._C functions: the number the next node gets, the node and the graph that run now. And the same without
 * Python, where torch has it. */
static PyObject *next_number, *current_node, *current_graph;
static struct plumb_torch_graph graph;

/* Types that were looked at, kept for good, and whether they are tensors. */
static struct {
    PyTypeObject *type;
    bool tensors;
} kinds[KINDS];
static int kind_count;

enum side { INPUT, WRITTEN, OUTPUT };

/* ---- operators ------------------------------------------------------------------------------ */

static struct plumb_op *op_of(PyObject *function)
{
    PyObject *schema = PyObject_GetAttrString(function, "_schema");
    PyObject *name = schema ? PyObject_GetAttrString(schema, "name") : NULL;
    PyObject *overload = name ? PyObject_GetAttrString(schema, "overload_name") : NULL;
    PyObject *name_bytes = overload ? PyUnicode_AsUTF8String(name) : NULL;
    PyObject *overload_bytes = name_bytes ? PyUnicode_AsUTF8String(overload) : NULL;
    struct plumb_op *op = NULL;
    if (overload_bytes)
        op = plumb_op_find(PyBytes_AsString(name_bytes), PyBytes_AsString(overload_bytes));
    Py_XDECREF(overload_bytes);
    Py_XDECREF(name_bytes);
    Py_XDECREF(overload);
    Py_XDECREF(name);
    Py_XDECREF(schema);
    PyErr_Clear();
    return op;
}

/* Its entry, made if need be; NULL: there is no room. */
static struct entry *find_entry(PyObject *function)
{
    size_t at = ((uint64_t)(uintptr_t)function >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52;
    while (entries[at].function && entries[at].function != function)
        at = (at + 1) & (ENTRIES - 1);
    struct entry *entry = &entries[at];
    if (entry->function && !entry->op)
        entry->op = op_of(function); /* that of a library which the table knows by now */
    if (entry->function || entry_count >= ENTRIES / 2)
        return entry->function ? entry : NULL;
    PyObject *call = PyObject_GetAttrString(function, "_op");
    if (!call) {
        PyErr_Clear();
        call = function;
        Py_INCREF(call);
    }
    Py_INCREF(function);
    *entry = (struct entry){.function = function, .call = call, .op = op_of(function)};
    entry_count++;
    return entry;
}

static int64_t ask(PyObject *function, int64_t otherwise)
{
    PyObject *answer = function ? PyObject_CallFunctionObjArgs(function, NULL) : NULL;
    const int64_t number = answer ? PyLong_AsLongLong(answer) : otherwise;
    Py_XDECREF(answer);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return otherwise;
    }
    return number;
}

static bool runs_backward(void)
{
    return (graph.task ? graph.task() : ask(current_graph, -1)) != -1;
}

static int64_t number_of_next(void)
{
    return graph.next_number ? (int64_t)graph.next_number() : ask(next_number, 0);
}

/* The number of the autograd node that runs; -1: none. */
static int64_t node_number(void)
{
    static PyObject *name;
    if (!name)
        name = PyUnicode_InternFromString("_sequence_nr");
    PyObject *node = current_node ? PyObject_CallFunctionObjArgs(current_node, NULL) : NULL;
    PyObject *method = node && node != Py_None && name ? PyObject_GetAttr(node, name) : NULL;
    const int64_t number = ask(method, -1);
    Py_XDECREF(method);
    Py_XDECREF(node);
    PyErr_Clear();
    return number;
}

/* `shown`: it matters which module it belongs to, and that is dear to find out in a pass backward. */
static struct plumb_op_context find_context(const struct plumb_op *op, bool shown)
{
    const struct plumb_module_state modules = plumb_module_current();
    struct plumb_op_context context = {
        .module = modules.now.module,
        .stack = plumb_torch_ops_in_optimizer() ? plumb_torch_ops_optimizer_stack()
                                                : modules.now.stack,
        .phase = plumb_torch_ops_in_optimizer() ? PLUMB_PHASE_OPTIMIZER : PLUMB_PHASE_FORWARD};
    if (runs_backward()) {
        context.phase = PLUMB_PHASE_BACKWARD;
        context.recomputed = modules.depth > 0;
        if (!context.recomputed && shown) {
            const struct plumb_maker maker = plumb_module_that_made(node_number());
            context.module = maker.module;
            context.stack = maker.stack;
        }
    } else {
        if (context.phase == PLUMB_PHASE_FORWARD && shown)
            context.stack = plumb_call_stack(context.stack);
        /* The node of this operator exists already: its number is the last one given out. */
        const int64_t made = number_of_next() - 1;
        if (made >= 0 && !plumb_module_is_known(made))
            plumb_module_made(made, (struct plumb_maker){context.module, context.stack});
    }
    if (op->flags & PLUMB_OP_COLLECTIVE)
        context.phase = PLUMB_PHASE_COLLECTIVE;
    return context;
}

/* ---- tensors -------------------------------------------------------------------------------- */

/* Views share memory that cannot be told from here: after writing to one, nothing is believed. */
static void forget_written(PyObject *object, const struct plumb_op_tensor *tensor)
{
    PyObject *base = PyObject_GetAttrString(object, "_base");
    if (!base || base != Py_None)
        plumb_seen_forget_all();
    else
        plumb_seen_forget(tensor);
    Py_XDECREF(base);
    PyErr_Clear();
}

static void take_tensor(struct plumb_op_call *call, PyObject *object, enum side side)
{
    struct plumb_view view;
    struct plumb_op_tensor tensor;
    const enum plumb_view_state state = plumb_view_of(object, &view);
    if (state == PLUMB_VIEW_READY && plumb_op_tensor_from_view(&view, &tensor)) {
        if (side == WRITTEN)
            forget_written(object, &tensor);
        else if (side == OUTPUT)
            plumb_op_output(call, &tensor);
        else
            plumb_op_input(call, &tensor);
    } else if (side != WRITTEN) {
        plumb_op_skip(call, side == OUTPUT,
                      state == PLUMB_VIEW_READY ? PLUMB_LOOK_NOTHING : PLUMB_LOOK_FOREIGN);
    }
    plumb_view_release(&view);
}

static bool is_tensor(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < kind_count; i++)
        if (kinds[i].type == type)
            return kinds[i].tensors;
    const bool tensors = PyObject_HasAttrString((PyObject *)type, "untyped_storage");
    if (kind_count < KINDS) {
        Py_INCREF(type);
        kinds[kind_count].type = type;
        kinds[kind_count++].tensors = tensors;
    }
    return tensors;
}

static void walk(struct plumb_op_call *call, PyObject *object, enum side side, int depth)
{
    const bool tuple = PyTuple_Check(object);
    if (tuple || PyList_Check(object)) {
        const Py_ssize_t count = tuple ? PyTuple_Size(object) : PyList_Size(object);
        for (Py_ssize_t i = 0; i < count && depth < DEEPEST_LIST; i++)
            walk(call, tuple ? PyTuple_GetItem(object, i) : PyList_GetItem(object, i), side,
                 depth + 1);
    } else if (object != Py_None && !PyLong_Check(object) && !PyFloat_Check(object) &&
               is_tensor(object)) {
        take_tensor(call, object, side);
    }
}

/* "out", "out0" ...: a place for a result. */
static bool is_out(PyObject *key)
{
    PyObject *prefix = PyUnicode_FromString("out");
    const bool found = prefix && PyUnicode_Tailmatch(key, prefix, 0, PY_SSIZE_T_MAX, -1) == 1;
    Py_XDECREF(prefix);
    PyErr_Clear();
    return found;
}

static void walk_keywords(struct plumb_op_call *call, PyObject *keywords)
{
    PyObject *key = NULL, *value = NULL;
    Py_ssize_t at = 0;
    while (keywords && PyDict_Next(keywords, &at, &key, &value))
        if (!(call->op->flags & PLUMB_OP_OUT) || !is_out(key))
            walk(call, value, INPUT, 0);
}

/* What an operator changed and does not return. */
static void walk_written(struct plumb_op_call *call, PyObject *arguments, bool record)
{
    const Py_ssize_t count = PyTuple_Size(arguments);
    for (Py_ssize_t i = 0; i < count && i < 64; i++)
        if (call->op->writes >> i & 1) {
            walk(call, PyTuple_GetItem(arguments, i), WRITTEN, 0);
            if (record)
                walk(call, PyTuple_GetItem(arguments, i), OUTPUT, 0);
        }
}

static PyObject *run_recorded(struct entry *entry, PyObject *arguments, PyObject *keywords)
{
    struct plumb_op_call call;
    PyObject *expected = NULL, *result = NULL;
    plumb_op_enter(&call, entry->op, find_context(entry->op, plumb_op_is_recorded(entry->op)));
    if (call.recorded) {
        walk(&call, arguments, INPUT, 0);
        walk_keywords(&call, keywords);
    }
    if (!call.recorded ||
        plumb_reference_expect(entry->function, arguments, keywords, &expected))
        result = PyObject_Call(entry->call, arguments, keywords);
    if (result) {
        walk_written(&call, arguments, result == Py_None);
        walk(&call, result, OUTPUT, 0);
    }
    if (result && expected && !plumb_reference_compare(call.recorder, expected, result)) {
        Py_DECREF(result);
        result = NULL;
    }
    Py_XDECREF(expected);
    plumb_op_leave(&call);
    return result;
}

static PyObject *dispatch(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self;
    if (count < 3) {
        PyErr_SetString(PyExc_TypeError,
                        "__torch_dispatch__ wants a function and its arguments");
        return NULL;
    }
    PyObject *keywords = count > 3 && arguments[3] != Py_None ? arguments[3] : NULL;
    struct entry *entry = find_entry(arguments[0]);
    if (!entry || !entry->op)
        return PyObject_Call(entry ? entry->call : arguments[0], arguments[2], keywords);
    return run_recorded(entry, arguments[2], keywords);
}

/* ---- the base class ------------------------------------------------------------------------- */

static void replace(PyObject **kept, PyObject *function)
{
    Py_XDECREF(*kept);
    *kept = function == Py_None ? NULL : function;
    Py_XINCREF(*kept);
}

/* (next number, current node, current graph): functions of torch._C, or None where it has none. */
static PyObject *set_functions(PyObject *self, PyObject *arguments)
{
    PyObject *number = NULL, *node = NULL, *task = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OOO", &number, &node, &task))
        return NULL;
    replace(&next_number, number);
    replace(&current_node, node);
    replace(&current_graph, task);
    plumb_torch_graph_load(&graph);
    Py_RETURN_NONE;
}

/* (phase, module path) of what runs now in this thread. */
static PyObject *context_now(PyObject *self, PyObject *unused)
{
    static const struct plumb_op any = {.flags = 0};
    (void)self;
    (void)unused;
    const struct plumb_op_context context = find_context(&any, true);
    return Py_BuildValue("(is)", (int)context.phase, plumb_module_path(context.module));
}

static PyMethodDef functions[] = {
    {"dispatch_context", context_now, METH_NOARGS, "(phase, module) of what runs now"},
    {"dispatch_functions", set_functions, METH_VARARGS, "What the mode asks torch"},
    {"dispatch_reference", plumb_reference_set, METH_VARARGS,
     "(expect, compare): functions that compute each result a second time, or None"},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods[] = {
    {"__torch_dispatch__", PLUMB_METHOD(dispatch), METH_FASTCALL,
     "Runs and records an operator"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, NULL}};

static PyType_Spec spec = {
    .name = "plumb._plumb.DispatchBase",
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

bool plumb_torch_dispatch_add(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    if (!type || PyModule_AddObject(module, "DispatchBase", type) < 0) {
        Py_XDECREF(type);
        return false;
    }
    return PyModule_AddFunctions(module, functions) == 0;
}
