/* call_stacks.c - see call_stacks.h. Everything here is guarded by the GIL. */
#include "call_stacks.h"

#include "parts.h"
#include "recorder_type.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 1 << 15,
    MOST_FRAMES = 64, /* that are looked at */
    LONGEST = 8192,   /* of the text of a stack */
    HOOK_FRAMES = 8,  /* between a hook and the call of its module */
};

struct seen {
    uint64_t key; /* of code objects, positions and what lies below; 0: free */
    uint32_t number;
};

static struct seen *seen;
static size_t seen_count;
static char *texts[SLOTS]; /* by number: what is put below of others */
static PyObject *recorder, *place_of, *call_code, *lasti_name, *back_name;

static void forget_all(void)
{
    for (size_t i = 0; i < SLOTS; i++) {
        free(texts[i]);
        texts[i] = NULL;
    }
    free(seen);
    seen = NULL;
    seen_count = 0;
    Py_CLEAR(recorder);
    Py_CLEAR(place_of);
    Py_CLEAR(call_code);
}

/* ---- frames --------------------------------------------------------------------------------- */

/* Not in the limited interface; where they are missing the attributes are asked for, which takes longer. */
static PyObject *(*frame_back)(PyObject *frame);
static int (*frame_lasti)(PyObject *frame);

static void find_functions(void)
{
    void *back = dlsym(RTLD_DEFAULT, "PyFrame_GetBack");
    void *lasti = dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
    memcpy(&frame_back, &back, sizeof back);
    memcpy(&frame_lasti, &lasti, sizeof lasti);
}

/* Takes the reference to `frame` and returns a new one to its caller; NULL: there is none. */
static PyObject *caller_of(PyObject *frame)
{
    if (frame_back) {
        PyObject *caller = frame_back(frame);
        Py_DECREF(frame);
        return caller;
    }
    PyObject *back = PyObject_GetAttr(frame, back_name);
    Py_DECREF(frame);
    if (back != Py_None)
        return back;
    Py_DECREF(back);
    return NULL;
}

/* The instruction that runs. */
static uint64_t position_in(PyObject *frame)
{
    if (frame_lasti)
        return (uint64_t)frame_lasti(frame);
    PyObject *lasti = PyObject_GetAttr(frame, lasti_name);
    const uint64_t position = (uint64_t)PyLong_AsLong(lasti);
    Py_XDECREF(lasti);
    return position;
}

/* Borrowed: the frame has it. */
static PyObject *code_of(PyObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    Py_XDECREF(code);
    return code;
}

static PyObject *innermost(void)
{
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    Py_XINCREF(frame);
    return frame;
}

/* Behind the frame in which torch calls hooks; the innermost one if that is not found. */
static PyObject *behind_hook(void)
{
    PyObject *frame = innermost();
    for (int i = 0; frame && i < HOOK_FRAMES; i++) {
        const bool found = code_of(frame) == call_code;
        frame = caller_of(frame);
        if (found)
            return frame;
    }
    Py_XDECREF(frame);
    return innermost();
}

