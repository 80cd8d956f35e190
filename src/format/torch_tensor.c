/* torch_tensor.c - from pickled calls to tensors; see torch_tensor.h. */
#include "format/torch_tensor.h"

#include "base/text.h"

#include <string.h>

static const struct {
    enum plumb_dtype dtype;
    const char *name;          /* torch.<name> */
    const char *storage_class; /* NULL: saved as UntypedStorage with the dtype beside it */
} types[] = {
    {PLUMB_F32, "float32", "FloatStorage"},
    {PLUMB_F64, "float64", "DoubleStorage"},
    {PLUMB_F16, "float16", "HalfStorage"},
    {PLUMB_BF16, "bfloat16", "BFloat16Storage"},
    {PLUMB_I64, "int64", "LongStorage"},
    {PLUMB_I32, "int32", "IntStorage"},
    {PLUMB_I16, "int16", "ShortStorage"},
    {PLUMB_I8, "int8", "CharStorage"},
    {PLUMB_U8, "uint8", "ByteStorage"},
    {PLUMB_BOOL, "bool", "BoolStorage"},
    {PLUMB_C64, "complex64", "ComplexFloatStorage"},
    {PLUMB_C128, "complex128", "ComplexDoubleStorage"},
    {PLUMB_F8E4M3, "float8_e4m3fn", NULL},
    {PLUMB_F8E5M2, "float8_e5m2", NULL},
    {PLUMB_U16, "uint16", NULL},
    {PLUMB_U32, "uint32", NULL},
    {PLUMB_U64, "uint64", NULL},
};

enum { TYPES = sizeof types / sizeof *types };

/* Quantized tensors are opaque, but the size of their elements has to be known. */
static const struct {
    enum plumb_dtype as;
    const char *storage_class;
} quantized[] = {
    {PLUMB_I8, "QInt8Storage"},    {PLUMB_U8, "QUInt8Storage"},   {PLUMB_I32, "QInt32Storage"},
    {PLUMB_U8, "QUInt4x2Storage"}, {PLUMB_U8, "QUInt2x4Storage"},
};

const char *plumb_torch_storage_class(enum plumb_dtype dtype)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype)
            return types[i].storage_class;
    return NULL;
}

const char *plumb_torch_dtype_name(enum plumb_dtype dtype)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype)
            return types[i].name;
    return NULL;
}

bool plumb_torch_dtype_parse(const struct plumb_pickle_node *node, enum plumb_dtype *dtype)
{
    if (!plumb_pickle_is(node, PLUMB_PICKLE_GLOBAL) || !plumb_text_starts(node->text, "torch."))
        return false;
    for (size_t i = 0; i < TYPES; i++) {
        if (strcmp(node->text + strlen("torch."), types[i].name) == 0) {
            *dtype = types[i].dtype;
            return true;
        }
    }
    return false;
}

