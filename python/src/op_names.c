/* op_names.c - see op_names.h. Filled with the GIL held, read by any thread. */
#include "op_names.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 1 << 14, /* torch 2.15 has 3,600 operators */
    NEAR = 1 << 10,  /* a thread's cache by address */
    MISSING = 64,
};

static _Atomic(struct plumb_op *) slots[SLOTS];
static size_t op_count;
static atomic_int missed;
static atomic_ullong missing[MISSING]; /* hashes of names that were told as missed; 0: free */

struct near {
    const char *name, *overload;
    struct plumb_op *op;
    bool lasting; /* the two addresses are of a schema that stays */
};
static _Thread_local struct near cache[NEAR];

static uint64_t hash_text(const char *name, const char *overload)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    h = (h ^ '.') * UINT64_C(0x100000001b3);
    for (; *overload; overload++)
        h = (h ^ (unsigned char)*overload) * UINT64_C(0x100000001b3);
    return h ^ (h >> 29);
}

static bool is_named(const struct plumb_op *op, const char *name, const char *overload)
{
    return strcmp(op->name, name) == 0 && strcmp(op->overload, overload) == 0;
}

/* The slot that has it, or the empty one where it belongs. */
static size_t slot_of(const char *name, const char *overload)
{
    size_t at = hash_text(name, overload) & (SLOTS - 1);
    for (;; at = (at + 1) & (SLOTS - 1)) {
        const struct plumb_op *op = atomic_load_explicit(&slots[at], memory_order_acquire);
        if (!op || is_named(op, name, overload))
            return at;
    }
}

/* "aten::add" is "add", "c10d::allreduce_" is "c10d.allreduce_". */
static char *label_of(const char *name)
{
    if (strncmp(name, "aten::", 6) == 0)
        return strdup(name + 6);
    char *label = strdup(name);
    char *colons = label ? strstr(label, "::") : NULL;
    if (colons) {
        colons[0] = '.';
        memmove(colons + 1, colons + 2, strlen(colons + 2) + 1);
    }
    return label;
}

static bool add_op(const char *name, const char *overload, struct plumb_op facts)
{
    const size_t at = slot_of(name, overload);
    if (atomic_load(&slots[at]) || op_count >= SLOTS / 2)
        return true;
    struct plumb_op *op = malloc(sizeof *op);
    if (!op)
        return false;
    *op = facts;
    op->flags |= strncmp(name, "aten::", 6) == 0 ? PLUMB_OP_TORCH : 0;
    op->name = strdup(name);
    op->overload = strdup(overload);
    op->label = label_of(name);
    if (!op->name || !op->overload || !op->label) {
        free(op->name);
        free(op->overload);
        free(op->label);
        free(op);
        return false;
    }
    op_count++;
    atomic_store_explicit(&slots[at], op, memory_order_release);
    return true;
}

/* A str of the tuple, as UTF-8 that the caller frees with the bytes object. */
static const char *text_at(PyObject *tuple, Py_ssize_t i, PyObject **bytes)
{
    *bytes = PyUnicode_AsUTF8String(PyTuple_GetItem(tuple, i));
    return *bytes ? PyBytes_AsString(*bytes) : NULL;
}

static bool add_tuple(PyObject *tuple)
{
    PyObject *name_bytes = NULL, *overload_bytes = NULL;
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != 6) {
        PyErr_SetString(PyExc_TypeError, "an operator is a tuple of six");
        return false;
    }
    const char *name = text_at(tuple, 0, &name_bytes);
    const char *overload = name ? text_at(tuple, 1, &overload_bytes) : NULL;
    struct plumb_op op = {
        .flags = (unsigned)PyLong_AsLong(PyTuple_GetItem(tuple, 2)),
        .arguments = (int)PyLong_AsLong(PyTuple_GetItem(tuple, 3)),
        .results = (int)PyLong_AsLong(PyTuple_GetItem(tuple, 4)),
        .writes = PyLong_AsUnsignedLongLong(PyTuple_GetItem(tuple, 5)),
    };
    bool added = overload && !PyErr_Occurred();
    if (added && !add_op(name, overload, op)) {
        PyErr_NoMemory();
        added = false;
    }
    Py_XDECREF(name_bytes);
    Py_XDECREF(overload_bytes);
    return added;
}

bool plumb_op_names_add(PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!add_tuple(PyList_GetItem(list, i)))
            return false;
    return count >= 0;
}

bool plumb_op_is_engine(const char *name)
{
    return strncmp(name, "autograd::engine", 16) == 0;
}

/* The operators of a library that was loaded since the table was filled, and the program's own sections, which never are
 * in it: each is told once. */
static void miss(const char *name, const char *overload)
{
    const unsigned long long hash = hash_text(name, overload) | 1;
    for (size_t i = 0; i < MISSING; i++) {
        unsigned long long known = 0;
        if (atomic_compare_exchange_strong(&missing[i], &known, hash)) {
            atomic_fetch_add(&missed, 1);
            return;
        }
        if (known == hash)
            return;
    }
}

static struct plumb_op *find(const char *name, const char *overload, bool schema)
{
    struct near *near = &cache[((uintptr_t)name >> 4 ^ (uintptr_t)overload >> 3) & (NEAR - 1)];
    /* torch's own operators stay, and so do the names of their schemas; where others lay another text may
     * come to lie. */
    if (near->name == name && near->overload == overload &&
        ((schema && near->lasting) || is_named(near->op, name, overload)))
        return near->op;
    if (plumb_op_is_engine(name))
        return NULL;
    struct plumb_op *op =
        atomic_load_explicit(&slots[slot_of(name, overload)], memory_order_acquire);
    if (op)
        *near = (struct near){name, overload, op, schema && (op->flags & PLUMB_OP_TORCH)};
    else if (strstr(name, "::") && !strchr(name, ' '))
        miss(name, overload);
    return op;
}

struct plumb_op *plumb_op_find(const char *name, const char *overload)
{
    return find(name, overload, false);
}

struct plumb_op *plumb_op_of_schema(const char *name, const char *overload)
{
    return find(name, overload, true);
}

int plumb_op_names_missed(void)
{
    return atomic_exchange(&missed, 0);
}

static bool add_seen(PyObject *seen, struct plumb_op *op)
{
    const unsigned long long calls = atomic_exchange(&op->calls, 0);
    if (!calls)
        return true;
    PyObject *name =
        PyUnicode_FromFormat(*op->overload ? "%s.%s" : "%s", op->name, op->overload);
    PyObject *number = PyLong_FromUnsignedLongLong(calls);
    const bool added = name && number && PyObject_SetItem(seen, name, number) == 0;
    Py_XDECREF(name);
    Py_XDECREF(number);
    return added;
}

PyObject *plumb_op_names_seen(void)
{
    PyObject *seen = PyDict_New();
    for (size_t i = 0; seen && i < SLOTS; i++) {
        struct plumb_op *op = atomic_load(&slots[i]);
        if (op && !add_seen(seen, op))
            Py_CLEAR(seen);
    }
    return seen;
}
