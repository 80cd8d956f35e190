/*
 * record_tensor.c - one tensor of an op: statistics and fingerprint at once, values on request.
 *
 * The numbers are computed before the lock is taken, so that threads do not wait for each other.
 */
#include "record/recorder_state.h"

#include "model/dtype.h"
#include "model/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LOOK_ELEMENTS = 512,
    LABEL_SIZE = 4096,
    WORTH_REMEMBERING = 2048, /* statistics of fewer elements are as quickly computed again */
    STATS = PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_QUICK, /* as they are recorded */
};

/* What the caller gave, and how large it is. */
struct sighting {
    struct plumb_value value; /* its name is the slot */
    size_t count, bytes;
};

static bool is_sound(struct sighting *seen, bool needs_values)
{
    const struct plumb_value *value = &seen->value;
    int64_t count = 0, bytes = 0;
    if (!value->name || (unsigned)value->dtype >= PLUMB_DTYPE_COUNT || value->rank < 0 ||
        value->rank > PLUMB_MAX_RANK || (value->rank && !value->shape) ||
        !plumb_shape_count(value->rank, value->shape, &count) ||
        __builtin_mul_overflow(count, (int64_t)plumb_dtype_size(value->dtype), &bytes) ||
        (count && !value->data && needs_values))
        return false;
    seen->count = (size_t)count;
    seen->bytes = (size_t)bytes;
    return true;
}

/* The first float that is not finite, or `count`: floats need no widening. */
static size_t find_nonfinite_f32(const void *values, size_t count)
{
    const uint32_t exponent = UINT32_C(0x7f800000);
    const unsigned char *from = values;
    size_t at = 0;
    for (bool found = false; at + LOOK_ELEMENTS <= count; at += LOOK_ELEMENTS) {
        for (size_t i = 0; i < LOOK_ELEMENTS; i++) {
            uint32_t bits;
            memcpy(&bits, from + 4 * (at + i), sizeof bits);
            found |= (bits & exponent) == exponent;
        }
        if (found)
            break;
    }
    for (uint32_t bits; at < count; at++) {
        memcpy(&bits, from + 4 * at, sizeof bits);
        if ((bits & exponent) == exponent)
            break;
    }
    return at;
}

/* The first element that is not finite or, with none, at the type's largest value. */
static int64_t find_element(enum plumb_dtype dtype, const void *values, size_t count,
                            const struct plumb_stats *stats)
{
    const bool nonfinite = stats->nan || stats->pos_inf || stats->neg_inf;
    if (!nonfinite && !stats->at_max)
        return -1;
    if (nonfinite && dtype == PLUMB_F32)
        return (int64_t)find_nonfinite_f32(values, count);
    const size_t size = plumb_dtype_size(dtype), parts = (size_t)plumb_dtype_parts(dtype);
    const double top = plumb_dtype_max(plumb_dtype_part(dtype));
    double wide[2 * LOOK_ELEMENTS];
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < LOOK_ELEMENTS ? count - at : (size_t)LOOK_ELEMENTS;
        if (plumb_convert_values(dtype, (const char *)values + at * size,
                                 parts == 2 ? PLUMB_C128 : PLUMB_F64, wide, n,
                                 PLUMB_ROUND_NEAREST_EVEN, NULL))
            return -1;
        for (size_t i = 0; i < n * parts; i++)
            if (nonfinite ? !isfinite(wide[i]) : fabs(wide[i]) == top)
                return (int64_t)(at + i / parts);
    }
    return -1;
}

void plumb_known_by(const struct plumb_team *team, enum plumb_dtype dtype, const void *values,
                    size_t count, bool stats, struct plumb_known *known)
{
    struct plumb_summary summary = {.stats = {.count = count}};
    plumb_values_summarize_by(team, dtype, values, count,
                              PLUMB_SUMMARY_FINGERPRINT | (stats ? STATS : 0), &summary);
    *known = (struct plumb_known){
        .known = true,
        .has_stats = stats,
        .fingerprint = summary.fingerprint,
        .element = stats ? find_element(dtype, values, count, &summary.stats) : -1,
        .stats = summary.stats};
}

