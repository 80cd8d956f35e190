/*
 * tensor_view.c - see tensor_view.h.
 *
 * Three ways in, the cheapest first: DLPack's exchange functions (50 ns), a tensor's own methods
 * (older torch), numpy's array interface. Where each type of object ended up is remembered.
 */
#include "tensor_view.h"

#include "dlpack.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TYPES_REMEMBERED = 16 };

enum route { ROUTE_EXCHANGE, ROUTE_METHODS, ROUTE_ARRAY, ROUTE_NONE };

struct known_type {
    PyObject *type; /* kept: its address means this type for good */
    enum route route;
    bool wraps; /* its tensors may have no memory of their own */
    const struct dlpack_exchange *exchange;
};

static struct known_type known_types[TYPES_REMEMBERED];
static size_t known_count;

/* ---- which way a type goes ------------------------------------------------------------------ */

static const struct dlpack_exchange *find_exchange(PyObject *type)
{
    static const char *const names[] = {"__dlpack_c_exchange_api__",
                                        "__c_dlpack_exchange_api__"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PyObject *capsule = PyObject_GetAttrString(type, names[i]);
        const struct dlpack_exchange *found =
            capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
        Py_XDECREF(capsule); /* the type keeps it */
        PyErr_Clear();
        while (found && found->version.major > DLPACK_MAJOR)
            found = found->previous;
        if (found && found->tensor_from_object)
            return found;
    }
    return NULL;
}

static bool has(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    PyErr_Clear();
    Py_XDECREF(value);
    return value != NULL;
}

/* Has this type of torch's tensors rules of its own, as a DTensor has? */
static bool has_rules(PyObject *type)
{
    PyObject *rules = PyObject_GetAttrString(type, "__torch_dispatch__");
    PyObject *name = rules ? PyObject_GetAttrString(rules, "__name__") : NULL;
    const bool none =
        !name || PyUnicode_CompareWithASCIIString(name, "_disabled_torch_dispatch_impl") == 0;
    PyErr_Clear();
    Py_XDECREF(rules);
    Py_XDECREF(name);
    return !none;
}

static struct known_type examine_type(PyObject *type)
{
    struct known_type known = {.type = type, .route = ROUTE_NONE, .wraps = has_rules(type)};
    known.exchange = find_exchange(type);
    if (known.exchange)
        known.route = ROUTE_EXCHANGE;
    else if (has(type, "data_ptr") && has(type, "stride"))
        known.route = ROUTE_METHODS;
    else if (has(type, "__array_interface__"))
        known.route = ROUTE_ARRAY;
    return known;
}

static struct known_type route_of(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    for (size_t i = 0; i < known_count; i++)
        if (known_types[i].type == type)
            return known_types[i];
    const struct known_type known = examine_type(type);
    if (known_count < TYPES_REMEMBERED) {
        Py_INCREF(type);
        known_types[known_count++] = known;
    }
    return known;
}

/* ---- shapes --------------------------------------------------------------------------------- */

enum plumb_view_state plumb_view_at(struct plumb_view *view, enum plumb_dtype dtype,
                                    const void *data, int rank, const int64_t *shape,
                                    const int64_t *strides)
{
    if (rank < 0 || rank > PLUMB_MAX_RANK)
        return PLUMB_VIEW_UNREADABLE;
    view->dtype = dtype;
    view->rank = rank;
    view->data = data;
    view->in_order = true;
    view->keeping = NULL;
    int64_t next = 1;
    for (int i = rank - 1; i >= 0; i--) {
        if (shape[i] < 0 || __builtin_mul_overflow(next, shape[i] ? shape[i] : 1, &next))
            return PLUMB_VIEW_UNREADABLE;
        view->shape[i] = shape[i];
    }
    view->count = 1;
    for (int i = rank - 1; i >= 0; i--) {
        view->strides[i] = strides ? strides[i] : view->count;
        if (shape[i] != 1 && view->strides[i] != view->count)
            view->in_order = false;
        view->count *= shape[i];
    }
    if (!view->count)
        view->in_order = true;
    return data || !view->count ? PLUMB_VIEW_READY : PLUMB_VIEW_UNREADABLE;
}

