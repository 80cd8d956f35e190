/*
 * pattern_permuted.c - the same rows, columns or elements in another order.
 *
 * A permutation keeps the norm and the largest value, which the comparison has already, so
 * nearly all pairs are turned away before anything is read. Then every slice along an axis is
 * reduced to a key of 16 of its elements, and the sorted keys of both sides are compared.
 */
#include "compare/pattern.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_ELEMENTS = 16, MOST_SLICES = 65536 };

static uint64_t mix(uint64_t key, double value)
{
    uint64_t bits;
    value += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &value, sizeof bits);
    key = (key ^ bits) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

/* Keys of all slices along `axis`: elements at the same few places in each. */
static enum plumb_status slice_keys(const struct plumb_operand *operand, int axis,
                                    uint64_t *keys, struct plumb_error *err)
{
    const int64_t slices = operand->shape[axis];
    const int64_t stride = plumb_operand_stride(operand, axis);
    const int64_t outer = operand->count / (slices * stride); /* repeats of the axis */
    const int64_t inside = stride < KEY_ELEMENTS ? stride : KEY_ELEMENTS;
    const int64_t repeats =
        outer < KEY_ELEMENTS / inside ? outer : (KEY_ELEMENTS + inside - 1) / inside;
    for (int64_t k = 0; k < slices; k++) {
        keys[k] = 1;
        for (int64_t r = 0; r < repeats; r++) {
            const int64_t block = repeats > 1 ? r * (outer - 1) / (repeats - 1) : 0;
            double values[KEY_ELEMENTS];
            const enum plumb_status status = plumb_operand_values(
                operand, (block * slices + k) * stride, inside, values, err);
            if (status)
                return status;
            for (int64_t i = 0; i < inside; i++)
                keys[k] = mix(keys[k], values[i]);
        }
    }
    return PLUMB_OK;
}

static int by_key(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static size_t count_distinct(const uint64_t *sorted, size_t count)
{
    size_t distinct = count > 0;
    for (size_t i = 1; i < count; i++)
        distinct += sorted[i] != sorted[i - 1];
    return distinct;
}

/* How many slices stand elsewhere in B; 0 if they are not the same slices. */
static size_t count_moved(uint64_t *a, uint64_t *b, size_t count)
{
    size_t moved = 0;
    for (size_t i = 0; i < count; i++)
        moved += a[i] != b[i];
    qsort(a, count, sizeof *a, by_key);
    qsort(b, count, sizeof *b, by_key);
    const bool same = memcmp(a, b, count * sizeof *a) == 0;
    return same && count_distinct(a, count) * 2 > count ? moved : 0;
}

static enum plumb_status try_axis(const struct plumb_evidence *e, int axis, size_t *moved,
                                  struct plumb_error *err)
{
    const int64_t slices = e->a->shape[axis];
    *moved = 0;
    if (slices < 2 || slices > MOST_SLICES)
        return PLUMB_OK;
    uint64_t *keys = plumb_alloc_array((size_t)slices, 2 * sizeof *keys);
    if (!keys)
        return plumb_fail_memory(err);
    enum plumb_status status = slice_keys(e->a, axis, keys, err);
    if (!status)
        status = slice_keys(e->b, axis, keys + slices, err);
    if (!status)
        *moved = count_moved(keys, keys + slices, (size_t)slices);
    plumb_free(keys);
    return status;
}

static bool may_be_permuted(const struct plumb_evidence *e)
{
    const struct plumb_comparison *c = e->comparison;
    if (e->a->dtype != e->b->dtype || e->a->rank != e->b->rank || e->beyond_count < 2 ||
        memcmp(e->a->shape, e->b->shape, (size_t)e->a->rank * sizeof *e->a->shape) != 0)
        return false;
    return c->max_abs_a == c->max_abs_b && fabs(c->norm_a - c->norm_b) <= 1e-9 * c->norm_a;
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    if (!may_be_permuted(e))
        return PLUMB_OK;
    for (int axis = 0; axis < e->a->rank; axis++) {
        size_t moved;
        const enum plumb_status status = try_axis(e, axis, &moved, err);
        if (status)
            return status;
        if (moved == 0)
            continue;
        *found = true;
        const char *what = e->a->rank == 1 ? "elements" : "slices";
        if (e->a->rank > 1 && axis == 0)
            what = "rows (slices of axis 0)";
        else if (e->a->rank == 2)
            what = "columns (slices of axis 1)";
        plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                            "B has the same %s as A in another order along axis %d: %zu of "
                            "%lld stand elsewhere, 0 allowed",
                            what, axis, moved, (long long)e->a->shape[axis]);
        return PLUMB_OK;
    }
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_permuted = {
    .entry = {.name = "permuted",
              .summary = "the same rows, columns or elements in another order",
              .detail = "Nothing is lost, but slices along one axis stand elsewhere: attention "
                        "heads or fused\nprojections in another order, a vocabulary or expert "
                        "list sorted differently, shards\njoined in the wrong order."},
    .find = find,
};
