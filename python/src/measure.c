/*
 * measure.c - numbers about tensors for the always-on level: the norm of all gradients, whether all
 * of it is finite, fingerprints. One call for a list, because a call a tensor from Python
 * would cost more than the numbers. What operators have recorded in this step is not looked at again.
 */
#include "parts.h"
#include "tensor_view.h"
#include "torch_ops.h"
#include "torch_team.h"

#include <math.h>

enum { RELEASE_LOCK_FROM = 1 << 16 }; /* bytes from which other threads may run meanwhile */

struct total {
    double squares;
    unsigned long long elements, nonfinite, unseen;
};

static bool measure_view(const struct plumb_view *view, struct plumb_summary *summary)
{
    const void *values = plumb_view_values(view);
    if (values)
        plumb_values_summarize_by(plumb_torch_team(plumb_view_bytes(view)), view->dtype, values,
                                  (size_t)view->count,
                                  PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_QUICK, summary);
    return values;
}

static void add_view(const struct plumb_view *view, struct total *total)
{
    struct plumb_summary summary = {.fingerprint = 0};
    bool seen;
    if (plumb_op_recall(view, &summary.stats)) {
        seen = true;
    } else if (plumb_view_bytes(view) < RELEASE_LOCK_FROM) {
        seen = measure_view(view, &summary);
    } else {
        Py_BEGIN_ALLOW_THREADS
        seen = measure_view(view, &summary);
        Py_END_ALLOW_THREADS
    }
    if (!seen) {
        total->unseen++;
        return;
    }
    const struct plumb_stats stats = summary.stats;
    if (isfinite(stats.l2))
        total->squares += stats.l2 * stats.l2;
    total->elements += stats.count;
    total->nonfinite += stats.nan + stats.pos_inf + stats.neg_inf;
}

static PyObject *norm(PyObject *self, PyObject *tensors)
{
    struct total total = {0};
    (void)self;
    const Py_ssize_t count = PySequence_Size(tensors);
    if (count < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *tensor = PySequence_GetItem(tensors, i);
        struct plumb_view view;
        if (!tensor)
            return NULL;
        if (tensor != Py_None) {
            if (plumb_view_of(tensor, &view) != PLUMB_VIEW_READY)
                total.unseen++;
            else if (view.count)
                add_view(&view, &total);
            plumb_view_release(&view);
        }
        Py_DECREF(tensor);
    }
    const double size = total.nonfinite ? (double)NAN : sqrt(total.squares);
    return Py_BuildValue("dKKK", size, total.elements, total.nonfinite, total.unseen);
}

static PyObject *fingerprint(PyObject *self, PyObject *tensor)
{
    struct plumb_view view;
    uint64_t print = 0;
    const void *values = NULL;
    (void)self;
    const bool ready = plumb_view_of(tensor, &view) == PLUMB_VIEW_READY;
    if (ready) {
        Py_BEGIN_ALLOW_THREADS
        values = view.count ? plumb_view_values(&view) : "";
        if (values)
            print = plumb_values_fingerprint(view.dtype, values, (size_t)view.count);
        Py_END_ALLOW_THREADS
    }
    plumb_view_release(&view);
    if (!ready || !values)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(print);
}

/* None if it is not one number in the host's memory. */
static PyObject *number(PyObject *self, PyObject *tensor)
{
    struct plumb_view view;
    double value = 0;
    (void)self;
    const bool found = plumb_view_of(tensor, &view) == PLUMB_VIEW_READY && view.count == 1 &&
                       !plumb_dtype_is_complex(view.dtype) &&
                       plumb_convert_values(view.dtype, view.data, PLUMB_F64, &value, 1,
                                            PLUMB_ROUND_NEAREST_EVEN, NULL) == PLUMB_OK;
    plumb_view_release(&view);
    if (!found)
        Py_RETURN_NONE;
    return PyFloat_FromDouble(value);
}

static PyObject *is_visible(PyObject *self, PyObject *tensor)
{
    struct plumb_view view;
    (void)self;
    const enum plumb_view_state state = plumb_view_of(tensor, &view);
    plumb_view_release(&view);
    return PyBool_FromLong(state == PLUMB_VIEW_READY);
}

static PyMethodDef functions[] = {
    {"norm", norm, METH_O,
     "norm([tensor or None, ...]) -> (L2 of all, elements, not finite, tensors not seen)"},
    {"fingerprint", fingerprint, METH_O, "fingerprint(tensor) -> 64 bits, or None"},
    {"number", number, METH_O,
     "number(tensor) -> float; None if it is not one number in the host's memory"},
    {"is_visible", is_visible, METH_O, "Are the values of this tensor in the host's memory?"},
    {NULL, NULL, 0, NULL},
};

bool plumb_measure_add(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
