/* reading.c - what `plumb --json` prints about a file, a run or two files, without the process. */
#include "parts.h"

#include "plumb.h"

#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t size, capacity;
};

static bool append(void *context, const char *bytes, size_t size)
{
    struct text *text = context;
    if (text->size + size > text->capacity) {
        const size_t larger = (text->size + size) * 2;
        char *moved = realloc(text->bytes, larger);
        if (!moved)
            return false;
        text->bytes = moved;
        text->capacity = larger;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return true;
}

/* The text as a Python string, or the error as an exception. Frees the text. */
static PyObject *result(enum plumb_status status, const struct plumb_error *error,
                        struct text *text)
{
    PyObject *string = NULL;
    if (!status)
        string = PyUnicode_FromStringAndSize(text->bytes, (Py_ssize_t)text->size);
    else
        PyErr_SetString(status == PLUMB_IO          ? PyExc_OSError
                        : status == PLUMB_NO_MEMORY ? PyExc_MemoryError
                                                    : PyExc_ValueError,
                        error->message);
    free(text->bytes);
    return string;
}

static PyObject *is_run(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "s", &path))
        return NULL;
    return PyBool_FromLong(plumb_run_is(path));
}

static PyObject *run_json(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    PyObject *step = Py_None;
    struct plumb_run_report_options options = {.json = true, .rank = -1};
    struct text text = {0};
    const struct plumb_sink sink = {append, &text};
    struct plumb_error error;
    struct plumb_run *run = NULL;
    enum plumb_status status;
    (void)self;
    if (!PyArg_ParseTuple(args, "s|zzOi", &path, &options.series, &options.op, &step,
                          &options.rank))
        return NULL;
    options.one_step = step != Py_None;
    if (options.one_step)
        options.step = PyLong_AsLongLong(step);
    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = plumb_run_open(path, &run, &error);
    if (!status)
        status = plumb_report_run(run, &options, &sink, &error);
    plumb_run_close(run);
    Py_END_ALLOW_THREADS
    return result(status, &error, &text);
}

/* A list of (rank, key, JSON value). */
static PyObject *list_configuration(const struct plumb_run *run)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *row = plumb_run_config(run, i);
        PyObject *item = Py_BuildValue("iss", row->rank, row->key, row->json);
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *run_config(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    struct plumb_error error;
    struct plumb_run *run = NULL;
    struct text none = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "s", &path))
        return NULL;
    const enum plumb_status status = plumb_run_open(path, &run, &error);
    PyObject *list = status ? result(status, &error, &none) : list_configuration(run);
    plumb_run_close(run);
    return list;
}

static PyObject *file_json(PyObject *self, PyObject *args)
{
    const char *path = NULL;
    int stats = 0;
    struct plumb_show_options options = {.json = true};
    struct text text = {0};
    const struct plumb_sink sink = {append, &text};
    struct plumb_error error;
    struct plumb_file *file = NULL;
    enum plumb_status status;
    (void)self;
    if (!PyArg_ParseTuple(args, "s|p", &path, &stats))
        return NULL;
    options.stats = stats != 0;
    Py_BEGIN_ALLOW_THREADS
    status = plumb_file_open(path, NULL, &file, &error);
    if (!status)
        status = plumb_report_file(file, &options, &sink, &error);
    plumb_file_close(file);
    Py_END_ALLOW_THREADS
    return result(status, &error, &text);
}

static enum plumb_status diff_files(const char *const paths[2], const char *map,
                                    const struct plumb_sink *sink, struct plumb_error *error)
{
    const struct plumb_diff_options options = {.map_path = map};
    const struct plumb_diff_report_options form = {.form = PLUMB_REPORT_JSON};
    struct plumb_file *a = NULL, *b = NULL;
    struct plumb_diff *diff = NULL;
    enum plumb_status status = plumb_file_open(paths[0], NULL, &a, error);
    if (!status)
        status = plumb_file_open(paths[1], NULL, &b, error);
    if (!status)
        status = plumb_diff_new(a, b, &options, &diff, error);
    if (!status)
        status = plumb_report_diff(diff, &form, sink, error);
    plumb_diff_free(diff);
    plumb_file_close(a);
    plumb_file_close(b);
    return status;
}

static enum plumb_status diff_runs(const char *const paths[2], const struct plumb_sink *sink,
                                   struct plumb_error *error)
{
    const struct plumb_run_diff_report_options form = {.form = PLUMB_REPORT_JSON};
    struct plumb_run *a = NULL, *b = NULL;
    struct plumb_run_diff *diff = NULL;
    enum plumb_status status = plumb_run_open(paths[0], &a, error);
    if (!status)
        status = plumb_run_open(paths[1], &b, error);
    if (!status)
        status = plumb_run_diff_new(a, b, NULL, &diff, error);
    if (!status)
        status = plumb_report_run_diff(diff, &form, sink, error);
    plumb_run_diff_free(diff);
    plumb_run_close(a);
    plumb_run_close(b);
    return status;
}

static PyObject *diff_json(PyObject *self, PyObject *args)
{
    const char *paths[2] = {NULL, NULL}, *map = NULL;
    struct text text = {0};
    const struct plumb_sink sink = {append, &text};
    struct plumb_error error;
    enum plumb_status status;
    (void)self;
    if (!PyArg_ParseTuple(args, "ss|z", &paths[0], &paths[1], &map))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = plumb_run_is(paths[0]) && plumb_run_is(paths[1])
                 ? diff_runs(paths, &sink, &error)
                 : diff_files(paths, map, &sink, &error);
    Py_END_ALLOW_THREADS
    return result(status, &error, &text);
}

static PyMethodDef functions[] = {
    {"is_run", is_run, METH_VARARGS, "is_run(path): is it a run's directory?"},
    {"run_json", run_json, METH_VARARGS,
     "run_json(path, series=None, op=None, step=None, rank=-1)"},
    {"run_config", run_config, METH_VARARGS, "run_config(path) -> [(rank, key, json), ...]"},
    {"file_json", file_json, METH_VARARGS, "file_json(path, stats=False)"},
    {"diff_json", diff_json, METH_VARARGS, "diff_json(a, b, map_path=None)"},
    {NULL, NULL, 0, NULL},
};

bool plumb_reading_add(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
