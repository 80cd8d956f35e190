/*
 * scan_compare.c - comparing two arrays block by block.
 *
 * A block goes the shortest way that is right for it: equal bytes need only the norm; finite
 * values go through the kernel as they are; pairs that are not finite are counted and taken
 * out first; doubles too large or small to be squared are summed one by one as wide numbers.
 */
#include "scan_compare.h"

#include "kernel/kernel.h"
#include "kernel/kernel_lanes.h"
#include "kernel/widen.h"
#include "model/dtype.h"
#include "model/scan_codes.h"

#include <math.h>
#include <string.h>

/* At most PLUMB_BLOCK values of real types. */
struct block {
    const struct plumb_compare_task *task;
    enum plumb_dtype part_a, part_b;
    const unsigned char *a, *b;
    size_t n;
};

struct plumb_compare_task plumb_compare_task(enum plumb_dtype dtype_a, enum plumb_dtype dtype_b,
                                             double rtol, double atol)
{
    struct plumb_compare_task task = {
        .dtype_a = dtype_a, .dtype_b = dtype_b, .tolerance = {rtol, atol}};
    if (rtol == 0 && atol == 0) {
        task.tolerance[0] = 1e-5;
        task.tolerance[1] = 1e-8;
    }
    return task;
}

void plumb_compare_begin(struct plumb_compare_state *state)
{
    *state = (struct plumb_compare_state){.counts = {.first_index = -1, .worst_index = -1}};
}

static void add_wide(struct plumb_total *total, struct plumb_wide value)
{
    plumb_total_add(total, value.value, value.exponent);
}

/* NULL for a brief comparison. */
static const double *tolerance_of(const struct block *block)
{
    return block->task->brief ? NULL : block->task->tolerance;
}

static bool compares_integers(const struct block *block)
{
    return !plumb_dtype_is_float(block->part_a) && !plumb_dtype_is_float(block->part_b);
}

/* left, right and right - left, exact for integers too. */
static void load_block(const struct block *block, double *left, double *right,
                       double *difference)
{
    plumb_widen(block->part_a, block->a, block->n, left);
    plumb_widen(block->part_b, block->b, block->n, right);
    if (compares_integers(block)) {
        plumb_codes_difference(block->part_a, block->a, block->part_b, block->b, block->n,
                               difference);
        return;
    }
    for (size_t i = 0; i < block->n; i++)
        difference[i] = right[i] - left[i];
}

/* The sums of squares and products that plain doubles cannot hold. */
static void add_wide_sums(struct plumb_compare_state *state, const double *left,
                          const double *right, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct plumb_wide a = plumb_wide_of(left[i]), b = plumb_wide_of(right[i]);
        const struct plumb_wide d = plumb_wide_difference(left[i], right[i]);
        const double sign = left[i] > 0 ? 1 : left[i] < 0 ? -1 : 0;
        add_wide(&state->a_square, plumb_wide_times(a, a));
        add_wide(&state->b_square, plumb_wide_times(b, b));
        add_wide(&state->d_square, plumb_wide_times(d, d));
        add_wide(&state->dot, plumb_wide_times(a, b));
        add_wide(&state->d_a, plumb_wide_times(d, a));
        plumb_total_add(&state->a_absolute, fabs(a.value), a.exponent);
        plumb_total_add(&state->d_absolute, fabs(d.value), d.exponent);
        plumb_total_add(&state->d_sum, d.value, d.exponent);
        plumb_total_add(&state->d_outward, d.value * sign, d.exponent);
    }
}

/* Where b is not much smaller than a, its norm and the dot product follow from what the
 * kernel has summed anyway; the bound keeps what cancels below one digit. */
static void add_sums(struct plumb_compare_state *state, enum plumb_dtype direct, const void *a,
                     const void *b, size_t n, const struct plumb_block_pair *pair)
{
    double b_square = pair->a_square + 2 * pair->d_a + pair->d_square;
    double dot = pair->a_square + pair->d_a;
    if (!(b_square >= 0.1 * (pair->a_square + pair->d_square)))
        plumb_kernel()->products(direct, a, b, n, &b_square, &dot);
    plumb_total_add(&state->a_square, pair->a_square, 0);
    plumb_total_add(&state->b_square, b_square, 0);
    plumb_total_add(&state->d_square, pair->d_square, 0);
    plumb_total_add(&state->dot, dot, 0);
    plumb_total_add(&state->d_a, pair->d_a, 0);
    plumb_total_add(&state->a_absolute, pair->a_absolute, 0);
    plumb_total_add(&state->d_absolute, pair->d_absolute, 0);
    plumb_total_add(&state->d_sum, pair->d_sum, 0);
    plumb_total_add(&state->d_outward, pair->d_outward, 0);
}

