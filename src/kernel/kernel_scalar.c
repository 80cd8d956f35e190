/* kernel_scalar.c - the reference: plain C that says what every other kernel must give. */
#include "kernel.h"

#include "kernel_lanes.h"
#include "kernel_ulp.h"
#include "widen.h"

#include <string.h>

static void f16_from_f32(const void *from, size_t count, void *to)
{
    const unsigned char *in = from;
    unsigned char *out = to;
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, in + 4 * i, sizeof value);
        const uint16_t half = plumb_narrow_f16(value);
        memcpy(out + 2 * i, &half, sizeof half);
    }
}

static void f32_from_f16(const void *from, size_t count, void *to)
{
    const unsigned char *in = from;
    unsigned char *out = to;
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, in + 2 * i, sizeof half);
        const float value = plumb_widen_f16(half);
        memcpy(out + 4 * i, &value, sizeof value);
    }
}

static void add_sums(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                     struct plumb_sum_lanes *lanes)
{
    double values[PLUMB_QUICK_BLOCK];
    plumb_widen(direct, x, n, values);
    for (size_t i = 0; i < n; i++)
        sum_lane_add(lanes, i % SUM_LANES, values[i], pivot);
}

static void sums(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                 struct plumb_block_sums *result)
{
    struct plumb_sum_lanes lanes;
    sum_lanes_clear(&lanes);
    add_sums(direct, x, n, pivot, &lanes);
    sum_lanes_fold(&lanes, result);
}

static void finite_sums(enum plumb_dtype direct, const void *x, size_t n, double pivot,
                        struct plumb_block_sums *result, struct plumb_block_special *special)
{
    double values[PLUMB_QUICK_BLOCK];
    struct plumb_sum_lanes lanes;
    plumb_widen(direct, x, n, values);
    sum_lanes_clear(&lanes);
    *special = (struct plumb_block_special){0};
    for (size_t i = 0; i < n; i++)
        finite_lane_add(&lanes, i % SUM_LANES, values[i], pivot, special);
    sum_lanes_fold(&lanes, result);
}

static void counts(enum plumb_dtype direct, const void *x, size_t n, double low, double high,
                   struct plumb_block_counts *result)
{
    double values[PLUMB_QUICK_BLOCK];
    plumb_widen(direct, x, n, values);
    *result = (struct plumb_block_counts){0};
    for (size_t i = 0; i < n; i++) {
        const double magnitude = fabs(values[i]);
        result->zero += magnitude == 0;
        result->below += magnitude < low && magnitude != 0;
        result->at += magnitude >= high && high < (double)INFINITY;
    }
}

static void pair(enum plumb_dtype direct, const void *a, const void *b, size_t n,
                 const double *tolerance, struct plumb_block_pair *result)
{
    double left[PLUMB_BLOCK], right[PLUMB_BLOCK], difference[PLUMB_BLOCK];
    struct pair_lanes lanes = {.d_square = {0}};
    plumb_widen(direct, a, n, left);
    plumb_widen(direct, b, n, right);
    for (size_t i = 0; i < n; i++)
        difference[i] = right[i] - left[i];
    pair_lanes_add_all(&lanes, left, right, difference, n, tolerance);
    pair_lanes_fold(&lanes, result);
}

static void products(enum plumb_dtype direct, const void *a, const void *b, size_t n,
                     double *b_square, double *dot)
{
    double left[PLUMB_BLOCK], right[PLUMB_BLOCK];
    double square_lanes[PAIR_LANES] = {0}, dot_lanes[PAIR_LANES] = {0};
    plumb_widen(direct, a, n, left);
    plumb_widen(direct, b, n, right);
    for (size_t i = 0; i < n; i++) {
        square_lanes[i % PAIR_LANES] += right[i] * right[i];
        dot_lanes[i % PAIR_LANES] += left[i] * right[i];
    }
    *b_square = fold_sum4(square_lanes);
    *dot = fold_sum4(dot_lanes);
}

static void ulp(int bits, const void *a, const void *b, size_t n,
                struct plumb_block_ulp *result)
{
    *result = (struct plumb_block_ulp){0};
    ulp_count_from(bits, a, b, 0, n, result);
}

static uint64_t fingerprint(const void *words, size_t n, const struct plumb_print_keys *keys,
                            size_t first)
{
    const unsigned char *bytes = words;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i += 2) {
        uint32_t pair[2] = {0, 0};
        memcpy(pair, bytes + 4 * i, n - i < 2 ? sizeof *pair : sizeof pair);
        pair[0] += keys->word[first + i];
        pair[1] += keys->word[first + i + 1];
        sum += (uint64_t)pair[0] * pair[1];
    }
    return sum;
}

/* Zeros are counted, and the smallest magnitude is that of the others. */
static void set_zeros_apart(const void *x, size_t n, struct plumb_block_sums *result,
                            uint64_t *zero)
{
    double values[PLUMB_QUICK_BLOCK];
    plumb_widen(PLUMB_F32, x, n, values);
    *zero = 0;
    result->min_absolute = (double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        *zero += values[i] == 0;
        if (values[i] != 0)
            result->min_absolute = lane_min(fabs(values[i]), result->min_absolute);
    }
}

