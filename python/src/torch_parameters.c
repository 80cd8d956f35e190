/*
 * torch_parameters.c - `Parameters`: those of one optimizer, their gradients and what it keeps of them, as
 * records. Looked up once and walked here: an update shows hundreds of them.
 */
#include "parts.h"
#include "torch_ops.h"

#include "tensor_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_SLOT = 256 };

struct row {
    PyObject *parameter;
    struct plumb_place *gradient, *update; /* NULL: not wanted */
    char *slot;                            /* of its gradient: "grad:weight" */
};

struct parameters_object {
    PyObject ob_base;
    Py_ssize_t count;
    struct row *rows;
    PyObject *tensor_type, *state_slots;
};

/* Tensors one after the other at the same place are one visit. */
struct walk {
    struct plumb_place *visited;
    uint32_t stack;
};

static PyObject *grad_name;

/* ---- showing -------------------------------------------------------------------------------- */

static void show(struct walk *walk, struct plumb_place *place, const char *slot,
                 const struct plumb_view *view)
{
    struct plumb_op_tensor tensor;
    if (place != walk->visited) {
        if (walk->visited)
            plumb_op_end_visit();
        plumb_op_visit(place, walk->stack);
        walk->visited = place;
    }
    if (plumb_op_tensor_from_view(view, &tensor))
        plumb_op_show(slot, &tensor);
}

static void show_object(struct walk *walk, struct plumb_place *place, const char *slot,
                        PyObject *object)
{
    struct plumb_view view;
    if (plumb_view_of(object, &view) == PLUMB_VIEW_READY)
        show(walk, place, slot, &view);
    plumb_view_release(&view);
}

static PyObject *finish(const struct walk *walk)
{
    if (walk->visited)
        plumb_op_end_visit();
    Py_RETURN_NONE;
}

/* A new reference; NULL: it has none. */
static PyObject *gradient_of(const struct row *row)
{
    PyObject *gradient = PyObject_GetAttr(row->parameter, grad_name);
    if (!gradient)
        PyErr_Clear();
    if (gradient != Py_None)
        return gradient;
    Py_DECREF(gradient);
    return NULL;
}

static PyObject *gradients(PyObject *object, PyObject *unused)
{
    const struct parameters_object *self = (struct parameters_object *)object;
    struct walk walk = {.stack = 0};
    (void)unused;
    for (Py_ssize_t i = 0; i < self->count && plumb_op_is_open(); i++) {
        const struct row *row = &self->rows[i];
        PyObject *gradient = row->gradient ? gradient_of(row) : NULL;
        if (gradient)
            show_object(&walk, row->gradient, row->slot, gradient);
        Py_XDECREF(gradient);
    }
    return finish(&walk);
}

static PyObject *given(PyObject *object, PyObject *stack)
{
    const struct parameters_object *self = (struct parameters_object *)object;
    struct walk walk = {.stack = (uint32_t)PyLong_AsUnsignedLong(stack)};
    if (PyErr_Occurred())
        return NULL;
    for (Py_ssize_t i = 0; i < self->count && plumb_op_is_open(); i++) {
        const struct row *row = &self->rows[i];
        PyObject *gradient = row->update ? gradient_of(row) : NULL;
        if (gradient)
            show_object(&walk, row->update, "grad", gradient);
        Py_XDECREF(gradient);
    }
    return finish(&walk);
}

/* ---- what the optimizer keeps --------------------------------------------------------------- */

/* "moment1" of "exp_avg" as the table says, else "state:" and the key. */
static bool name_state(const struct parameters_object *self, PyObject *key,
                       char slot[LONGEST_SLOT])
{
    PyObject *known = PyDict_GetItemWithError(self->state_slots, key);
    PyObject *text = known ? known : key;
    const size_t lead = known ? 0 : strlen("state:");
    Py_ssize_t size = 0;
    const char *utf8 = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
    PyErr_Clear();
    if (!utf8 || lead + (size_t)size >= LONGEST_SLOT)
        return false;
    memcpy(slot, "state:", lead);
    memcpy(slot + lead, utf8, (size_t)size + 1);
    return true;
}

static void show_state(const struct parameters_object *self, struct walk *walk,
                       const struct row *row, PyObject *state)
{
    PyObject *key = NULL, *value = NULL;
    Py_ssize_t at = 0;
    while (PyDict_Next(state, &at, &key, &value)) {
        struct plumb_view view;
        char slot[LONGEST_SLOT];
        if (PyObject_IsInstance(value, self->tensor_type) != 1)
            continue;
        Py_INCREF(value);
        /* Numbers, as the count of steps, are no state that could differ in an element. */
        if (plumb_view_of(value, &view) == PLUMB_VIEW_READY && view.rank &&
            name_state(self, key, slot))
            show(walk, row->update, slot, &view);
        plumb_view_release(&view);
        Py_DECREF(value);
    }
    PyErr_Clear();
}

