/* dtype.c - the element types: names, aliases, sizes, kinds. Numeric facts of the floating
 * types come from the table the kernels use. */
#include "dtype.h"

#include "kernel/float_format.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum kind { KIND_FLOAT, KIND_SIGNED, KIND_UNSIGNED, KIND_BOOL, KIND_COMPLEX };

struct dtype_row {
    const char *name;
    size_t size;
    enum kind kind;
    /* As numpy, torch, mindspore, safetensors and C spell it; "torch." and the like are cut
     * off before the search. */
    const char *aliases[6];
};

// clang-format off
static const struct dtype_row rows[PLUMB_DTYPE_COUNT] = {
    [PLUMB_F64] =    {"f64", 8, KIND_FLOAT, {"float64", "double", "fp64"}},
    [PLUMB_F32] =    {"f32", 4, KIND_FLOAT, {"float32", "float", "fp32", "single"}},
    [PLUMB_F16] =    {"f16", 2, KIND_FLOAT, {"float16", "half", "fp16"}},
    [PLUMB_BF16] =   {"bf16", 2, KIND_FLOAT, {"bfloat16"}},
    [PLUMB_F8E4M3] = {"f8e4m3", 1, KIND_FLOAT,
                      {"float8_e4m3fn", "f8_e4m3", "float8_e4m3", "fp8_e4m3", "f8e4m3fn"}},
    [PLUMB_F8E5M2] = {"f8e5m2", 1, KIND_FLOAT, {"float8_e5m2", "f8_e5m2", "fp8_e5m2"}},
    [PLUMB_HIF8] =   {"hif8", 1, KIND_FLOAT, {"hifloat8", "float8_hif8"}},
    [PLUMB_I8] =     {"i8", 1, KIND_SIGNED, {"int8", "char", "int8_t"}},
    [PLUMB_I16] =    {"i16", 2, KIND_SIGNED, {"int16", "short", "int16_t"}},
    [PLUMB_I32] =    {"i32", 4, KIND_SIGNED, {"int32", "int", "int32_t"}},
    [PLUMB_I64] =    {"i64", 8, KIND_SIGNED, {"int64", "long", "int64_t"}},
    [PLUMB_U8] =     {"u8", 1, KIND_UNSIGNED, {"uint8", "byte", "uint8_t"}},
    [PLUMB_U16] =    {"u16", 2, KIND_UNSIGNED, {"uint16", "uint16_t"}},
    [PLUMB_U32] =    {"u32", 4, KIND_UNSIGNED, {"uint32", "uint32_t"}},
    [PLUMB_U64] =    {"u64", 8, KIND_UNSIGNED, {"uint64", "uint64_t"}},
    [PLUMB_BOOL] =   {"bool", 1, KIND_BOOL, {"bool_", "boolean"}},
    [PLUMB_C64] =    {"c64", 8, KIND_COMPLEX, {"complex64", "cfloat"}},
    [PLUMB_C128] =   {"c128", 16, KIND_COMPLEX, {"complex128", "cdouble"}},
};

/* The second name is the NPU world's. */
static const struct {
    const char *name;
    const char *aliases[4];
} rounds[PLUMB_ROUND_COUNT] = {
    [PLUMB_ROUND_NEAREST_EVEN] = {"nearest-even", {"rint", "rne", "nearest"}},
    [PLUMB_ROUND_NEAREST_AWAY] = {"nearest-away", {"round", "a", "rna"}},
    [PLUMB_ROUND_TO_ODD] =       {"odd", {"o", "to-odd"}},
    [PLUMB_ROUND_UP] =           {"up", {"ceil"}},
    [PLUMB_ROUND_DOWN] =         {"down", {"floor"}},
    [PLUMB_ROUND_TO_ZERO] =      {"zero", {"trunc", "to-zero"}},
};
// clang-format on

static bool is_known(enum plumb_dtype dtype)
{
    return (unsigned)dtype < PLUMB_DTYPE_COUNT;
}

const char *plumb_dtype_name(enum plumb_dtype dtype)
{
    return is_known(dtype) ? rows[dtype].name : "unknown";
}

