/* scan_codes.c - see scan_codes.h. */
#include "scan_codes.h"

#include "kernel/float_format.h"
#include "kernel/widen.h"
#include "model/dtype.h"

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

/* The codes of n values as the floating type `to_dtype`, rounded if they are of another. Codes
 * of 8 bits are spread to 16. Gives `room`, or `from` itself if nothing had to be done. */
static const void *codes_in(enum plumb_dtype dtype, const void *from, size_t n,
                            enum plumb_dtype to_dtype, uint64_t *room)
{
    unsigned char rounded[PLUMB_BLOCK];
    const bool narrow = plumb_dtype_size(to_dtype) == 1;
    if (dtype != to_dtype)
        (void)plumb_convert_values(dtype, from, to_dtype,
                                   narrow ? (void *)rounded : (void *)room, n,
                                   PLUMB_ROUND_NEAREST_EVEN, NULL);
    if (narrow)
        spread_codes(to_dtype, dtype == to_dtype ? from : rounded, n, (uint16_t *)(void *)room);
    return dtype == to_dtype && !narrow ? from : room;
}

void plumb_codes_ulp(enum plumb_dtype dtype_a, const void *a, enum plumb_dtype dtype_b,
                     const void *b, size_t n, struct plumb_block_ulp *ulp)
{
    const enum plumb_dtype coarser = plumb_dtype_coarser(dtype_a, dtype_b);
    const int bits = plumb_dtype_size(coarser) == 1 ? 16 : 8 * (int)plumb_dtype_size(coarser);
    uint64_t codes_a[PLUMB_BLOCK], codes_b[PLUMB_BLOCK];
    a = codes_in(dtype_a, a, n, coarser, codes_a);
    b = codes_in(dtype_b, b, n, coarser, codes_b);
    plumb_kernel()->ulp(bits, a, b, n, ulp);
}