static void add_counts(struct plumb_compare_state *state, const struct plumb_block_pair *pair,
                       size_t n)
{
    struct plumb_comparison *counts = &state->counts;
    counts->finite += n;
    counts->close += pair->close;
    counts->within_1e3 += pair->within_1e3;
    counts->within_5e3 += pair->within_5e3;
    counts->zero_reference += pair->zero_reference;
    state->zero += pair->zero;
    plumb_total_add(&state->relative, pair->relative, 0);
    state->block_error = pair->max_d;
    counts->max_rel = lane_max(pair->max_relative, counts->max_rel);
    counts->max_abs_a = lane_max(pair->max_a, counts->max_abs_a);
    counts->max_abs_b = lane_max(pair->max_b, counts->max_abs_b);
}

static uint64_t count_equal(const double *left, const double *right, size_t n)
{
    uint64_t equal = 0;
    for (size_t i = 0; i < n; i++)
        equal += left[i] == right[i];
    return equal;
}

/* Of integers that doubles cannot hold. */
static uint64_t count_equal_exactly(const struct block *block)
{
    double difference[PLUMB_BLOCK];
    uint64_t equal = 0;
    plumb_codes_difference(block->part_a, block->a, block->part_b, block->b, block->n,
                           difference);
    for (size_t i = 0; i < block->n; i++)
        equal += difference[i] == 0;
    return equal;
}

/* Equality and, of floating types, distances in units of the last place. `left` and `right`
 * are the values, needed for integers and for two different types. */
static void add_equality(struct plumb_compare_state *state, const struct block *block,
                         const double *left, const double *right, bool exactly)
{
    struct plumb_comparison *counts = &state->counts;
    const bool same_type = block->part_a == block->part_b;
    if (compares_integers(block) || !same_type) {
        const uint64_t equal = exactly && compares_integers(block)
                                   ? count_equal_exactly(block)
                                   : count_equal(left, right, block->n);
        counts->equal += equal;
        counts->bit_equal += same_type ? equal : 0;
    }
    if (compares_integers(block))
        return;
    struct plumb_block_ulp ulp;
    plumb_codes_ulp(block->part_a, block->a, block->part_b, block->b, block->n, &ulp);
    if (same_type) {
        counts->equal += block->n - ulp.above[0];
        counts->bit_equal += ulp.same;
    }
    uint64_t above = block->n;
    for (int k = 0; k < PLUMB_ULP_LIMITS; k++) {
        counts->ulp[k] += above - ulp.above[k];
        above = ulp.above[k];
    }
    counts->ulp[PLUMB_ULP_LIMITS] += above;
    counts->max_ulp = ulp.max > counts->max_ulp ? ulp.max : counts->max_ulp;
}

/* Extremes pass over a NaN, sums do not. */
static bool is_finite(const struct plumb_block_pair *pair)
{
    return !isnan(pair->d_absolute) && isfinite(pair->max_a) && isfinite(pair->max_b);
}

/* A block and where it begins, in parts, to be searched later. */
struct place {
    struct block block;
    int64_t position;
    int parts;
};

static int64_t place_index(const struct place *place, size_t i)
{
    return (place->position + (int64_t)i) / place->parts;
}

/* One pair; the error that is looked for, or 0 for any difference. */
static bool is_sought(double left, double right, double difference, double error)
{
    const bool finite = isfinite(left) && isfinite(right);
    if (error > 0)
        return finite && fabs(difference) == error;
    return finite ? difference != 0 : left != right && !(isnan(left) && isnan(right));
}

