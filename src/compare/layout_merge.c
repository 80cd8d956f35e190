/*
 * layout_merge.c - makes one record of those that several ranks have of the same tensor.
 *
 * Directions are folded one after the other, the innermost first. Where all pieces have saved values, the
 * whole is put together and its statistics and fingerprint are those of the whole tensor; else the
 * statistics of the pieces give the whole's, as far as they do.
 */
#include "compare/run_layout.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t most_bytes = INT64_C(4) << 30;

struct folding {
    const struct plumb_layout *layout;
    struct plumb_arena *arena;
    struct plumb_layout_report *report;
    const struct plumb_layout_rule *rule; /* NULL: copies */
    struct plumb_shard *parts[PLUMB_LAYOUT_RANKS];
    size_t count; /* of the direction */
};

static void complain(struct folding *folding, const char *why)
{
    const struct plumb_shard *one = NULL;
    for (size_t i = 0; i < folding->count && !one; i++)
        one = folding->parts[i]->present ? folding->parts[i] : NULL;
    if (!folding->report->first[0] && one)
        (void)snprintf(folding->report->first, sizeof folding->report->first,
                       "%.250s, %.60s: %s", one->record.label, one->record.slot, why);
}

static void drop_values(struct plumb_shard *shard)
{
    plumb_free(shard->values);
    shard->values = NULL;
}

static int64_t count_of(const struct plumb_tensor_record *record)
{
    int64_t count = 1;
    for (int i = 0; i < record->dims; i++)
        if (__builtin_mul_overflow(count, record->shape[i], &count))
            return INT64_MAX;
    return count;
}

/* ---- statistics ---------------------------------------------------------------------------------- */

static void join_stats(struct plumb_stats *whole, const struct plumb_stats *part)
{
    const double finite_a =
        (double)(whole->count - whole->nan - whole->pos_inf - whole->neg_inf);
    const double finite_b = (double)(part->count - part->nan - part->pos_inf - part->neg_inf);
    const double both = finite_a + finite_b;
    const double weight = both > 0 ? finite_b / both : 0;
    if (finite_b > 0) {
        whole->min = finite_a > 0 ? fmin(whole->min, part->min) : part->min;
        whole->max = finite_a > 0 ? fmax(whole->max, part->max) : part->max;
        whole->mean =
            finite_a > 0 ? whole->mean + (part->mean - whole->mean) * weight : part->mean;
        whole->abs_mean = finite_a > 0
                              ? whole->abs_mean + (part->abs_mean - whole->abs_mean) * weight
                              : part->abs_mean;
        whole->l2 = finite_a > 0 ? hypot(whole->l2, part->l2) : part->l2;
    }
    const double square = both > 0 ? whole->l2 * whole->l2 / both : 0;
    whole->std = sqrt(fmax(square - whole->mean * whole->mean, 0));
    whole->count += part->count;
    whole->nan += part->nan;
    whole->pos_inf += part->pos_inf;
    whole->neg_inf += part->neg_inf;
    whole->zero += part->zero;
    whole->subnormal += part->subnormal;
    whole->at_max += part->at_max;
}

/* Of a sum only the mean is known, and whether something is not finite. */
static void add_stats(struct plumb_stats *whole, const struct plumb_stats *part)
{
    whole->mean += part->mean;
    whole->nan += part->nan;
    whole->pos_inf += part->pos_inf;
    whole->neg_inf += part->neg_inf;
    whole->min = whole->max = whole->std = whole->l2 = whole->abs_mean = (double)NAN;
}

static void fold_stats(struct folding *folding, struct plumb_tensor_record *whole)
{
    const bool pieces = folding->rule->way == PLUMB_LAYOUT_AXIS;
    whole->has_stats = true;
    for (size_t i = 0; i < folding->count; i++)
        whole->has_stats &= folding->parts[i]->record.has_stats;
    if (!whole->has_stats) {
        folding->report->unknown++;
        complain(folding, "its pieces have fingerprints only, which cannot be put together; "
                          "record statistics or values");
        return;
    }
    for (size_t i = 1; i < folding->count; i++) {
        const struct plumb_stats *part = &folding->parts[i]->record.stats;
        if (pieces)
            join_stats(&whole->stats, part);
        else
            add_stats(&whole->stats, part);
    }
    if (folding->rule->way == PLUMB_LAYOUT_MEAN)
        whole->stats.mean /= (double)folding->count;
}

/* ---- values --------------------------------------------------------------------------------------- */