/* "torch.FloatStorage", "torch.cuda.FloatStorage", "torch.storage.UntypedStorage". */
static bool parse_storage_class(const struct plumb_pickle_node *node,
                                struct plumb_torch_reference *reference)
{
    if (!plumb_pickle_is(node, PLUMB_PICKLE_GLOBAL))
        return false;
    const char *dot = strrchr(node->text, '.');
    const char *name = dot ? dot + 1 : node->text;
    reference->untyped =
        strcmp(name, "UntypedStorage") == 0 || strcmp(name, "_UntypedStorage") == 0;
    if (reference->untyped) {
        reference->dtype = PLUMB_U8;
        return true;
    }
    for (size_t i = 0; i < TYPES; i++) {
        if (types[i].storage_class && strcmp(name, types[i].storage_class) == 0) {
            reference->dtype = types[i].dtype;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof quantized / sizeof *quantized; i++) {
        if (strcmp(name, quantized[i].storage_class) == 0) {
            reference->dtype = quantized[i].as;
            return true;
        }
    }
    return false;
}

bool plumb_torch_reference_parse(const struct plumb_pickle_node *node,
                                 struct plumb_torch_reference *reference)
{
    if (!plumb_pickle_is(node, PLUMB_PICKLE_PERSISTENT))
        return false;
    const struct plumb_pickle_node *tuple = node->items[0];
    const char *word = plumb_pickle_text(plumb_pickle_item(tuple, 0));
    *reference = (struct plumb_torch_reference){
        .key = plumb_pickle_text(plumb_pickle_item(tuple, 2)),
        .location = plumb_pickle_text(plumb_pickle_item(tuple, 3)),
    };
    if (!word || strcmp(word, "storage") != 0 || !reference->key || !reference->location ||
        !parse_storage_class(plumb_pickle_item(tuple, 1), reference) ||
        !plumb_pickle_int(plumb_pickle_item(tuple, 4), &reference->elements) ||
        reference->elements < 0)
        return false;
    const struct plumb_pickle_node *view = plumb_pickle_item(tuple, 5); /* key, offset, size */
    if (plumb_pickle_is(view, PLUMB_PICKLE_TUPLE))
        return plumb_pickle_int(plumb_pickle_item(view, 1), &reference->view_offset) &&
               reference->view_offset >= 0;
    return true;
}

int plumb_torch_integers_parse(const struct plumb_pickle_node *node,
                               int64_t integers[PLUMB_MAX_RANK])
{
    if (plumb_pickle_is_call(node, "torch.Size"))
        node = plumb_pickle_argument(node, 0);
    if (!plumb_pickle_is(node, PLUMB_PICKLE_TUPLE) && !plumb_pickle_is(node, PLUMB_PICKLE_LIST))
        return -1;
    if (node->count > PLUMB_MAX_RANK)
        return -1;
    for (uint32_t i = 0; i < node->count; i++)
        if (!plumb_pickle_int(node->items[i], &integers[i]))
            return -1;
    return (int)node->count;
}

static bool is_true(const struct plumb_pickle_node *node)
{
    return plumb_pickle_is(node, PLUMB_PICKLE_BOOL) && node->truth;
}

/* (storage, offset, size, stride, requires_grad, hooks[, dtype][, metadata]) */
static enum plumb_torch_found parse_rebuild(const struct plumb_pickle_node *arguments,
                                            bool has_dtype, struct plumb_torch_tensor *tensor,
                                            const char **what)
{
    *what = "a tensor whose description is not understood";
    *tensor = (struct plumb_torch_tensor){0};
    if (!plumb_torch_reference_parse(plumb_pickle_item(arguments, 0), &tensor->storage) ||
        !plumb_pickle_int(plumb_pickle_item(arguments, 1), &tensor->offset) ||
        tensor->offset < 0)
        return PLUMB_TORCH_OPAQUE;
    tensor->rank = plumb_torch_integers_parse(plumb_pickle_item(arguments, 2), tensor->shape);
    if (tensor->rank < 0 || plumb_torch_integers_parse(plumb_pickle_item(arguments, 3),
                                                       tensor->strides) != tensor->rank)
        return PLUMB_TORCH_OPAQUE;
    tensor->dtype = tensor->storage.dtype;
    if (has_dtype) {
        const struct plumb_pickle_node *dtype = plumb_pickle_item(arguments, 6);
        if (!plumb_torch_dtype_parse(dtype, &tensor->dtype)) {
            if (plumb_pickle_is(dtype, PLUMB_PICKLE_GLOBAL))
                *what = dtype->text;
            return PLUMB_TORCH_OPAQUE;
        }
    } else if (tensor->storage.untyped) {
        return PLUMB_TORCH_OPAQUE;
    }
    if (strcmp(tensor->storage.location, "meta") == 0) {
        *what = "a tensor without data, of device meta";
        return PLUMB_TORCH_OPAQUE;
    }
    const struct plumb_pickle_node *metadata = plumb_pickle_item(arguments, has_dtype ? 7 : 6);
    tensor->conjugated = is_true(plumb_pickle_find(metadata, "conj"));
    tensor->negated = is_true(plumb_pickle_find(metadata, "neg"));
    return PLUMB_TORCH_TENSOR;
}

/* Calls that wrap another tensor, in their first argument. */
static bool is_wrapper(const char *name)
{
    static const char *const wrappers[] = {
        "torch._utils._rebuild_parameter",
        "torch._utils._rebuild_parameter_with_state",
        "torch._utils._rebuild_device_tensor_from_cpu_tensor",
        "torch.nn.parameter.Parameter",
    };
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (strcmp(name, wrappers[i]) == 0)
            return true;
    return false;
}

static enum plumb_torch_found parse_function(const char *name,
                                             const struct plumb_pickle_node *arguments,
                                             struct plumb_torch_tensor *tensor,
                                             const char **what)
{
    /* The last one is torch_npu's for data in a base layout, with one more argument. */
    if (strcmp(name, "torch._utils._rebuild_tensor_v2") == 0 ||
        strcmp(name, "torch._utils._rebuild_tensor") == 0 ||
        strcmp(name, "torch_npu.utils.storage._rebuild_npu_tensor") == 0)
        return parse_rebuild(arguments, false, tensor, what);
    if (strcmp(name, "torch._utils._rebuild_tensor_v3") == 0)
        return parse_rebuild(arguments, true, tensor, what);
    if (plumb_text_starts(name, "torch._utils._rebuild_")) {
        *what = name;
        return PLUMB_TORCH_OPAQUE;
    }
    return PLUMB_TORCH_OTHER;
}

enum plumb_torch_found plumb_torch_tensor_parse(const struct plumb_pickle_node *node,
                                                struct plumb_torch_tensor *tensor,
                                                const char **what)
{
    /* Wrappers nest, but a file that nests many is not one torch wrote. */
    for (int depth = 0; depth < 4; depth++) {
        if (!plumb_pickle_is(node, PLUMB_PICKLE_CALL))
            return PLUMB_TORCH_OTHER;
        const char *name = plumb_pickle_callable(node);
        if (is_wrapper(name)) {
            node = plumb_pickle_argument(node, 0);
            continue;
        }
        /* (function, type, arguments, state): a subclass of Tensor */
        if (strcmp(name, "torch._tensor._rebuild_from_type_v2") == 0 ||
            strcmp(name, "torch._tensor._rebuild_from_type") == 0) {
            const struct plumb_pickle_node *function = plumb_pickle_argument(node, 0);
            *what = name;
            if (!plumb_pickle_is(function, PLUMB_PICKLE_GLOBAL))
                return PLUMB_TORCH_OPAQUE;
            if (is_wrapper(function->text)) {
                node = plumb_pickle_item(plumb_pickle_argument(node, 2), 0);
                continue;
            }
            return parse_function(function->text, plumb_pickle_argument(node, 2), tensor, what);
        }
        return parse_function(name, node->call->arguments, tensor, what);
    }
    *what = "a tensor whose description is not understood";
    return PLUMB_TORCH_OPAQUE;
}
