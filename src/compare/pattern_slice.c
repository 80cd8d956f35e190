/*
 * pattern_slice.c - all that differs lies in one row, channel or other slice along an axis.
 *
 * Among the elements that rounding does not explain, the axis is sought along which they
 * have the narrowest range of coordinates. Then the slice itself is read (up to 4096
 * elements, spread): nearly all of it has to differ, or the place is a coincidence.
 */
#include "compare/pattern.h"

#include <stdio.h>

enum { LEAST_BAD = 2, LEAST_LENGTH = 4, PROBES = 4096 };

struct slice_range {
    int axis;
    int64_t low, high; /* coordinates, both inside */
};

static int64_t coordinate(const struct plumb_operand *operand, int axis, int64_t index)
{
    return index / plumb_operand_stride(operand, axis) % operand->shape[axis];
}

/* The axis on which the differing elements are most confined. */
static bool narrowest(const struct plumb_evidence *e, struct slice_range *range)
{
    double best = 0.5; /* at most half of the axis, or it is no slice */
    bool any = false;
    for (int axis = 0; axis < e->a->rank; axis++) {
        const int64_t length = e->a->shape[axis];
        if (length < 2 || e->a->count / length < LEAST_LENGTH)
            continue;
        int64_t low = length, high = -1;
        for (size_t i = 0; i < e->beyond_count; i++) {
            const int64_t at = coordinate(e->a, axis, e->sample.index[e->beyond[i]]);
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        const double part = (double)(high - low + 1) / (double)length;
        if (part < best || (part == best && !any)) {
            best = part;
            any = true;
            *range = (struct slice_range){axis, low, high};
        }
    }
    return any;
}

struct slice_probe {
    double a[PROBES], b[PROBES];
    size_t count;  /* elements with a value on either side */
    size_t beyond; /* of those */
};

/* Reads elements spread over the slices low..high. */
static enum plumb_status probe_slice(const struct plumb_evidence *e,
                                     const struct slice_range *range, struct slice_probe *probe,
                                     struct plumb_error *err)
{
    const int64_t stride = plumb_operand_stride(e->a, range->axis);
    const int64_t length = e->a->shape[range->axis];
    const int64_t thick = range->high - range->low + 1;
    const int64_t total = e->a->count / length * thick;
    const int64_t wanted = total < PROBES ? total : PROBES;
    probe->count = probe->beyond = 0;
    for (int64_t k = 0; k < wanted; k++) {
        const int64_t in_slice =
            wanted == total ? k : (int64_t)((double)k * (double)total / PROBES);
        const int64_t outer = in_slice / (stride * thick);
        const int64_t rest = in_slice % (stride * thick);
        const int64_t index = (outer * length + range->low) * stride + rest;
        double a, b;
        enum plumb_status status = plumb_operand_values(e->a, index, 1, &a, err);
        if (!status)
            status = plumb_operand_values(e->b, index, 1, &b, err);
        if (status)
            return status;
        if (a == 0 && b == 0)
            continue;
        probe->a[probe->count] = a;
        probe->b[probe->count++] = b;
        probe->beyond += plumb_evidence_is_beyond(e, a, b);
    }
    return PLUMB_OK;
}

/* Rows that follow each other in memory have to begin and end where the differences do. */
static bool ends_where_rows_end(const struct plumb_evidence *e, const struct slice_range *range)
{
    const int64_t stride = plumb_operand_stride(e->a, range->axis);
    if (range->low == range->high || e->a->count != e->a->shape[range->axis] * stride)
        return true;
    const int64_t first = e->sample.index[e->beyond[0]];
    const int64_t last = e->sample.index[e->beyond[e->beyond_count - 1]];
    const int64_t missing = first - range->low * stride + (range->high + 1) * stride - 1 - last;
    return missing <= stride / 32 + 2;
}

/* A run of whole rows that starts and ends on a power of two is rather a block of memory. */
static bool is_rather_a_block(const struct plumb_evidence *e, const struct slice_range *range,
                              const struct plumb_change *change)
{
    if (range->axis != 0 || change->kind != PLUMB_CHANGE_OTHER)
        return false;
    const int64_t stride = plumb_operand_stride(e->a, 0);
    const int64_t size = (range->high - range->low + 1) * stride;
    return size >= 512 && (size & (size - 1)) == 0 && range->low * stride % size == 0 &&
           (range->high > range->low || size >= 2048);
}

static void explain(const struct plumb_evidence *e, const struct slice_range *range,
                    const struct plumb_change *change, const struct slice_probe *probe,
                    struct plumb_judgement *judgement)
{
    char which[64], allowed[128];
    if (range->low == range->high)
        (void)snprintf(which, sizeof which, "index %lld", (long long)range->low);
    else
        (void)snprintf(which, sizeof which, "indices %lld to %lld", (long long)range->low,
                       (long long)range->high);
    plumb_allowance_text(e, allowed, sizeof allowed);
    plumb_judgement_set(
        judgement, PLUMB_DIFFERENT,
        "only %s of axis %d (length %lld) differs: %s; %.0f %% of that slice is "
        "beyond what is allowed (%s), nothing else is",
        which, range->axis, (long long)e->a->shape[range->axis], change->text,
        100.0 * (double)probe->beyond / (double)probe->count, allowed);
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    struct slice_range range = {.axis = 0};
    if (e->beyond_count < LEAST_BAD || e->a->rank < 2 || !narrowest(e, &range))
        return PLUMB_OK;
    struct slice_probe probe;
    const enum plumb_status status = probe_slice(e, &range, &probe, err);
    if (status || probe.count == 0 || probe.beyond * 10 < probe.count * 7)
        return status;
    struct plumb_change change;
    plumb_change_describe(e, probe.a, probe.b, probe.count, &change);
    if (!ends_where_rows_end(e, &range) || is_rather_a_block(e, &range, &change))
        return PLUMB_OK;
    *found = true;
    explain(e, &range, &change, &probe, judgement);
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_slice = {
    .entry = {.name = "slice",
              .summary = "one row, channel or other slice along an axis differs",
              .detail = "Every difference that rounding does not explain has the same "
                        "coordinate (or a short range)\nalong one axis, and nearly all of "
                        "that slice differs. Look at what treats this channel,\nhead, token "
                        "or sample on its own: masks, padding, per-channel scales, a lost "
                        "shard."},
    .find = find,
};
