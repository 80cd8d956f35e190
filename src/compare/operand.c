/* operand.c - reads single elements and short runs of a tensor or an array as doubles. */
#include "compare/operand.h"

#include "kernel/widen.h"

#include <string.h>

enum { RAW_BYTES = 16384 };

/* What trained parameters are called in either framework. */
static bool named_like_weight(const char *name)
{
    static const char *const endings[] = {"weight",          "bias",     "gamma",   "beta",
                                          "embedding_table", "weight_g", "weight_v"};
    if (!name || strstr(name, "grad"))
        return false;
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcmp(last, endings[i]) == 0)
            return true;
    return strncmp(last, "weight_", 7) == 0 || strncmp(last, "bias_", 5) == 0;
}

static enum plumb_dtype part_dtype(enum plumb_dtype dtype)
{
    if (dtype == PLUMB_C64)
        return PLUMB_F32;
    return dtype == PLUMB_C128 ? PLUMB_F64 : dtype;
}

static void set_shape(struct plumb_operand *operand, enum plumb_dtype dtype, int rank,
                      const int64_t *shape)
{
    operand->dtype = part_dtype(dtype);
    operand->rank = rank;
    operand->count = 1;
    for (int i = 0; i < rank; i++)
        operand->shape[i] = shape[i];
    if (plumb_dtype_is_complex(dtype))
        operand->shape[operand->rank++] = 2;
    for (int i = 0; i < operand->rank; i++)
        operand->count *= operand->shape[i];
}

void plumb_operand_of_tensor(struct plumb_operand *operand, const struct plumb_tensor *tensor)
{
    *operand = (struct plumb_operand){.tensor = tensor};
    set_shape(operand, tensor->dtype, tensor->rank, tensor->shape);
    operand->weight = tensor->parameter && named_like_weight(tensor->name);
}

void plumb_operand_of_array(struct plumb_operand *operand, enum plumb_dtype dtype, int rank,
                            const int64_t *shape, const void *array)
{
    *operand = (struct plumb_operand){.array = array};
    set_shape(operand, dtype, rank, shape);
}

/* Raw parts [first, first + count), at most RAW_BYTES of them; `*raw` points at the first. */
static enum plumb_status read_raw(const struct plumb_operand *operand, int64_t first,
                                  int64_t count, unsigned char *buffer,
                                  const unsigned char **raw, struct plumb_error *err)
{
    const size_t size = plumb_dtype_size(operand->dtype);
    if (operand->array) {
        *raw = (const unsigned char *)operand->array + (size_t)first * size;
        return PLUMB_OK;
    }
    *raw = buffer;
    if (!plumb_dtype_is_complex(operand->tensor->dtype))
        return plumb_tensor_read(operand->tensor, first, count, buffer, err);
    const int64_t pair = first / 2;
    const int64_t end = (first + count + 1) / 2;
    *raw = buffer + (size_t)(first - 2 * pair) * size;
    return plumb_tensor_read(operand->tensor, pair, end - pair, buffer, err);
}

enum plumb_status plumb_operand_values(const struct plumb_operand *operand, int64_t first,
                                       int64_t count, double *values, struct plumb_error *err)
{
    _Alignas(16) unsigned char buffer[RAW_BYTES + 32]; /* a complex number on either side */
    const int64_t most = RAW_BYTES / (int64_t)plumb_dtype_size(operand->dtype);
    while (count > 0) {
        const int64_t now = count < most ? count : most;
        const unsigned char *raw;
        enum plumb_status status = read_raw(operand, first, now, buffer, &raw, err);
        if (status)
            return status;
        plumb_widen(operand->dtype, raw, (size_t)now, values);
        first += now;
        values += now;
        count -= now;
    }
    return PLUMB_OK;
}

enum plumb_status plumb_operand_bits(const struct plumb_operand *operand, int64_t index,
                                     uint64_t *bits, struct plumb_error *err)
{
    _Alignas(16) unsigned char buffer[64];
    const unsigned char *raw;
    const enum plumb_status status = read_raw(operand, index, 1, buffer, &raw, err);
    *bits = 0;
    if (!status)
        memcpy(bits, raw, plumb_dtype_size(operand->dtype)); /* x86 and Arm: low byte first */
    return status;
}

int64_t plumb_operand_stride(const struct plumb_operand *operand, int axis)
{
    int64_t stride = 1;
    for (int i = axis + 1; i < operand->rank; i++)
        stride *= operand->shape[i];
    return stride;
}
