/* torch_modules.c - see torch_modules.h. Modules are named with the GIL held; paths are read by any thread. */
#include "torch_modules.h"

#include "call_stacks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 1 << 16,      /* modules; further ones have the path "" */
    OBJECTS = 1 << 17,   /* slots of the table by address */
    DEEPEST = 4096,      /* nested modules; further ones have the place of the last */
    SEQUENCES = 1 << 17, /* nodes of a forward pass that are remembered */
};

struct object {
    PyObject *module; /* borrowed: compared, never used */
    PyObject *weak;   /* tells whether it still is that module */
    uint32_t number;
};

static char *paths[MOST];
static atomic_uint path_count = 1;
static struct object *objects; /* by address, open addressing */
static size_t object_count;
static PyObject *resolver;
static struct {
    _Atomic int64_t sequence;
    _Atomic uint32_t module, stack;
} made[SEQUENCES];
static _Thread_local uint32_t stack[DEEPEST], called[DEEPEST];
static _Thread_local int depth;

const char *plumb_module_path(uint32_t module)
{
    return module && module < atomic_load(&path_count) ? paths[module] : "";
}

struct plumb_module_state plumb_module_current(void)
{
    if (depth <= 0)
        return (struct plumb_module_state){.depth = depth};
    const int last = (depth < DEEPEST ? depth : DEEPEST) - 1;
    return (struct plumb_module_state){{stack[last], called[last]}, depth};
}

void plumb_module_made(int64_t sequence, struct plumb_maker maker)
{
    const size_t at = (size_t)sequence & (SEQUENCES - 1);
    atomic_store_explicit(&made[at].module, maker.module, memory_order_relaxed);
    atomic_store_explicit(&made[at].stack, maker.stack, memory_order_relaxed);
    atomic_store_explicit(&made[at].sequence, sequence + 1, memory_order_release);
}

struct plumb_maker plumb_module_that_made(int64_t sequence)
{
    const size_t at = (size_t)sequence & (SEQUENCES - 1);
    if (sequence < 0 ||
        atomic_load_explicit(&made[at].sequence, memory_order_acquire) != sequence + 1)
        return (struct plumb_maker){PLUMB_NO_MODULE, 0};
    return (struct plumb_maker){
        .module = atomic_load_explicit(&made[at].module, memory_order_relaxed),
        .stack = atomic_load_explicit(&made[at].stack, memory_order_relaxed)};
}

bool plumb_module_is_known(int64_t sequence)
{
    return atomic_load(&made[(size_t)sequence & (SEQUENCES - 1)].sequence) == sequence + 1;
}

uint32_t plumb_module_number(const char *path)
{
    const unsigned count = atomic_load(&path_count);
    for (unsigned i = 1; i < count; i++)
        if (strcmp(paths[i], path) == 0)
            return i;
    if (*path == '\0' || count == MOST)
        return PLUMB_NO_MODULE;
    paths[count] = strdup(path);
    if (!paths[count])
        return PLUMB_NO_MODULE;
    atomic_store(&path_count, count + 1);
    return count;
}

/* The slot of a module: its own, or the free one where it belongs. */
static struct object *slot_of(PyObject *module)
{
    size_t at = ((uint64_t)(uintptr_t)module >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 47;
    while (objects[at].module && objects[at].module != module)
        at = (at + 1) & (OBJECTS - 1);
    return &objects[at];
}

static bool is_alive(const struct object *object, PyObject *module)
{
    return object->module == module && object->weak &&
           PyWeakref_GetObject(object->weak) == module;
}

static void keep(PyObject *module, const char *path)
{
    struct object *object = slot_of(module);
    if (!object->module && object_count >= MOST)
        return;
    PyObject *weak = PyWeakref_NewRef(module, NULL);
    if (!weak) {
        PyErr_Clear();
        return;
    }
    object_count += object->module ? 0 : 1;
    Py_XDECREF(object->weak);
    *object =
        (struct object){.module = module, .weak = weak, .number = plumb_module_number(path)};
}

/* Asks for the paths of a module and of those inside of it. */
static void resolve(PyObject *module)
{
    PyObject *list = resolver ? PyObject_CallFunctionObjArgs(resolver, module, NULL) : NULL;
    const Py_ssize_t count = list && PyList_Check(list) ? PyList_Size(list) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyList_GetItem(list, i);
        PyObject *text = PyTuple_Check(pair) && PyTuple_Size(pair) == 2
                             ? PyUnicode_AsUTF8String(PyTuple_GetItem(pair, 1))
                             : NULL;
        if (text)
            keep(PyTuple_GetItem(pair, 0), PyBytes_AsString(text));
        Py_XDECREF(text);
    }
    Py_XDECREF(list);
    PyErr_Clear();
}

static uint32_t number_of(PyObject *module)
{
    if (!objects)
        objects = calloc(OBJECTS, sizeof *objects);
    if (!objects)
        return PLUMB_NO_MODULE;
    const struct object *object = slot_of(module);
    if (!is_alive(object, module)) {
        resolve(module);
        object = slot_of(module);
    }
    return is_alive(object, module) ? object->number : PLUMB_NO_MODULE;
}

PyObject *plumb_module_enter(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self;
    if (count > 0 && depth < DEEPEST) {
        stack[depth] = number_of(arguments[0]);
        called[depth] = plumb_call_stack_of_module(plumb_module_current().now.stack);
    }
    depth++;
    Py_RETURN_NONE;
}

PyObject *plumb_module_leave(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    depth -= depth > 0;
    Py_RETURN_NONE;
}

PyObject *plumb_module_resolver(PyObject *self, PyObject *function)
{
    (void)self;
    Py_XDECREF(resolver);
    Py_INCREF(function);
    resolver = function;
    Py_RETURN_NONE;
}