/* Copies `length` of a part's places along the axis, from `from` on, to `to` in the whole. */
struct strip {
    const struct plumb_shard *part;
    int64_t from, length;
};

static size_t find_strips(const struct folding *folding, int axis,
                          struct strip strips[2 * PLUMB_LAYOUT_RANKS])
{
    const struct plumb_layout_rule *rule = folding->rule;
    const size_t count = folding->count;
    size_t made = 0;
    for (size_t i = 0; i < (rule->zigzag ? 2 * count : count); i++) {
        const size_t rank = rule->order ? (size_t)rule->order[i]
                            : i < count ? i
                                        : 2 * count - 1 - i;
        const struct plumb_shard *part = folding->parts[rank];
        const int64_t length = part->record.shape[axis], half = length / 2;
        const bool second = rule->zigzag && i >= count;
        strips[made++] = (struct strip){
            part, second ? half : 0, rule->zigzag ? (second ? length - half : half) : length};
    }
    return made;
}

static void *join_values(const struct folding *folding, const struct plumb_tensor_record *whole,
                         int axis)
{
    struct strip *strips = plumb_alloc_array(2 * PLUMB_LAYOUT_RANKS, sizeof *strips);
    size_t bytes = plumb_dtype_size(whole->dtype), outer = 1;
    char *values = plumb_alloc_array((size_t)count_of(whole) + 1, bytes), *to = values;
    for (int i = 0; i < whole->dims; i++) {
        outer *= i < axis ? (size_t)whole->shape[i] : 1;
        bytes *= i > axis ? (size_t)whole->shape[i] : 1;
    }
    const size_t count = strips && values ? find_strips(folding, axis, strips) : 0;
    for (size_t row = 0; row < outer && count; row++)
        for (size_t i = 0; i < count; i++) {
            const struct strip *strip = &strips[i];
            const size_t across = (size_t)strip->part->record.shape[axis];
            const size_t size = (size_t)strip->length * bytes;
            memcpy(to,
                   (const char *)strip->part->values +
                       (row * across + (size_t)strip->from) * bytes,
                   size);
            to += size;
        }
    plumb_free(strips);
    return values;
}

static void *add_values(const struct folding *folding, const struct plumb_tensor_record *whole)
{
    const size_t count = (size_t)count_of(whole);
    double *sum = plumb_alloc_array(count + 1, sizeof *sum);
    double *part = plumb_alloc_array(count + 1, sizeof *part);
    void *values = plumb_alloc_array(count + 1, plumb_dtype_size(whole->dtype));
    bool made = sum && part && values;
    for (size_t i = 0; i < folding->count && made; i++) {
        made = !plumb_convert_values(whole->dtype, folding->parts[i]->values, PLUMB_F64, part,
                                     count, PLUMB_ROUND_NEAREST_EVEN, NULL);
        for (size_t k = 0; k < count && made; k++)
            sum[k] += part[k];
    }
    for (size_t k = 0; k < count && made && folding->rule->way == PLUMB_LAYOUT_MEAN; k++)
        sum[k] /= (double)folding->count;
    made = made && !plumb_convert_values(PLUMB_F64, sum, whole->dtype, values, count,
                                         PLUMB_ROUND_NEAREST_EVEN, NULL);
    plumb_free(part);
    plumb_free(sum);
    if (!made)
        plumb_free(values);
    return made ? values : NULL;
}

static bool all_have_values(const struct folding *folding)
{
    for (size_t i = 0; i < folding->count; i++)
        if (!folding->parts[i]->values)
            return false;
    return true;
}

/* ---- one direction --------------------------------------------------------------------------------- */

/* The shape of the whole, and along which axis; -1: the pieces do not fit together. */
static int find_shape(struct folding *folding, struct plumb_tensor_record *whole)
{
    const struct plumb_layout_rule *rule = folding->rule;
    const bool pieces = rule->way == PLUMB_LAYOUT_AXIS;
    const int axis = pieces ? (int)(rule->axis < 0 ? whole->dims + rule->axis : rule->axis) : 0;
    int64_t *shape = plumb_arena_alloc(folding->arena, (size_t)whole->dims + 1, sizeof *shape);
    if (!shape || (pieces && (axis < 0 || axis >= whole->dims)))
        return -1;
    memcpy(shape, whole->shape, (size_t)whole->dims * sizeof *shape);
    for (size_t i = 1; i < folding->count; i++) {
        const struct plumb_tensor_record *part = &folding->parts[i]->record;
        if (part->dims != whole->dims || part->dtype != whole->dtype)
            return -1;
        for (int k = 0; k < whole->dims; k++)
            if ((!pieces || k != axis) && part->shape[k] != shape[k])
                return -1;
        if (pieces && __builtin_add_overflow(shape[axis], part->shape[axis], &shape[axis]))
            return -1;
    }
    whole->shape = shape;
    return axis;
}