/* False where a glance by the kernel tells that what is sought is not there. */
static bool is_worth_a_look(const struct block *part, double error)
{
    struct plumb_block_pair pair;
    if (part->part_a != part->part_b || !plumb_kernel_is_direct(part->part_a))
        return true;
    plumb_kernel()->pair(part->part_a, part->a, part->b, part->n, NULL, &pair);
    return !is_finite(&pair) || pair.max_d >= error;
}

/* The first pair of the block that is_sought(), else its last. */
static int64_t find_pair(const struct place *place, double error)
{
    enum { PART = 64 };
    double left[PART], right[PART], difference[PART];
    const struct block *block = &place->block;
    for (size_t at = 0; at < block->n; at += PART) {
        struct block part = *block;
        part.a += at * plumb_dtype_size(block->part_a);
        part.b += at * plumb_dtype_size(block->part_b);
        part.n = block->n - at < PART ? block->n - at : PART;
        if (!is_worth_a_look(&part, error))
            continue;
        load_block(&part, left, right, difference);
        for (size_t i = 0; i < part.n; i++)
            if (is_sought(left[i], right[i], difference[i], error))
                return place_index(place, at + i);
    }
    return place_index(place, block->n - 1);
}

/* Equal bytes: only what depends on a alone. False if there are values that are not finite,
 * or not fit to be squared. */
static bool add_equal(struct plumb_compare_state *state, const struct block *block,
                      enum plumb_dtype direct, const void *values)
{
    struct plumb_block_sums sums;
    const struct plumb_kernel *kernel = plumb_kernel();
    const size_t n = block->n;
    kernel->sums(direct, values, n, 0, &sums);
    const double magnitude = lane_max(-sums.min, sums.max);
    if (!isfinite(sums.absolute) || !isfinite(magnitude) || !plumb_wide_is_ordinary(magnitude))
        return false;
    struct plumb_block_counts zeros = {0};
    if (sums.min_absolute == 0)
        kernel->counts(direct, values, n, 0, (double)INFINITY, &zeros);
    const struct plumb_block_pair pair = {.max_a = magnitude,
                                          .max_b = magnitude,

                                          .close = n,
                                          .within_1e3 = n,
                                          .within_5e3 = n,
                                          .zero = zeros.zero};
    add_counts(state, &pair, n);
    state->counts.equal += n;
    state->counts.bit_equal += n;
    if (!compares_integers(block))
        state->counts.ulp[0] += n;
    plumb_total_add(&state->a_square, sums.square, 0);
    plumb_total_add(&state->b_square, sums.square, 0);
    plumb_total_add(&state->dot, sums.square, 0);
    plumb_total_add(&state->a_absolute, sums.absolute, 0);
    return true;
}

/* Doubles that the kernel cannot square, or integers that doubles cannot hold. */
static void add_slowly(struct plumb_compare_state *state, const struct block *block,
                       struct plumb_block_pair *pair)
{
    double left[PLUMB_BLOCK], right[PLUMB_BLOCK], difference[PLUMB_BLOCK];
    struct pair_lanes lanes = {.d_square = {0}};
    load_block(block, left, right, difference);
    pair_lanes_add_all(&lanes, left, right, difference, block->n, tolerance_of(block));
    pair_lanes_fold(&lanes, pair);
    if (compares_integers(block))
        add_sums(state, PLUMB_F64, left, right, block->n, pair);
    else
        add_wide_sums(state, left, right, block->n);
}

static bool needs_slow(const struct block *block, enum plumb_dtype direct,
                       const struct plumb_block_pair *pair)
{
    if (compares_integers(block)) /* beyond 2^53 */
        return pair->max_a > 0x1p53 || pair->max_b > 0x1p53;
    return direct == PLUMB_F64 &&
           !(plumb_wide_is_ordinary(pair->max_a) && plumb_wide_is_ordinary(pair->max_b) &&
             plumb_wide_is_ordinary(pair->max_d));
}

enum { MOST_UNEQUAL = PLUMB_BLOCK / 8 }; /* above, going through all is as good */

/* Pairs whose bits differ, in order. */
struct unequal {
    size_t size, count;
    unsigned char a[MOST_UNEQUAL * sizeof(double)], b[MOST_UNEQUAL * sizeof(double)];
};

static void copy_elements(size_t size, const unsigned char *from, const uint16_t *index,
                          size_t count, unsigned char *to)
{
    if (size == 2) /* the common case, as single moves */
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * 2, from + index[i] * 2, 2);
    else
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * size, from + index[i] * size, size);
}