/* ---- through DLPack ------------------------------------------------------------------------- */

static bool dtype_of_dlpack(unsigned code, unsigned bits, enum plumb_dtype *dtype)
{
    static const struct {
        uint8_t code, bits, dtype;
    } rows[] = {
        {DLPACK_FLOAT, 32, PLUMB_F32},     {DLPACK_FLOAT, 64, PLUMB_F64},
        {DLPACK_FLOAT, 16, PLUMB_F16},     {DLPACK_BFLOAT, 16, PLUMB_BF16},
        {DLPACK_INT, 64, PLUMB_I64},       {DLPACK_INT, 32, PLUMB_I32},
        {DLPACK_INT, 16, PLUMB_I16},       {DLPACK_INT, 8, PLUMB_I8},
        {DLPACK_UINT, 8, PLUMB_U8},        {DLPACK_UINT, 16, PLUMB_U16},
        {DLPACK_UINT, 32, PLUMB_U32},      {DLPACK_UINT, 64, PLUMB_U64},
        {DLPACK_BOOL, 8, PLUMB_BOOL},      {DLPACK_COMPLEX, 64, PLUMB_C64},
        {DLPACK_COMPLEX, 128, PLUMB_C128}, {DLPACK_F8E4M3FN, 8, PLUMB_F8E4M3},
        {DLPACK_F8E5M2, 8, PLUMB_F8E5M2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code && rows[i].bits == bits) {
            *dtype = (enum plumb_dtype)rows[i].dtype;
            return true;
        }
    return false;
}

/* DLPack ignores torch's lazy conjugation and negation: the values would be others. */
static PyObject *without_lazy_bits(PyObject *object, const struct plumb_view *view)
{
    const bool complex = plumb_dtype_is_complex(view->dtype);
    if (!complex && (view->in_order || !plumb_dtype_is_float(view->dtype)))
        return NULL;
    PyObject *lazy = PyObject_CallMethod(object, complex ? "is_conj" : "is_neg", NULL);
    const bool is_lazy = lazy && PyObject_IsTrue(lazy) == 1;
    Py_XDECREF(lazy);
    PyObject *resolved = NULL;
    if (is_lazy) {
        PyObject *plain = PyObject_CallMethod(object, "detach", NULL);
        if (plain)
            resolved =
                PyObject_CallMethod(plain, complex ? "resolve_conj" : "resolve_neg", NULL);
        Py_XDECREF(plain);
    }
    PyErr_Clear();
    return resolved;
}

static enum plumb_view_state read_exchange(const struct dlpack_exchange *exchange,
                                           PyObject *object, struct plumb_view *view)
{
    struct dlpack_tensor tensor;
    enum plumb_dtype dtype;
    if (exchange->tensor_from_object(object, &tensor)) {
        PyErr_Clear();
        return PLUMB_VIEW_UNREADABLE;
    }
    if (tensor.dtype.lanes != 1 ||
        !dtype_of_dlpack(tensor.dtype.code, tensor.dtype.bits, &dtype))
        return PLUMB_VIEW_UNREADABLE;
    const char *data = tensor.data ? (const char *)tensor.data + tensor.byte_offset : NULL;
    const enum plumb_view_state state =
        plumb_view_at(view, dtype, data, tensor.ndim, tensor.shape, tensor.strides);
    if (state != PLUMB_VIEW_READY)
        return state;
    return tensor.device.type == DLPACK_CPU ? PLUMB_VIEW_READY : PLUMB_VIEW_DEVICE;
}

/* ---- through a tensor's methods ------------------------------------------------------------- */

int plumb_view_numbers(PyObject *sequence, int64_t *numbers)
{
    int count = -1;
    const Py_ssize_t size = sequence ? PySequence_Size(sequence) : -1;
    if (size >= 0 && size <= PLUMB_MAX_RANK) {
        count = (int)size;
        for (int i = 0; i < count; i++) {
            PyObject *item = PySequence_GetItem(sequence, i);
            numbers[i] = item ? PyLong_AsLongLong(item) : -1;
            Py_XDECREF(item);
        }
    }
    if (PyErr_Occurred())
        count = -1;
    PyErr_Clear();
    return count;
}

/* Steals `sequence`. */
static int take_numbers(PyObject *sequence, int64_t *numbers)
{
    const int count = plumb_view_numbers(sequence, numbers);
    Py_XDECREF(sequence);
    return count;
}

/* "torch.float32" or "<f4" into `text`; empty if there is none. Steals `object`. */
static void take_text(PyObject *object, char *text, size_t size)
{
    PyObject *string = object ? PyObject_Str(object) : NULL;
    Py_ssize_t length = 0;
    const char *utf8 = string ? PyUnicode_AsUTF8AndSize(string, &length) : NULL;
    text[0] = '\0';
    if (utf8 && (size_t)length < size)
        memcpy(text, utf8, (size_t)length + 1);
    PyErr_Clear();
    Py_XDECREF(string);
    Py_XDECREF(object);
}

static uint64_t take_address(PyObject *number)
{
    const unsigned long long address = number ? PyLong_AsUnsignedLongLong(number) : 0;
    const bool failed = PyErr_Occurred() != NULL;
    PyErr_Clear();
    Py_XDECREF(number);
    return failed ? 0 : address;
}

static bool is_on_host(PyObject *object)
{
    char device[32];
    take_text(PyObject_GetAttrString(object, "device"), device, sizeof device);
    return strcasecmp(device, "cpu") == 0; /* mindspore says CPU */
}

static enum plumb_view_state read_methods(PyObject *object, struct plumb_view *view)
{
    int64_t shape[PLUMB_MAX_RANK], strides[PLUMB_MAX_RANK];
    char name[64];
    enum plumb_dtype dtype;
    take_text(PyObject_GetAttrString(object, "dtype"), name, sizeof name);
    for (char *letter = name; *letter; letter++) /* mindspore says Float32 */
        *letter = (char)tolower((unsigned char)*letter);
    const char *dot = strrchr(name, '.');
    const int rank = take_numbers(PyObject_GetAttrString(object, "shape"), shape);
    if (rank < 0 || !plumb_dtype_from_name(dot ? dot + 1 : name, &dtype))
        return PLUMB_VIEW_UNREADABLE;
    if (!is_on_host(object)) {
        static const char somewhere;
        const enum plumb_view_state state =
            plumb_view_at(view, dtype, &somewhere, rank, shape, NULL);
        return state == PLUMB_VIEW_READY ? PLUMB_VIEW_DEVICE : state;
    }
    if (take_numbers(PyObject_CallMethod(object, "stride", NULL), strides) != rank)
        return PLUMB_VIEW_UNREADABLE;
    const uint64_t address = take_address(PyObject_CallMethod(object, "data_ptr", NULL));
    return plumb_view_at(view, dtype, (const void *)(uintptr_t)address, rank, shape, strides);
}

/* ---- numpy ---------------------------------------------------------------------------------- */

static bool dtype_of_typestr(const char *text, enum plumb_dtype *dtype)
{
    static const struct {
        char name[4];
        enum plumb_dtype dtype;
    } rows[] = {{"f4", PLUMB_F32}, {"f8", PLUMB_F64},   {"f2", PLUMB_F16}, {"i8", PLUMB_I64},
                {"i4", PLUMB_I32}, {"i2", PLUMB_I16},   {"i1", PLUMB_I8},  {"u1", PLUMB_U8},
                {"u2", PLUMB_U16}, {"u4", PLUMB_U32},   {"u8", PLUMB_U64}, {"b1", PLUMB_BOOL},
                {"c8", PLUMB_C64}, {"c16", PLUMB_C128}, {"V2", PLUMB_BF16}};
    if (text[0] != '<' && text[0] != '|')
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, text + 1) == 0) {
            *dtype = rows[i].dtype;
            return true;
        }
    return false;
}