void plumb_known_of(enum plumb_dtype dtype, const void *values, size_t count, bool stats,
                    struct plumb_known *known)
{
    plumb_known_by(NULL, dtype, values, count, stats, known);
}

static struct plumb_known_stats *known_slot(struct plumb_recorder *recorder,
                                            uint64_t fingerprint)
{
    return &recorder->known[fingerprint & (PLUMB_KNOWN - 1)];
}

static bool recall(struct plumb_recorder *recorder, const struct sighting *seen,
                   struct plumb_known *known)
{
    if (seen->count < WORTH_REMEMBERING)
        return false;
    (void)pthread_mutex_lock(&recorder->lock);
    const struct plumb_known_stats *slot = known_slot(recorder, known->fingerprint);
    const uint64_t parts = (uint64_t)plumb_dtype_parts(seen->value.dtype);
    const bool found = slot->known.stats.count == seen->count * parts &&
                       slot->known.fingerprint == known->fingerprint &&
                       slot->dtype == seen->value.dtype;
    if (found)
        *known = slot->known;
    (void)pthread_mutex_unlock(&recorder->lock);
    return found;
}

/* With the lock held. */
static void remember(struct plumb_recorder *recorder, const struct sighting *seen,
                     const struct plumb_known *known)
{
    if (seen->count >= WORTH_REMEMBERING && known->has_stats)
        *known_slot(recorder, known->fingerprint) =
            (struct plumb_known_stats){.dtype = seen->value.dtype, .known = *known};
}

/* A caller that does not say what it recorded before records inputs that were outputs: their
 * fingerprint alone tells which statistics are known. One that does (`once`) has new values, and
 * both are computed in one pass. */
static void examine(struct plumb_recorder *recorder, const struct sighting *seen, bool once,
                    struct plumb_known *known)
{
    const struct plumb_value *value = &seen->value;
    struct plumb_summary summary;
    *known =
        (struct plumb_known){.known = true, .element = -1, .stats = {.count = seen->count}};
    if (once && recorder->save != PLUMB_SAVE_FINGERPRINT) {
        plumb_values_summarize(value->dtype, value->data, seen->count,
                               STATS | PLUMB_SUMMARY_FINGERPRINT, &summary);
        known->fingerprint = summary.fingerprint;
    } else {
        known->fingerprint = plumb_values_fingerprint(value->dtype, value->data, seen->count);
        if (recorder->save == PLUMB_SAVE_FINGERPRINT || recall(recorder, seen, known))
            return;
        plumb_values_summarize(value->dtype, value->data, seen->count, STATS, &summary);
    }
    known->stats = summary.stats;
    known->element = find_element(value->dtype, value->data, seen->count, &known->stats);
    known->has_stats = true;
}

/* With the lock held. */
static void add(struct plumb_recorder *recorder, struct plumb_visit *visit,
                const struct sighting *seen, const struct plumb_known *known, int64_t now)
{
    struct plumb_block_tensor row = {.step = recorder->step,
                                     .time_ns = now,
                                     .flags = known->has_stats ? PLUMB_TENSOR_HAS_STATS : 0,
                                     .fingerprint = known->fingerprint,
                                     .element = known->element,
                                     .stats = known->stats};
    if (recorder->save == PLUMB_SAVE_TENSORS && (seen->value.data || !seen->count)) {
        const bool saved =
            plumb_recorder_save(recorder, visit, row.step, &seen->value, seen->bytes);
        recorder->dropped.values += !saved && !recorder->stopped;
        row.flags |= saved ? PLUMB_TENSOR_HAS_VALUES : 0;
    }
    plumb_recorder_add_tensor(recorder, visit, &seen->value, &row);
}

