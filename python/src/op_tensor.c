/* op_tensor.c - see op_tensor.h. */
#include "op_tensor.h"

static const struct {
    int32_t scalar_type;
    enum plumb_dtype dtype;
} types[] = {
    {6, PLUMB_F32},     {4, PLUMB_I64},     {11, PLUMB_BOOL}, {15, PLUMB_BF16}, {5, PLUMB_F16},
    {7, PLUMB_F64},     {3, PLUMB_I32},     {0, PLUMB_U8},    {1, PLUMB_I8},    {2, PLUMB_I16},
    {23, PLUMB_F8E5M2}, {24, PLUMB_F8E4M3}, {27, PLUMB_U16},  {28, PLUMB_U32},  {29, PLUMB_U64},
    {9, PLUMB_C64},     {10, PLUMB_C128},
};

bool plumb_dtype_of_torch(int32_t scalar_type, enum plumb_dtype *dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].scalar_type == scalar_type) {
            *dtype = types[i].dtype;
            return true;
        }
    return false;
}

void plumb_op_tensor_settle(struct plumb_op_tensor *tensor)
{
    int64_t expected = 1, span = 1;
    bool plain = true, shared = false;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        const int64_t length = tensor->shape[i], stride = tensor->strides[i];
        if (length == 1)
            continue;
        plain &= stride == expected;
        shared |= stride <= 0;
        expected *= length;
        span += (length - 1) * stride;
    }
    const int64_t size = (int64_t)plumb_dtype_size(tensor->dtype);
    if (plain)
        tensor->order = PLUMB_ORDER_PLAIN;
    else
        tensor->order =
            !shared && span == tensor->count ? PLUMB_ORDER_PERMUTED : PLUMB_ORDER_SCATTERED;
    tensor->end = (uintptr_t)tensor->data + (uintptr_t)((span > 0 ? span : 1) * size);
}

bool plumb_op_tensor_from_view(const struct plumb_view *view, struct plumb_op_tensor *tensor)
{
    if (!view->count)
        return false;
    *tensor = (struct plumb_op_tensor){
        .data = view->data,
        .count = view->count,
        .dtype = view->dtype,
        .rank = view->rank,
        .shape = view->shape,
        .strides = view->strides,
        .storage = (uintptr_t)view->data,
    };
    plumb_op_tensor_settle(tensor);
    return true;
}

/* What can be asked of any tensor without making torch throw. */
static enum plumb_op_look look_from_afar(const struct plumb_torch_symbols *torch,
                                         plumb_torch_tensor handle, enum plumb_dtype *dtype)
{
    bool defined = false;
    int32_t layout = 0, device = 0, scalar_type = 0;
    /* First: an undefined tensor throws at every other question. */
    if (torch->is_defined(handle, &defined) || !defined)
        return PLUMB_LOOK_NOTHING;
    if (torch->layout(handle, &layout) || layout || torch->device(handle, &device) || device ||
        torch->dtype(handle, &scalar_type) || !plumb_dtype_of_torch(scalar_type, dtype))
        return PLUMB_LOOK_FOREIGN;
    return PLUMB_LOOK_READY;
}

enum plumb_op_look plumb_op_tensor_of(const struct plumb_torch_symbols *torch,
                                      plumb_torch_tensor handle, struct plumb_op_tensor *tensor)
{
    enum plumb_dtype dtype;
    const enum plumb_op_look look = look_from_afar(torch, handle, &dtype);
    if (look != PLUMB_LOOK_READY)
        return look;
    int64_t count = 0, rank = 0, offset = 0, *shape = NULL, *strides = NULL;
    void *data = NULL;
    if (torch->count(handle, &count) || count < 0)
        return PLUMB_LOOK_FAILED;
    if (count == 0)
        return PLUMB_LOOK_NOTHING;
    if (torch->data(handle, &data) || torch->rank(handle, &rank) || rank > PLUMB_MAX_RANK ||
        torch->shape(handle, &shape) || torch->strides(handle, &strides) ||
        torch->offset(handle, &offset))
        return PLUMB_LOOK_FAILED;
    /* A part of a larger tensor begins behind the memory that it has none of. */
    const uintptr_t storage = (uintptr_t)data - (uintptr_t)offset * plumb_dtype_size(dtype);
    if (!storage)
        return PLUMB_LOOK_WRAPPER;
    *tensor = (struct plumb_op_tensor){
        .data = data,
        .count = count,
        .dtype = dtype,
        .rank = (int)rank,
        .shape = shape,
        .strides = strides,
        .storage = storage,
    };
    plumb_op_tensor_settle(tensor);
    return PLUMB_LOOK_READY;
}

const void *plumb_op_tensor_values(const struct plumb_op_tensor *tensor)
{
    if (tensor->order == PLUMB_ORDER_PLAIN)
        return tensor->data;
    struct plumb_view view;
    if (plumb_view_at(&view, tensor->dtype, tensor->data, tensor->rank, tensor->shape,
                      tensor->strides) != PLUMB_VIEW_READY)
        return NULL;
    return plumb_view_values(&view);
}