/* False if they are too many. */
static bool keep_unequal(const struct block *block, struct unequal *kept)
{
    enum { FIRST = 64 }; /* if a quarter of these differ, the rest is not worth a look */
    uint16_t index[PLUMB_BLOCK + 64];
    const size_t most = block->n / 8, size = kept->size;
    const size_t first = block->n < FIRST ? block->n : FIRST;
    if (plumb_kernel()->unequal(size, block->a, block->b, first, FIRST / 4, index) > FIRST / 4)
        return false;
    kept->count = plumb_kernel()->unequal(size, block->a, block->b, block->n, most, index);
    if (kept->count > most)
        return false;
    copy_elements(size, block->a, index, kept->count, kept->a);
    copy_elements(size, block->b, index, kept->count, kept->b);
    return true;
}

/* Of A; not needed for a brief comparison. */
static double sum_of_magnitudes(const struct block *block)
{
    struct plumb_block_sums sums = {0};
    if (!block->task->brief)
        plumb_kernel()->sums(block->part_a, block->a, block->n, 0, &sums);
    return sums.absolute;
}

/* A block of which few pairs differ: those go through the kernel, and the others only have a
 * norm. 16-bit results that differ by rounding are like this. False, and nothing added, if it
 * is not such a block or needs a slower way. */
static bool add_sparse(struct plumb_compare_state *state, const struct block *block)
{
    const enum plumb_dtype direct = block->part_a;
    struct unequal kept;
    kept.size = plumb_dtype_size(direct);
    if (!keep_unequal(block, &kept))
        return false;
    struct plumb_block_norm norm;
    struct plumb_block_pair pair;
    const struct plumb_kernel *kernel = plumb_kernel();
    const struct block few = {block->task, direct, direct, kept.a, kept.b, kept.count};
    kernel->norm(direct, block->a, block->n, &norm);
    kernel->pair(direct, kept.a, kept.b, kept.count, tolerance_of(block), &pair);
    const double magnitude = norm.max_absolute;
    /* If the largest of A is among the few, the largest of the others is not known. */
    if (!isfinite(norm.square) || !is_finite(&pair) || pair.max_a >= magnitude ||
        !plumb_wide_is_ordinary(magnitude) || needs_slow(&few, direct, &pair))
        return false;
    const uint64_t equal = block->n - kept.count;
    pair.a_square = norm.square;
    pair.a_absolute = sum_of_magnitudes(block);
    pair.max_a = magnitude;
    pair.max_b = lane_max(magnitude, pair.max_b);
    pair.close += equal;
    pair.within_1e3 += equal;
    pair.within_5e3 += equal;
    pair.zero = norm.zero;
    add_sums(state, direct, block->a, block->b, block->n, &pair);
    add_counts(state, &pair, block->n);
    state->counts.equal += equal;
    state->counts.bit_equal += equal;
    state->counts.ulp[0] += equal;
    add_equality(state, &few, NULL, NULL, false);
    return true;
}

/* False, and nothing added, if some value is not finite. */
static bool add_finite(struct plumb_compare_state *state, const struct block *block)
{
    double left[PLUMB_BLOCK], right[PLUMB_BLOCK];
    enum plumb_dtype direct = PLUMB_F64;
    const void *a = left, *b = right;
    const bool same_type = block->part_a == block->part_b;
    if (same_type && plumb_kernel_is_direct(block->part_a)) {
        direct = block->part_a;
        a = block->a;
        b = block->b;
    } else {
        plumb_widen(block->part_a, block->a, block->n, left);
        plumb_widen(block->part_b, block->b, block->n, right);
    }
    if (same_type &&
        memcmp(block->a, block->b, block->n * plumb_dtype_size(block->part_a)) == 0 &&
        add_equal(state, block, direct, a))
        return true;
    if (same_type && plumb_kernel_is_direct(block->part_a) && add_sparse(state, block))
        return true;
    struct plumb_block_pair pair;
    plumb_kernel()->pair(direct, a, b, block->n, tolerance_of(block), &pair);
    if (!is_finite(&pair))
        return false;
    const bool slow = needs_slow(block, direct, &pair);
    if (slow)
        add_slowly(state, block, &pair);
    else
        add_sums(state, direct, a, b, block->n, &pair);
    add_counts(state, &pair, block->n);
    add_equality(state, block, left, right, slow);
    return true;
}