/* `record` has rank, step and time already. */
static void show(const struct plumb_record_observer *observer, const struct plumb_visit *visit,
                 const struct sighting *seen, const struct plumb_known *known,
                 struct plumb_tensor_record record)
{
    char label[LABEL_SIZE] = "";
    if (visit && visit->call > 0)
        (void)snprintf(label, sizeof label, "%s#%d", visit->place->label.text, visit->call);
    record.module = visit ? visit->place->module : "";
    record.op = visit ? visit->place->name : "";
    record.label = *label ? label : visit ? visit->place->label.text : "";
    record.call = visit ? visit->call : 0;
    record.phase = visit ? visit->place->phase : PLUMB_PHASE_FORWARD;
    record.slot = seen->value.name;
    record.dtype = seen->value.dtype;
    record.dims = seen->value.rank;
    record.shape = seen->value.shape;
    record.fingerprint = known->fingerprint;
    record.fingerprint_kind = PLUMB_FINGERPRINT_OWN;
    record.has_stats = known->has_stats;
    record.element = known->element;
    record.stats = known->stats;
    observer->see(observer->context, &record, seen->value.data);
}

/* Values that were recorded before are recorded again in no time: the clock is looked at for others. */
static int64_t time_of(struct plumb_visit *visit, const struct plumb_value *value)
{
    if (visit && !value->data)
        return visit->now_ns;
    const int64_t now = plumb_record_now();
    if (visit)
        visit->now_ns = now;
    return now;
}

static void record(struct plumb_recorder *recorder, const struct plumb_value *value, bool once,
                   struct plumb_known *known)
{
    struct sighting seen = {.value = *value};
    struct plumb_visit *visit = plumb_recorder_visit(recorder);
    const bool is_new = !known->known;
    const bool sound = (!visit || visit->place) && is_sound(&seen, is_new);
    if (sound && is_new)
        examine(recorder, &seen, once, known);
    const int64_t now = time_of(visit, value);
    (void)pthread_mutex_lock(&recorder->lock);
    const int64_t step = recorder->step;
    if (sound && is_new && !once)
        remember(recorder, &seen, known);
    if (sound && !recorder->stopped)
        add(recorder, visit, &seen, known, now);
    recorder->dropped.tensors += !sound;
    (void)pthread_mutex_unlock(&recorder->lock);
    const struct plumb_record_observer *observer = atomic_load(&recorder->observer);
    if (sound && observer) {
        const struct plumb_tensor_record row = {
            .rank = recorder->rank, .step = step, .time_ns = now};
        show(observer, visit, &seen, known, row);
    }
}

void plumb_recorder_observe(struct plumb_recorder *recorder,
                            const struct plumb_record_observer *observer)
{
    if (recorder)
        atomic_store(&recorder->observer, observer);
}

void plumb_record_known(struct plumb_recorder *recorder, const char *slot,
                        enum plumb_dtype dtype, int rank, const int64_t *shape,
                        const void *values, struct plumb_known *known)
{
    const struct plumb_value value = {slot, dtype, rank, shape, values};
    if (plumb_recorder_wants(recorder, WANTS_TENSORS))
        record(recorder, &value, true, known);
}

void plumb_record_fingerprint(struct plumb_recorder *recorder, const char *slot,
                              enum plumb_dtype dtype, int rank, const int64_t *shape,
                              const void *values)
{
    struct sighting seen = {.value = {slot, dtype, rank, shape, values}};
    if (!plumb_recorder_wants(recorder, WANTS_SPANS))
        return;
    struct plumb_known known = {.known = true, .element = -1};
    if (is_sound(&seen, true)) {
        known.fingerprint = plumb_values_fingerprint(dtype, values, seen.count);
        known.stats.count = seen.count;
        seen.value.data = NULL; /* values are not saved here */
    }
    record(recorder, &seen.value, false, &known);
}

void plumb_record_tensor(struct plumb_recorder *recorder, const char *slot,
                         enum plumb_dtype dtype, int rank, const int64_t *shape,
                         const void *values)
{
    const struct plumb_value value = {slot, dtype, rank, shape, values};
    struct plumb_known known = {.known = false};
    if (plumb_recorder_wants(recorder, WANTS_TENSORS))
        record(recorder, &value, false, &known);
}