/* What should be the same on all ranks: the first that has it stands for it. */
static bool fold_copies(struct folding *folding)
{
    struct plumb_shard *first = folding->parts[0];
    bool unequal = false;
    for (size_t i = 1; i < folding->count; i++) {
        struct plumb_shard *other = folding->parts[i];
        if (other->present && !first->present) {
            *first = *other;
            other->values = NULL;
            continue;
        }
        unequal |= other->present && first->record.fingerprint && other->record.fingerprint &&
                   first->record.fingerprint != other->record.fingerprint;
        drop_values(other);
    }
    folding->report->unequal += unequal;
    if (unequal)
        complain(folding,
                 "not the same on all ranks, and the layout does not say how it is split");
    return true;
}

static bool fold_pieces(struct folding *folding)
{
    struct plumb_shard *first = folding->parts[0];
    size_t present = 0;
    for (size_t i = 0; i < folding->count; i++)
        present += folding->parts[i]->present;
    if (!present)
        return true;
    struct plumb_tensor_record whole = first->record;
    const int axis = present == folding->count ? find_shape(folding, &whole) : -1;
    if (axis < 0) {
        folding->report->missing++;
        complain(folding, present == folding->count ? "its pieces do not fit together"
                                                    : "a rank has no piece of it");
        return false;
    }
    whole.fingerprint = 0;
    whole.element = -1;
    const int64_t bytes = count_of(&whole) > most_bytes ? INT64_MAX : count_of(&whole) * 16;
    void *values = NULL;
    if (all_have_values(folding) && bytes <= most_bytes)
        values = folding->rule->way == PLUMB_LAYOUT_AXIS ? join_values(folding, &whole, axis)
                                                         : add_values(folding, &whole);
    if (!values)
        fold_stats(folding, &whole);
    for (size_t i = 0; i < folding->count; i++)
        drop_values(folding->parts[i]);
    first->record = whole;
    first->values = values;
    folding->report->merged++;
    return true;
}

static bool fold(struct folding *folding, struct plumb_shard *shards, size_t base,
                 size_t stride)
{
    for (size_t i = 0; i < folding->count; i++)
        folding->parts[i] = &shards[base + i * stride];
    return folding->rule && folding->rule->way != PLUMB_LAYOUT_COPY ? fold_pieces(folding)
                                                                    : fold_copies(folding);
}

bool plumb_layout_merge(const struct plumb_layout *layout, struct plumb_arena *arena,
                        struct plumb_shard *shards, struct plumb_layout_report *report)
{
    struct folding *folding = plumb_alloc_array(1, sizeof *folding);
    bool made = folding != NULL;
    size_t stride = 1;
    const struct plumb_shard *any = NULL;
    for (size_t i = 0; i < layout->ranks && !any; i++)
        any = shards[i].present ? &shards[i] : NULL;
    for (size_t d = layout->direction_count; d-- > 0 && made && any;) {
        const size_t size = (size_t)layout->sizes[d];
        *folding = (struct folding){.layout = layout, .arena = arena, .report = report};
        folding->count = size;
        folding->rule = plumb_layout_rule_for(layout, &any->record, d);
        for (size_t base = 0; base < layout->ranks && made; base += stride * size)
            made = fold(folding, shards, base, stride);
        stride *= size;
    }
    for (size_t i = made ? 1 : 0; i < layout->ranks; i++)
        drop_values(&shards[i]);
    plumb_free(folding);
    if (made && shards[0].values) {
        struct plumb_tensor_record *whole = &shards[0].record;
        const size_t count = (size_t)count_of(whole);
        plumb_values_stats(whole->dtype, shards[0].values, count, &whole->stats);
        whole->fingerprint = plumb_values_fingerprint(whole->dtype, shards[0].values, count);
        whole->fingerprint_kind = PLUMB_FINGERPRINT_OWN;
        whole->has_stats = true;
        whole->partial_stats = false;
        drop_values(&shards[0]);
    }
    return made && shards[0].present;
}