static void print_pieces(const unsigned char *from, size_t n,
                         const struct plumb_print_keys *keys, uint64_t *prints)
{
    for (size_t at = 0, words; at < n; at += words) {
        words = n - at < PLUMB_FINGERPRINT_WORDS ? n - at : PLUMB_FINGERPRINT_WORDS;
        *prints++ = fingerprint(from + 4 * at, words, keys, 0);
    }
}

static void sums_printed(const void *x, size_t n, double pivot,
                         const struct plumb_print_keys *keys, struct plumb_block_sums *result,
                         uint64_t *prints, uint64_t *zero)
{
    sums(PLUMB_F32, x, n, pivot, result);
    if (zero)
        set_zeros_apart(x, n, result, zero);
    print_pieces(x, n, keys, prints);
}

/* What a group adds to the lanes; of what is finite, if it skips the rest. */
static void add_group(const float *x, float pivot, bool skips, struct plumb_sum_lanes *lanes)
{
    enum { LANES = 2 * SUM_LANES };
    float sum[LANES] = {0}, square[LANES] = {0}, absolute[LANES] = {0};
    for (size_t i = 0; i < PLUMB_QUICK_GROUP; i++) {
        const size_t lane = i % LANES;
        if (!isfinite(x[i]) && skips)
            continue;
        const float d = x[i] - pivot;
        sum[lane] += d;
        square[lane] = fmaf(d, d, square[lane]);
        absolute[lane] += fabsf(x[i]);
    }
    for (size_t lane = 0; lane < SUM_LANES; lane++) {
        lanes->sum[lane] += (double)(sum[lane] + sum[lane + SUM_LANES]);
        lanes->square[lane] += (double)(square[lane] + square[lane + SUM_LANES]);
        lanes->absolute[lane] += (double)(absolute[lane] + absolute[lane + SUM_LANES]);
    }
}

static void add_groups(const void *x, size_t n, float pivot, bool skips,
                       struct plumb_block_sums *result)
{
    float values[PLUMB_QUICK_BLOCK];
    struct plumb_sum_lanes lanes;
    memcpy(values, x, n * sizeof *values);
    sum_lanes_clear(&lanes);
    for (size_t at = 0; at < n; at += PLUMB_QUICK_GROUP)
        add_group(values + at, pivot, skips, &lanes);
    result->sum = fold_sum8(lanes.sum);
    result->square = fold_sum8(lanes.square);
    result->absolute = fold_sum8(lanes.absolute);
}

static void quick_sums(const void *x, size_t n, float pivot,
                       const struct plumb_print_keys *keys, struct plumb_block_sums *result,
                       uint64_t *prints, uint64_t *zero)
{
    sums(PLUMB_F32, x, n, 0, result); /* for the extremes */
    add_groups(x, n, pivot, false, result);
    if (zero)
        set_zeros_apart(x, n, result, zero);
    if (keys)
        print_pieces(x, n, keys, prints);
}

static void quick_finite_sums(const void *x, size_t n, float pivot,
                              const struct plumb_print_keys *keys,
                              struct plumb_block_sums *result, uint64_t *prints,
                              struct plumb_block_special *special)
{
    finite_sums(PLUMB_F32, x, n, 0, result, special);
    add_groups(x, n, pivot, true, result);
    if (keys)
        print_pieces(x, n, keys, prints);
}

static size_t unequal(size_t size, const void *a, const void *b, size_t n, size_t most,
                      uint16_t *index)
{
    const unsigned char *left = a, *right = b;
    size_t count = 0;
    for (size_t i = 0; i < n && count <= most; i++)
        if (memcmp(left + i * size, right + i * size, size) != 0)
            index[count++] = (uint16_t)i;
    return count;
}

static void norm(enum plumb_dtype direct, const void *x, size_t n,
                 struct plumb_block_norm *result)
{
    double values[PLUMB_BLOCK], lanes[SUM_LANES] = {0};
    *result = (struct plumb_block_norm){0};
    plumb_widen(direct, x, n, values);
    for (size_t i = 0; i < n; i++) {
        lanes[i % SUM_LANES] = fma(values[i], values[i], lanes[i % SUM_LANES]);
        result->zero += values[i] == 0;
        result->max_absolute = lane_max(fabs(values[i]), result->max_absolute);
    }
    result->square = fold_sum8(lanes);
}

static const struct plumb_kernel scalar_kernel = {
    .name = "scalar",
    .f16_from_f32 = f16_from_f32,
    .f32_from_f16 = f32_from_f16,
    .sums = sums,
    .add_sums = add_sums,
    .sums_printed = sums_printed,
    .quick_sums = quick_sums,
    .quick_finite_sums = quick_finite_sums,
    .finite_sums = finite_sums,
    .counts = counts,
    .pair = pair,
    .products = products,
    .ulp = ulp,
    .unequal = unequal,
    .norm = norm,
    .fingerprint = fingerprint,
};

const struct plumb_kernel *plumb_kernel_scalar(void)
{
    return &scalar_kernel;
}