/* Borrowed; NULL: none. Optimizers keep states in the order of their parameters: the next one is nearly
 * always it, and the hash of a tensor is computed in Python. */
static PyObject *state_of(PyObject *states, Py_ssize_t *at, PyObject *parameter)
{
    PyObject *key = NULL, *state = NULL;
    Py_ssize_t next = *at;
    if (PyDict_Next(states, &next, &key, &state) && key == parameter)
        *at = next;
    else
        state = PyDict_GetItemWithError(states, parameter);
    PyErr_Clear();
    return state && PyDict_Check(state) ? state : NULL;
}

static PyObject *updated(PyObject *object, PyObject *arguments)
{
    const struct parameters_object *self = (struct parameters_object *)object;
    PyObject *states = NULL;
    unsigned int stack = 0;
    if (!PyArg_ParseTuple(arguments, "O!I", &PyDict_Type, &states, &stack))
        return NULL;
    struct walk walk = {.stack = stack};
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; i < self->count && plumb_op_is_open(); i++) {
        const struct row *row = &self->rows[i];
        PyObject *state = state_of(states, &at, row->parameter);
        PyObject *gradient = row->update ? gradient_of(row) : NULL;
        if (gradient) {
            Py_XINCREF(state);
            show_object(&walk, row->update, "param", row->parameter);
            if (state)
                show_state(self, &walk, row, state);
            Py_XDECREF(state);
        }
        Py_XDECREF(gradient);
    }
    return finish(&walk);
}

/* ---- the type ------------------------------------------------------------------------------- */

static void release_rows(struct parameters_object *self)
{
    for (Py_ssize_t i = 0; i < self->count; i++) {
        Py_XDECREF(self->rows[i].parameter);
        free(self->rows[i].slot);
    }
    free(self->rows);
    Py_XDECREF(self->tensor_type);
    Py_XDECREF(self->state_slots);
}

/* (parameter, module, kind of module, its own name, its whole name or None: its update is not wanted) */
static bool fill_row(struct row *row, PyObject *tuple)
{
    const char *module = NULL, *kind = NULL, *own = NULL, *name = NULL;
    PyObject *parameter = NULL;
    if (!PyArg_ParseTuple(tuple, "Osssz", &parameter, &module, &kind, &own, &name))
        return false;
    const size_t size = strlen(own) + sizeof "grad:";
    row->slot = malloc(size);
    if (!row->slot) {
        PyErr_NoMemory();
        return false;
    }
    (void)snprintf(row->slot, size, "grad:%s", own);
    Py_INCREF(parameter);
    row->parameter = parameter;
    row->gradient = plumb_op_place(PLUMB_PHASE_BACKWARD, module, kind);
    row->update = name ? plumb_op_place(PLUMB_PHASE_OPTIMIZER, name, "update") : NULL;
    return true;
}

static PyObject *parameters_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *list = NULL, *tensor_type = NULL, *state_slots = NULL;
    (void)keywords;
    if (!PyArg_ParseTuple(arguments, "O!OO!", &PyList_Type, &list, &tensor_type, &PyDict_Type,
                          &state_slots))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct parameters_object *self = (struct parameters_object *)allocate(type, 0);
    if (!self)
        return NULL;
    Py_INCREF(tensor_type);
    Py_INCREF(state_slots);
    self->tensor_type = tensor_type;
    self->state_slots = state_slots;
    const Py_ssize_t count = PyList_Size(list);
    self->rows = calloc(count ? (size_t)count : 1, sizeof *self->rows);
    for (Py_ssize_t i = 0; self->rows && i < count; i++) {
        self->count = i + 1;
        if (!fill_row(&self->rows[i], PyList_GetItem(list, i))) {
            Py_DECREF(self);
            return NULL;
        }
    }
    if (self->rows)
        return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

static void parameters_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    release_rows((struct parameters_object *)object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"gradients", gradients, METH_NOARGS, "Shows them where backward made them"},
    {"given", given, METH_O, "given(stack): shows the gradients that an update gets"},
    {"updated", updated, METH_VARARGS,
     "updated(states, stack): shows the parameters and what the optimizer keeps of them"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void *)(uintptr_t) "Parameters([(parameter, module, kind, own name, name or None)], type "
                         "of tensors, {key of a state: slot})"},
    {Py_tp_new, (void *)parameters_new},
    {Py_tp_dealloc, (void *)parameters_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "plumb._plumb.Parameters",
    .basicsize = sizeof(struct parameters_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

bool plumb_torch_parameters_add(PyObject *module)
{
    grad_name = PyUnicode_InternFromString("grad");
    PyObject *type = grad_name ? PyType_FromSpec(&spec) : NULL;
    if (!type || PyModule_AddObject(module, "Parameters", type)) {
        Py_XDECREF(type);
        return false;
    }
    return true;
}
