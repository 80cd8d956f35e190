/*
 * snapshot.c - `Snapshot`: values of some tensors as they were, and how far they have moved since.
 *
 * The memory is kept from one use to the next: touching fresh pages would cost more than copying.
 */
#include "parts.h"
#include "tensor_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024 }; /* values that are subtracted at once */

struct snapshot_object {
    PyObject ob_base;
    char *bytes;
    size_t size;
};

/* Calls `visit` with each tensor of the list that can be read and its place in the memory. */
static bool each(PyObject *tensors,
                 void (*visit)(const struct plumb_view *view, size_t at, void *context),
                 void *context)
{
    size_t at = 0;
    const Py_ssize_t count = PySequence_Size(tensors);
    for (Py_ssize_t i = 0; i < count; i++) {
        struct plumb_view view;
        PyObject *tensor = PySequence_GetItem(tensors, i);
        if (!tensor)
            return false;
        if (plumb_view_of(tensor, &view) == PLUMB_VIEW_READY) {
            visit(&view, at, context);
            at += plumb_view_bytes(&view);
        }
        plumb_view_release(&view);
        Py_DECREF(tensor);
    }
    return count >= 0;
}

static void add_size(const struct plumb_view *view, size_t at, void *context)
{
    size_t *size = context;
    *size = at + plumb_view_bytes(view);
}

static void copy(const struct plumb_view *view, size_t at, void *context)
{
    const struct snapshot_object *self = context;
    Py_BEGIN_ALLOW_THREADS
    plumb_view_gather(view, self->bytes + at);
    Py_END_ALLOW_THREADS
}

static PyObject *take(PyObject *object, PyObject *tensors)
{
    struct snapshot_object *self = (struct snapshot_object *)object;
    size_t size = 0;
    if (!each(tensors, add_size, &size))
        return NULL;
    if (size > self->size) {
        char *larger = realloc(self->bytes, size);
        if (!larger)
            return PyErr_NoMemory();
        self->bytes = larger;
        self->size = size;
    }
    if (!each(tensors, copy, self))
        return NULL;
    Py_RETURN_NONE;
}

struct distance {
    const struct snapshot_object *snapshot;
    double moved, before; /* squares */
};

static double square_sum(const void *values, size_t count)
{
    struct plumb_summary summary;
    plumb_values_summarize(PLUMB_F32, values, count, PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_QUICK,
                           &summary);
    return isfinite(summary.stats.l2) ? summary.stats.l2 * summary.stats.l2 : 0;
}

/* The bytes may lie anywhere; a length that the compiler knows, so that it uses vectors. */
static inline void subtract(char *restrict from, const char *restrict after, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float old, new;
        memcpy(&old, from + i * sizeof old, sizeof old);
        memcpy(&new, after + i * sizeof new, sizeof new);
        new -= old;
        memcpy(from + i * sizeof new, &new, sizeof new);
    }
}

/* What nearly all parameters are, at a third of the cost of a comparison: the change takes the place of the values
 * before it, which are not needed again. */
static void compare_floats(char *before, const char *after, size_t count,
                           struct distance *distance)
{
    const size_t whole = count - count % BLOCK;
    distance->before += square_sum(before, count);
    for (size_t at = 0; at < whole; at += BLOCK)
        subtract(before + at * sizeof(float), after + at * sizeof(float), BLOCK);
    subtract(before + whole * sizeof(float), after + whole * sizeof(float), count - whole);
    distance->moved += square_sum(before, count);
}

static void compare_any(const struct plumb_view *view, const void *before, const void *after,
                        struct distance *distance)
{
    struct plumb_comparison comparison;
    plumb_values_compare(view->dtype, before, view->dtype, after, (size_t)view->count, 0, 0,
                         &comparison);
    if (comparison.finite) {
        distance->moved += comparison.rmse * comparison.rmse * (double)comparison.finite;
        distance->before += comparison.norm_a * comparison.norm_a;
    }
}

static void compare(const struct plumb_view *view, size_t at, void *context)
{
    struct distance *distance = context;
    char *before = distance->snapshot->bytes + at;
    const size_t count = (size_t)view->count;
    if (!count || at + plumb_view_bytes(view) > distance->snapshot->size)
        return;
    Py_BEGIN_ALLOW_THREADS
    const void *values = plumb_view_values(view);
    if (values && view->dtype == PLUMB_F32)
        compare_floats(before, values, count, distance);
    else if (values)
        compare_any(view, before, values, distance);
    Py_END_ALLOW_THREADS
}

static PyObject *moved(PyObject *object, PyObject *tensors)
{
    struct distance distance = {.snapshot = (struct snapshot_object *)object};
    if (!each(tensors, compare, &distance))
        return NULL;
    return Py_BuildValue("dd", sqrt(distance.moved), sqrt(distance.before));
}

static void snapshot_dealloc(PyObject *object)
{
    struct snapshot_object *self = (struct snapshot_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    free(self->bytes);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"take", take, METH_O, "take([tensor, ...]): copies their values"},
    {"moved", moved, METH_O,
     "moved([tensor, ...]) -> (L2 of the change since take, L2 before); the same list, once"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Values of some tensors, to see how far they move."},
    {Py_tp_dealloc, (void *)snapshot_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "plumb._plumb.Snapshot",
    .basicsize = sizeof(struct snapshot_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

bool plumb_snapshot_add(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    if (!type || PyModule_AddObject(module, "Snapshot", type)) {
        Py_XDECREF(type);
        return false;
    }
    return true;
}