size_t plumb_dtype_size(enum plumb_dtype dtype)
{
    return is_known(dtype) ? rows[dtype].size : 0;
}

bool plumb_dtype_is_float(enum plumb_dtype dtype)
{
    return is_known(dtype) && rows[dtype].kind == KIND_FLOAT;
}

bool plumb_dtype_is_complex(enum plumb_dtype dtype)
{
    return is_known(dtype) && rows[dtype].kind == KIND_COMPLEX;
}

bool plumb_dtype_is_signed(enum plumb_dtype dtype)
{
    return is_known(dtype) && rows[dtype].kind == KIND_SIGNED;
}

bool plumb_dtype_is_integer(enum plumb_dtype dtype)
{
    return plumb_dtype_is_signed(dtype) ||
           (is_known(dtype) && rows[dtype].kind == KIND_UNSIGNED);
}

enum plumb_dtype plumb_dtype_part(enum plumb_dtype dtype)
{
    if (dtype == PLUMB_C64)
        return PLUMB_F32;
    return dtype == PLUMB_C128 ? PLUMB_F64 : dtype;
}

int plumb_dtype_parts(enum plumb_dtype dtype)
{
    return plumb_dtype_is_complex(dtype) ? 2 : 1;
}

static bool is_one_of(const char *name, const char *const *aliases, size_t count)
{
    for (size_t i = 0; i < count && aliases[i]; i++)
        if (strcasecmp(name, aliases[i]) == 0)
            return true;
    return false;
}

static const char *without_framework(const char *name)
{
    static const char *const prefixes[] = {"torch.", "mindspore.", "numpy.", "np."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return name + strlen(prefixes[i]);
    return name;
}

bool plumb_dtype_from_name(const char *name, enum plumb_dtype *dtype)
{
    const char *bare = without_framework(name);
    for (unsigned i = 0; i < PLUMB_DTYPE_COUNT; i++) {
        if (strcasecmp(bare, rows[i].name) == 0 || is_one_of(bare, rows[i].aliases, 6)) {
            *dtype = (enum plumb_dtype)i;
            return true;
        }
    }
    return false;
}

int plumb_dtype_precision(enum plumb_dtype dtype)
{
    const struct plumb_float_format *format = plumb_float_format(plumb_dtype_part(dtype));
    return format ? format->precision : 0;
}

double plumb_dtype_unit_roundoff(enum plumb_dtype dtype)
{
    const int precision = plumb_dtype_precision(dtype);
    return precision ? ldexp(1, -precision) : 0;
}

double plumb_dtype_min_normal(enum plumb_dtype dtype)
{
    const struct plumb_float_format *format = plumb_float_format(plumb_dtype_part(dtype));
    return format ? format->min_normal : 0;
}

double plumb_dtype_max(enum plumb_dtype dtype)
{
    const struct plumb_float_format *format = plumb_float_format(plumb_dtype_part(dtype));
    if (format)
        return format->max;
    if (!plumb_dtype_is_integer(dtype))
        return 1;
    const int bits = (int)rows[dtype].size * 8 - (rows[dtype].kind == KIND_SIGNED);
    return bits < 53 ? ldexp(1, bits) - 1 : ldexp(1, bits);
}

enum plumb_dtype plumb_dtype_coarser(enum plumb_dtype a, enum plumb_dtype b)
{
    const int precision_a = plumb_dtype_precision(a), precision_b = plumb_dtype_precision(b);
    if (precision_a == 0 || precision_b == 0)
        return precision_a == 0 ? b : a;
    return precision_b < precision_a ? b : a;
}

const char *plumb_round_name(enum plumb_round round)
{
    return (unsigned)round < PLUMB_ROUND_COUNT ? rounds[round].name : "unknown";
}

bool plumb_round_from_name(const char *name, enum plumb_round *round)
{
    for (unsigned i = 0; i < PLUMB_ROUND_COUNT; i++) {
        if (strcasecmp(name, rounds[i].name) == 0 || is_one_of(name, rounds[i].aliases, 4)) {
            *round = (enum plumb_round)i;
            return true;
        }
    }
    return false;
}