static uint64_t mix(uint64_t key, uint64_t value)
{
    key = (key ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ (key >> 29);
}

/* Takes the reference to `frame`. *below becomes 0 if the module's call was not reached. */
static uint64_t key_of(PyObject *frame, uint32_t *below)
{
    uint64_t key = 1;
    for (int i = 0; frame && i < MOST_FRAMES; i++) {
        PyObject *code = code_of(frame);
        if (*below && code == call_code) {
            Py_DECREF(frame);
            return mix(key, *below);
        }
        key = mix(mix(key, (uint64_t)(uintptr_t)code), position_in(frame));
        frame = caller_of(frame);
    }
    Py_XDECREF(frame);
    *below = 0;
    return key;
}

/* ---- text ----------------------------------------------------------------------------------- */

struct text {
    char bytes[LONGEST];
    size_t size;
};

static void add(struct text *text, const char *bytes, size_t size)
{
    if (text->size + size + 1 < sizeof text->bytes) {
        memcpy(text->bytes + text->size, bytes, size);
        text->size += size;
    }
    text->bytes[text->size] = '\0';
}

/* "train.py:57 forward"; nothing for a frame of the framework. */
static void add_frame(struct text *text, PyObject *frame, PyObject *code)
{
    PyObject *line = PyObject_CallFunction(place_of, "Oi", code,
                                           PyFrame_GetLineNumber((PyFrameObject *)frame));
    Py_ssize_t size = 0;
    const char *bytes = line && line != Py_None ? PyUnicode_AsUTF8AndSize(line, &size) : NULL;
    if (bytes) {
        add(text, "\n", text->size ? 1 : 0);
        add(text, bytes, (size_t)size);
    }
    Py_XDECREF(line);
    PyErr_Clear();
}

/* Takes the reference to `frame`. */
static uint32_t describe(PyObject *frame, uint32_t below)
{
    struct text text = {.size = 0};
    text.bytes[0] = '\0';
    for (int i = 0; frame && i < MOST_FRAMES; i++) {
        PyObject *code = code_of(frame);
        if (below && code == call_code)
            break;
        Py_INCREF(code); /* for good: no other code may come to lie where this one does */
        add_frame(&text, frame, code);
        frame = caller_of(frame);
    }
    Py_XDECREF(frame);
    const char *rest = below && below < SLOTS ? texts[below] : NULL;
    if (rest) {
        add(&text, "\n", text.size ? 1 : 0);
        add(&text, rest, strlen(rest));
    }
    const uint32_t number = plumb_record_stack(plumb_recorder_of(recorder), text.bytes);
    if (number && number < SLOTS && !texts[number])
        texts[number] = strdup(text.bytes);
    return number;
}

/* Takes the reference to `frame`. */
static uint32_t number_of(PyObject *frame, uint32_t below)
{
    Py_XINCREF(frame);
    const uint64_t key = key_of(frame, &below);
    size_t at = key >> 49;
    while (seen[at].key && seen[at].key != key)
        at = (at + 1) & (SLOTS - 1);
    if (!seen[at].key && seen_count < SLOTS / 2) {
        seen[at] = (struct seen){.key = key, .number = describe(frame, below)};
        seen_count++;
    } else {
        Py_XDECREF(frame);
    }
    return seen[at].number;
}

uint32_t plumb_call_stack(uint32_t below)
{
    return seen ? number_of(innermost(), below) : 0;
}

uint32_t plumb_call_stack_of_module(uint32_t below)
{
    return seen ? number_of(behind_hook(), below) : 0;
}

uint32_t plumb_call_stack_anywhere(uint32_t below)
{
    if (!seen || !PyGILState_GetThisThreadState())
        return below; /* a thread that Python does not know has no frames */
    const PyGILState_STATE state = PyGILState_Ensure();
    const uint32_t number = plumb_call_stack(below);
    PyGILState_Release(state);
    return number;
}

/* ---- for Python ----------------------------------------------------------------------------- */

/* (recorder or None, function of a code object and a line that gives the line's text or None, code in which modules
 * are called or None) */
static PyObject *open_stacks(PyObject *self, PyObject *arguments)
{
    PyObject *of = NULL, *function = NULL, *code = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OOO", &of, &function, &code))
        return NULL;
    forget_all();
    if (!plumb_recorder_of(of))
        Py_RETURN_NONE;
    seen = calloc(SLOTS, sizeof *seen);
    if (!seen)
        return PyErr_NoMemory();
    recorder = of;
    place_of = function;
    call_code = code;
    Py_INCREF(of);
    Py_INCREF(function);
    Py_INCREF(code);
    Py_RETURN_NONE;
}

static PyObject *stack_now(PyObject *self, PyObject *arguments)
{
    unsigned int below = 0;
    int of_module = 0;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "|Ip", &below, &of_module))
        return NULL;
    return PyLong_FromUnsignedLong(of_module ? plumb_call_stack_of_module(below)
                                             : plumb_call_stack(below));
}

static PyMethodDef functions[] = {
    {"stacks_open", open_stacks, METH_VARARGS, "Begins or ends the recording of call stacks"},
    {"stack_now", stack_now, METH_VARARGS,
     "stack_now(below=0, of_module=False): where the program is, for Recorder.called_at()"},
    {NULL, NULL, 0, NULL},
};

bool plumb_call_stacks_add(PyObject *module)
{
    find_functions();
    lasti_name = PyUnicode_InternFromString("f_lasti");
    back_name = PyUnicode_InternFromString("f_back");
    return lasti_name && back_name && PyModule_AddFunctions(module, functions) == 0;
}
