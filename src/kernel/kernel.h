/*
 * kernel.h - the inner loops: what is computed over one block of at most 4096 elements, for quick sums 16384.
 *
 * Each kernel exists as portable C (the reference) and for AVX2, some for AVX-512, and all give the same bits:
 * sums are fp64 per element (the quick ones fp32 over short groups), elements go to fixed lanes,
 * and the lanes are folded in one fixed order (kernel_lanes.h). A block with a value that is not finite gives a
 * result with an infinity or NaN in `absolute`; the caller then takes such values out and
 * calls again, so the kernels themselves need no slow path.
 */
#ifndef PLUMB_KERNEL_KERNEL_H
#define PLUMB_KERNEL_KERNEL_H

#include "plumb.h"

enum {
    PLUMB_BLOCK = 4096,             /* elements: of two types of 16 or 32 bits they fit in L1 */
    PLUMB_FINGERPRINT_WORDS = 1024, /* 32-bit words of a fingerprint block */
    PLUMB_QUICK_BLOCK =
        4 *
        PLUMB_BLOCK, /* elements of f32: one pass over them has less to do before and after */
    PLUMB_BLOCK_PRINTS = PLUMB_QUICK_BLOCK / PLUMB_FINGERPRINT_WORDS, /* of a block of f32 */
    PLUMB_QUICK_GROUP = 512, /* elements whose sums are taken in single precision */
    PLUMB_ULP_LIMITS = PLUMB_ULP_BUCKETS - 1,
};

struct plumb_block_sums {
    double sum, square;            /* of x - pivot, of its square */
    double absolute;               /* of |x| */
    double min, max, min_absolute; /* +inf, -inf, +inf for an empty block */
};

/* What a block's elements add up to before the fold: element i goes to lane i modulo 8. */
struct plumb_sum_lanes {
    _Alignas(32) double sum[8];
    double square[8], absolute[8];
    double min[8], max[8], min_absolute[8];
};

struct plumb_block_special {
    uint64_t nan, pos_inf, neg_inf;
};

struct plumb_block_counts {
    uint64_t zero, below, at; /* |x| == 0, 0 < |x| < low, |x| >= high */
};

struct plumb_block_norm {
    double square;       /* sum of x * x, the bits that `sums` gives with a pivot of 0 */
    double max_absolute; /* where all values are finite */
    uint64_t zero;
};

struct plumb_block_pair {
    double d_square, d_absolute, d_sum; /* d = b - a */
    double d_outward;                   /* sum of d * sign(a) */
    double d_a;                         /* sum of d * a */
    double a_square, a_absolute;
    double relative; /* sum of |d| / |a| over a != 0 */
    double max_d, max_relative, max_a, max_b;
    uint64_t close, within_1e3, within_5e3;
    uint64_t zero;           /* a == 0 */
    uint64_t zero_reference; /* a == 0, b != 0 */
};

struct plumb_block_ulp {
    uint64_t same;                    /* equal bits */
    uint64_t above[PLUMB_ULP_LIMITS]; /* distance > 0, 1, 2, 4, 16, 256, 65536 */
    uint64_t max;
};

/* Of a fingerprint's words. */
struct plumb_print_keys {
    _Alignas(32) uint32_t word[PLUMB_FINGERPRINT_WORDS];
};

/* `direct` types, which kernels read as they lie in memory: f64, f32, f16, bf16. Everything
 * else is widened to f64 first. Pointers need no alignment. `n` is at most PLUMB_BLOCK, where quick sums, and what
 * stands in for them, are concerned PLUMB_QUICK_BLOCK. */
struct plumb_kernel {
    const char *name;
    void (*f16_from_f32)(const void *from, size_t count, void *to); /* nearest even */
    void (*f32_from_f16)(const void *from, size_t count, void *to);
    void (*sums)(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                 struct plumb_block_sums *sums);
    /* The same in pieces, to lanes that sum_lanes_clear() cleared; `n` is a multiple of 8 but for
     * the last piece. */
    void (*add_sums)(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                     struct plumb_sum_lanes *lanes);
    /* The sums of f32, and what `fingerprint` gives for each of its pieces of
     * PLUMB_FINGERPRINT_WORDS, from the first key on. With `zero` zeros are counted there, and
     * min_absolute is that of the others. */
    void (*sums_printed)(const void *x, size_t n, double pivot,
                         const struct plumb_print_keys *keys, struct plumb_block_sums *sums,
                         uint64_t *prints, uint64_t *zero);
    /* The same with sums in single precision over groups of PLUMB_QUICK_GROUP, each lane on its own, and in
     * double precision over the groups: half as long. `n` is a multiple of PLUMB_FINGERPRINT_WORDS; without
     * keys there are no prints. */
    void (*quick_sums)(const void *x, size_t n, float pivot,
                       const struct plumb_print_keys *keys, struct plumb_block_sums *sums,
                       uint64_t *prints, uint64_t *zero);
    /* The same of what is finite: other elements leave their lane as it is, and are counted. */
    void (*quick_finite_sums)(const void *x, size_t n, float pivot,
                              const struct plumb_print_keys *keys,
                              struct plumb_block_sums *sums, uint64_t *prints,
                              struct plumb_block_special *special);
    /* Sums of what is finite: other elements leave their lane as it is, and are counted. Not
     * for f64. */
    void (*finite_sums)(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                        struct plumb_block_sums *sums, struct plumb_block_special *special);
    /* With `high` infinite nothing is at it. */
    void (*counts)(enum plumb_dtype direct, const void *x, size_t n, double low, double high,
                   struct plumb_block_counts *counts);
    /* tolerance: relative, absolute. NULL: close, d_outward and a_absolute are left out,
     * which saves a quarter of the work. */
    void (*pair)(enum plumb_dtype direct, const void *a, const void *b, size_t n,
                 const double *tolerance, struct plumb_block_pair *pair);
    /* Sums of b * b and a * b. */
    void (*products)(enum plumb_dtype direct, const void *a, const void *b, size_t n,
                     double *b_square, double *dot);
    /* Codes of sign and magnitude, 16, 32 or 64 bits wide. */
    void (*ulp)(int bits, const void *a, const void *b, size_t n, struct plumb_block_ulp *ulp);
    /* Which elements of 2, 4 or 8 bytes differ in their bits: the indices, in order. Stops when
     * there are more than `most`, and then returns more than that; `index` has room for
     * PLUMB_BLOCK. */
    size_t (*unequal)(size_t size, const void *a, const void *b, size_t n, size_t most,
                      uint16_t *index);
    void (*norm)(enum plumb_dtype direct, const void *x, size_t n,
                 struct plumb_block_norm *norm);
    /* Sum over pairs of (word[i] + key[first + i]) * (word[i + 1] + key[first + i + 1]), the factors modulo 2^32 and
     * the sum modulo 2^64, i and `first` even; 0 stands in for the partner of an odd one at the end. May
     * fetch what lies behind the words into the cache: the next ones. */
    uint64_t (*fingerprint)(const void *words, size_t n, const struct plumb_print_keys *keys,
                            size_t first);
};

/* The kernels of this process: chosen once, by the CPU or by PLUMB_CPU=scalar|avx2|avx512. */
const struct plumb_kernel *plumb_kernel(void);
const struct plumb_kernel *plumb_kernel_scalar(void);
const struct plumb_kernel *plumb_kernel_avx2(void);   /* NULL where the CPU lacks it */
const struct plumb_kernel *plumb_kernel_avx512(void); /* the same */

bool plumb_kernel_is_direct(enum plumb_dtype dtype);

extern const uint64_t plumb_ulp_limits[PLUMB_ULP_LIMITS];

#endif
