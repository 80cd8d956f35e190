/*
 * verdict_lab.h - makes pairs of tensors in memory and has them judged.
 *
 * Included by the tests of verdicts and patterns only; everything is static, and every random
 * number comes from a seed, so that a failure names the case that gives it.
 */
#ifndef VERDICT_LAB_H
#define VERDICT_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/judge.h"
#include "plumb.h"

struct random_state {
    uint64_t state;
};

static inline uint64_t random_bits(struct random_state *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline double random_uniform(struct random_state *r)
{
    return ((double)(random_bits(r) >> 11) + 0.5) * 0x1p-53;
}

static inline double random_normal(struct random_state *r)
{
    const double u = random_uniform(r), v = random_uniform(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* One value rounded to a type and back. */
static inline double round_value(double x, enum plumb_dtype dtype, enum plumb_round round)
{
    unsigned char raw[16];
    double back;
    assert_int_equal(plumb_convert_values(PLUMB_F64, &x, dtype, raw, 1, round, NULL), 0);
    assert_int_equal(
        plumb_convert_values(dtype, raw, PLUMB_F64, &back, 1, PLUMB_ROUND_NEAREST_EVEN, NULL),
        0);
    return back;
}

/* A tensor: values as doubles until it is stored as its dtype. */
struct lab_tensor {
    enum plumb_dtype dtype;
    int rank;
    int64_t shape[4];
    size_t count;
    void *raw;
};

static inline void lab_store(struct lab_tensor *t, enum plumb_dtype dtype,
                             enum plumb_round round, int rank, const int64_t *shape,
                             const double *values)
{
    *t = (struct lab_tensor){.dtype = dtype, .rank = rank, .count = 1};
    for (int i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        t->count *= (size_t)shape[i];
    }
    t->raw = malloc(t->count * plumb_dtype_size(dtype) + 1);
    assert_non_null(t->raw);
    assert_int_equal(
        plumb_convert_values(PLUMB_F64, values, dtype, t->raw, t->count, round, NULL), 0);
}

static inline void lab_free(struct lab_tensor *t)
{
    free(t->raw);
}

static inline uint32_t count_unequal(const struct lab_tensor *a, const struct lab_tensor *b,
                                     size_t first, size_t count)
{
    struct plumb_comparison c;
    plumb_values_compare(a->dtype, (const char *)a->raw + first * plumb_dtype_size(a->dtype),
                         b->dtype, (const char *)b->raw + first * plumb_dtype_size(b->dtype),
                         count, 0, 0, &c);
    return (uint32_t)(c.count - c.equal);
}

static inline struct plumb_judgement lab_judge(const struct lab_tensor *a,
                                               const struct lab_tensor *b)
{
    enum { BLOCK = 4096 };
    struct plumb_comparison comparison;
    struct plumb_judgement judgement;
    struct plumb_operand x, y;
    struct plumb_error err = {.message = ""};
    plumb_values_compare(a->dtype, a->raw, b->dtype, b->raw, a->count, 0, 0, &comparison);
    struct plumb_block_map map = {.block = BLOCK, .count = (a->count + BLOCK - 1) / BLOCK};
    map.unequal = calloc(map.count + 1, sizeof *map.unequal);
    assert_non_null(map.unequal);
    for (size_t i = 0; i < map.count; i++) {
        const size_t left = a->count - i * BLOCK;
        map.unequal[i] = count_unequal(a, b, i * BLOCK, left < BLOCK ? left : BLOCK);
    }
    plumb_operand_of_array(&x, a->dtype, a->rank, a->shape, a->raw);
    plumb_operand_of_array(&y, b->dtype, b->rank, b->shape, b->raw);
    if (plumb_judge_pair(&x, &y, &comparison, &map, &judgement, &err))
        fail_msg("%s", err.message);
    free(map.unequal);
    return judgement;
}

static inline void expect(struct plumb_judgement got, enum plumb_verdict verdict,
                          enum plumb_pattern pattern, const char *what, uint64_t seed)
{
    if (got.verdict != verdict || got.pattern != pattern)
        fail_msg("%s, seed %llu: expected %s/%s, got %s/%s: %s", what, (unsigned long long)seed,
                 plumb_verdict_name(verdict), plumb_pattern_name(pattern),
                 plumb_verdict_name(got.verdict), plumb_pattern_name(got.pattern), got.reason);
    assert_true(got.reason[0] != '\0');
    assert_null(strchr(got.reason, '\n'));
}

#endif