/* One pair of which at least one side is not finite. */
static void count_special(struct plumb_comparison *counts, double a, double b, bool same_bits)
{
    counts->nan_a += isnan(a) != 0;
    counts->nan_b += isnan(b) != 0;
    counts->inf_a += isinf(a) != 0;
    counts->inf_b += isinf(b) != 0;
    if (isnan(a) != isnan(b))
        counts->nan_mismatch++;
    else if (!isnan(a) && a != b)
        counts->inf_mismatch++;
    else {
        counts->equal++;
        counts->close++;
        counts->within_1e3++;
        counts->within_5e3++;
        counts->bit_equal += same_bits;
    }
}

/* Takes the pairs that are not finite out and adds the others. */
static void add_mixed(struct plumb_compare_state *state, const struct block *block)
{
    double left[PLUMB_BLOCK], right[PLUMB_BLOCK];
    unsigned char kept_a[PLUMB_BLOCK * sizeof(double)], kept_b[PLUMB_BLOCK * sizeof(double)];
    const size_t size_a = plumb_dtype_size(block->part_a);
    const size_t size_b = plumb_dtype_size(block->part_b);
    size_t kept = 0;
    plumb_widen(block->part_a, block->a, block->n, left);
    plumb_widen(block->part_b, block->b, block->n, right);
    for (size_t i = 0; i < block->n; i++) {
        const unsigned char *a = block->a + i * size_a, *b = block->b + i * size_b;
        if (isfinite(left[i]) && isfinite(right[i])) {
            memcpy(kept_a + kept * size_a, a, size_a);
            memcpy(kept_b + kept * size_b, b, size_b);
            kept++;
        } else {
            const bool same = block->part_a == block->part_b && memcmp(a, b, size_a) == 0;
            count_special(&state->counts, left[i], right[i], same);
        }
    }
    const struct block finite = {block->task, block->part_a, block->part_b,
                                 kept_a,      kept_b,        kept};
    if (kept)
        (void)add_finite(state, &finite);
}

static void note_unequal(const struct plumb_compare_task *task, int64_t first, int parts,
                         uint64_t unequal)
{
    if (task->map && unequal)
        task->map->unequal[first / parts / task->map->block] += (uint32_t)unequal;
}

/* The blocks that hold the largest error and the first difference are remembered, and
 * searched only at the end: most are outdone by a later one. */
void plumb_compare_add(struct plumb_compare_state *state, const struct plumb_compare_task *task,
                       const void *a, const void *b, int64_t first, size_t count)
{
    struct plumb_comparison *counts = &state->counts;
    struct place here = {.block = {.task = task,
                                   .part_a = plumb_dtype_part(task->dtype_a),
                                   .part_b = plumb_dtype_part(task->dtype_b),
                                   .a = a,
                                   .b = b},
                         .parts = plumb_dtype_parts(task->dtype_a)};
    struct place worst = {.parts = 0}, begin = worst;
    struct block *block = &here.block;
    here.position = first * here.parts;
    for (size_t left = count * (size_t)here.parts; left; left -= block->n) {
        block->n = left < PLUMB_BLOCK ? left : PLUMB_BLOCK;
        const uint64_t equal_before = counts->equal;
        state->block_error = 0;
        if (!add_finite(state, block))
            add_mixed(state, block);
        const uint64_t unequal = block->n - (counts->equal - equal_before);
        counts->count += block->n;
        note_unequal(task, here.position, here.parts, unequal);
        if (unequal && counts->first_index < 0 && !begin.parts)
            begin = here;
        if (state->block_error > counts->max_abs) {
            counts->max_abs = state->block_error;
            worst = here;
        }
        here.position += (int64_t)block->n;
        block->a += block->n * plumb_dtype_size(block->part_a);
        block->b += block->n * plumb_dtype_size(block->part_b);
    }
    if (begin.parts)
        counts->first_index = find_pair(&begin, 0);
    if (worst.parts)
        counts->worst_index = find_pair(&worst, counts->max_abs);
}
