/* scan_codes.c - see scan_codes.h. */
#include "scan_codes.h"

#include "kernel/float_format.h"
#include "kernel/widen.h"
#include "model/dtype.h"

#include <string.h>

static double difference_of(struct plumb_integer a, struct plumb_integer b)
{
    const bool rises = b.negative ? a.negative && b.magnitude < a.magnitude
                                  : a.negative || b.magnitude > a.magnitude;
    double distance;
    if (a.negative == b.negative) {
        distance = (double)(a.magnitude > b.magnitude ? a.magnitude - b.magnitude
                                                      : b.magnitude - a.magnitude);
    } else {
        uint64_t sum;
        if (__builtin_add_overflow(a.magnitude, b.magnitude, &sum)) {
            /* 65 bits: the lowest only matters for rounding. */
            distance = 2 * (double)(UINT64_C(1) << 63 | sum >> 1 | (sum & 1));
        } else {
            distance = (double)sum;
        }
    }
    return rises ? distance : -distance;
}

void plumb_codes_difference(enum plumb_dtype dtype_a, const void *a, enum plumb_dtype dtype_b,
                            const void *b, size_t n, double *difference)
{
    const unsigned char *from_a = a, *from_b = b;
    const size_t size_a = plumb_dtype_size(dtype_a), size_b = plumb_dtype_size(dtype_b);
    for (size_t i = 0; i < n; i++)
        difference[i] = difference_of(plumb_integer_load(dtype_a, from_a + i * size_a),
                                      plumb_integer_load(dtype_b, from_b + i * size_b));
}

/* Codes of 8 bits as codes of 16: the order of the magnitude below, the sign on top. */
static uint16_t spread_code(enum plumb_dtype dtype, unsigned code)
{
    const unsigned magnitude = code & 0x7fU;
    const unsigned order =
        dtype == PLUMB_HIF8 ? plumb_hif8_order()->rank_of_code[magnitude] : magnitude;
    return (uint16_t)((code & 0x80U) << 8 | order);
}

static void spread_codes(enum plumb_dtype dtype, const unsigned char *from, size_t n,
                         uint16_t *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = spread_code(dtype, from[i]);
}

/* The codes of `from` rounded to the floating type `to_dtype`, 8-bit ones spread to 16. */
static void round_codes(enum plumb_dtype dtype, const void *from, size_t n,
                        enum plumb_dtype to_dtype, unsigned char *to)
{
    double values[PLUMB_BLOCK];
    const size_t size = plumb_dtype_size(to_dtype);
    plumb_widen(dtype, from, n, values);
    for (size_t i = 0; i < n; i++) {
        uint64_t code = plumb_round_to_bits(to_dtype, values[i], PLUMB_ROUND_NEAREST_EVEN);
        if (size == 1) {
            code = spread_code(to_dtype, (unsigned)code);
            memcpy(to + 2 * i, &code, 2);
        } else {
            memcpy(to + size * i, &code, size);
        }
    }
}

void plumb_codes_ulp(enum plumb_dtype dtype_a, const void *a, enum plumb_dtype dtype_b,
                     const void *b, size_t n, struct plumb_block_ulp *ulp)
{
    const enum plumb_dtype coarser = plumb_dtype_coarser(dtype_a, dtype_b);
    const int bits = plumb_dtype_size(coarser) == 1 ? 16 : 8 * (int)plumb_dtype_size(coarser);
    uint64_t codes_a[PLUMB_BLOCK], codes_b[PLUMB_BLOCK];
    if (dtype_a == dtype_b && plumb_dtype_size(coarser) == 1) {
        spread_codes(coarser, a, n, (uint16_t *)(void *)codes_a);
        spread_codes(coarser, b, n, (uint16_t *)(void *)codes_b);
        a = codes_a;
        b = codes_b;
    } else if (dtype_a != dtype_b) {
        round_codes(dtype_a, a, n, coarser, (unsigned char *)codes_a);
        round_codes(dtype_b, b, n, coarser, (unsigned char *)codes_b);
        a = codes_a;
        b = codes_b;
    }
    plumb_kernel()->ulp(bits, a, b, n, ulp);
}