static PyObject *entry(PyObject *interface, const char *key)
{
    PyObject *value = PyMapping_GetItemString(interface, key);
    PyErr_Clear();
    return value;
}

static enum plumb_view_state read_array(PyObject *object, struct plumb_view *view)
{
    int64_t shape[PLUMB_MAX_RANK], strides[PLUMB_MAX_RANK];
    char type[16];
    enum plumb_dtype dtype;
    PyObject *interface = PyObject_GetAttrString(object, "__array_interface__");
    PyErr_Clear();
    if (!interface)
        return PLUMB_VIEW_UNREADABLE;
    take_text(entry(interface, "typestr"), type, sizeof type);
    const int rank = take_numbers(entry(interface, "shape"), shape);
    PyObject *strided = entry(interface, "strides"), *data = entry(interface, "data");
    const bool has_strides = strided && strided != Py_None;
    bool sound = rank >= 0 && dtype_of_typestr(type, &dtype);
    if (has_strides)
        sound = take_numbers(strided, strides) == rank && sound;
    else
        Py_XDECREF(strided);
    for (int i = 0; sound && has_strides && i < rank; i++) {
        const int64_t size = (int64_t)plumb_dtype_size(dtype);
        sound = strides[i] % size == 0;
        strides[i] /= size;
    }
    const uint64_t address = data ? take_address(PySequence_GetItem(data, 0)) : 0;
    Py_XDECREF(data);
    Py_DECREF(interface);
    return sound ? plumb_view_at(view, dtype, (const void *)(uintptr_t)address, rank, shape,
                                 has_strides ? strides : NULL)
                 : PLUMB_VIEW_UNREADABLE;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static enum plumb_view_state read_once(PyObject *object, struct plumb_view *view)
{
    const struct known_type known = route_of(object);
    switch (known.route) {
    case ROUTE_EXCHANGE:
        return read_exchange(known.exchange, object, view);
    case ROUTE_METHODS:
        return read_methods(object, view);
    case ROUTE_ARRAY:
        return read_array(object, view);
    case ROUTE_NONE:
        break;
    }
    return PLUMB_VIEW_UNREADABLE;
}

/* A distributed tensor has no values of its own; the local part has. */
static PyObject *local_part(PyObject *object)
{
    PyObject *local = PyObject_GetAttrString(object, "_local_tensor");
    PyErr_Clear();
    return local;
}

/* Without any, where its elements seem to lie is just their distance from the beginning. */
static bool has_memory(PyObject *object)
{
    PyObject *storage = PyObject_CallMethod(object, "untyped_storage", NULL);
    const uint64_t address =
        storage ? take_address(PyObject_CallMethod(storage, "data_ptr", NULL)) : 0;
    PyErr_Clear();
    Py_XDECREF(storage);
    return address != 0;
}

static enum plumb_view_state read_own(PyObject *object, struct plumb_view *view)
{
    const bool wraps = route_of(object).wraps;
    return wraps && !has_memory(object) ? PLUMB_VIEW_UNREADABLE : read_once(object, view);
}

enum plumb_view_state plumb_view_of(PyObject *object, struct plumb_view *view)
{
    view->rank = 0; /* not all of it: it is a kilobyte */
    view->count = 0;
    view->keeping = NULL;
    if (object == Py_None)
        return PLUMB_VIEW_UNREADABLE;
    enum plumb_view_state state = read_own(object, view);
    PyObject *other = NULL;
    if (state == PLUMB_VIEW_READY && route_of(object).route != ROUTE_ARRAY)
        other = without_lazy_bits(object, view);
    else if (state == PLUMB_VIEW_UNREADABLE)
        other = local_part(object);
    if (other) {
        state = read_own(other, view);
        view->keeping = other;
    }
    return state;
}

void plumb_view_release(struct plumb_view *view)
{
    Py_CLEAR(view->keeping);
}

size_t plumb_view_bytes(const struct plumb_view *view)
{
    return (size_t)view->count * plumb_dtype_size(view->dtype);
}
