/*
 * pattern_transposed.c - B holds A with its axes in another order.
 *
 * All orders of up to four axes longer than one are tried at a few places: an order that is
 * wrong fails within a handful of reads. Only the order of the values counts, so that a
 * transposed matrix is found both as [n, m] and, written without reshaping, as [m, n].
 */
#include "compare/pattern.h"

#include <stdio.h>

enum { MOST_AXES = 4, PLACES = 256, MOST_MISSES = 8 };

struct axis_order {
    int rank; /* of axes longer than one */
    int64_t shape[MOST_AXES], stride[MOST_AXES];
    int axis[MOST_AXES]; /* which axis of A each is */
};

static bool long_axes(const struct plumb_operand *a, struct axis_order *axes)
{
    axes->rank = 0;
    for (int i = 0; i < a->rank; i++) {
        if (a->shape[i] == 1)
            continue;
        if (axes->rank == MOST_AXES)
            return false;
        axes->shape[axes->rank] = a->shape[i];
        axes->stride[axes->rank] = plumb_operand_stride(a, i);
        axes->axis[axes->rank++] = i;
    }
    return axes->rank >= 2;
}

/* Which element of A stands at `index` once its axes are in the given order. */
static int64_t source_of(const struct axis_order *axes, const int *order, int64_t index)
{
    int64_t source = 0;
    for (int k = axes->rank - 1; k >= 0; k--) {
        const int64_t length = axes->shape[order[k]];
        source += index % length * axes->stride[order[k]];
        index /= length;
    }
    return source;
}

static enum plumb_status order_holds(const struct plumb_evidence *e,
                                     const struct axis_order *axes, const int *order,
                                     bool *holds, struct plumb_error *err)
{
    const struct plumb_sample *s = &e->sample;
    size_t misses = 0, moved = 0;
    *holds = false;
    for (size_t k = 0; k < PLACES; k++) {
        const size_t at = (size_t)(k * 2654435761u % s->count); /* spread, but repeatable */
        const int64_t source = source_of(axes, order, s->index[at]);
        double a;
        const enum plumb_status status = plumb_operand_values(e->a, source, 1, &a, err);
        if (status)
            return status;
        misses += plumb_evidence_is_beyond(e, a, s->b[at]);
        moved += plumb_evidence_is_beyond(e, a, s->a[at]);
        if (misses > MOST_MISSES)
            return PLUMB_OK;
    }
    *holds = moved > PLACES / 4;
    return PLUMB_OK;
}

/* The next order in lexical order; false after the last. */
static bool next_order(int *order, int rank)
{
    int i = rank - 2;
    while (i >= 0 && order[i] > order[i + 1])
        i--;
    if (i < 0)
        return false;
    int k = rank - 1;
    while (order[k] < order[i])
        k--;
    int swap = order[i];
    order[i] = order[k];
    order[k] = swap;
    for (int low = i + 1, high = rank - 1; low < high; low++, high--) {
        swap = order[low];
        order[low] = order[high];
        order[high] = swap;
    }
    return true;
}

static void explain(const struct plumb_evidence *e, const struct axis_order *axes,
                    const int *order, struct plumb_judgement *judgement)
{
    char text[64] = "";
    size_t used = 0;
    for (int i = 0; i < axes->rank && used + 8 < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? ", " : "",
                                 axes->axis[order[i]]);
    plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                        "B holds A %s (axes in the order %s): that explains at least %d of %d "
                        "elements looked at, in place they differ with relative L2 %.3g",
                        axes->rank == 2 ? "transposed" : "with its axes permuted", text,
                        PLACES - MOST_MISSES, PLACES, e->comparison->relative_l2);
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    struct axis_order axes;
    int order[MOST_AXES] = {0, 1, 2, 3};
    if (e->sample.count < 4 || e->beyond_count * 8 < e->sample.count || !long_axes(e->a, &axes))
        return PLUMB_OK;
    while (!*found && next_order(order, axes.rank)) {
        const enum plumb_status status = order_holds(e, &axes, order, found, err);
        if (status)
            return status;
    }
    if (*found)
        explain(e, &axes, order, judgement);
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_transposed = {
    .entry = {.name = "transposed",
              .summary = "B holds A with its axes in another order",
              .detail = "A transposed matrix, or NCHW against NHWC. The values are right: "
                        "transpose one side, or fix\nthe layout rule of the conversion."},
    .find = find,
};
