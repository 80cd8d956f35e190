/* record_calls.c - the recording calls: steps, series, spans, counters, configuration. */
#include "record/recorder_state.h"

#include <string.h>
#include <time.h>

enum { FLUSH_AFTER_NS = 100 * 1000 * 1000 };

int64_t plumb_record_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool plumb_record_wants_tensors(const struct plumb_recorder *recorder)
{
    return plumb_recorder_wants(recorder, WANTS_TENSORS);
}

bool plumb_record_wants_spans(const struct plumb_recorder *recorder)
{
    return plumb_recorder_wants(recorder, WANTS_SPANS);
}

/* With the lock held. */
static void end_step(struct plumb_recorder *recorder, int64_t now)
{
    const struct plumb_block_step row = {
        .step = recorder->step, .begin_ns = recorder->step_began_ns, .end_ns = now};
    struct plumb_batch *batch = plumb_recorder_batch(recorder, PLUMB_BLOCK_STEPS, SHARE_ALL);
    if (batch)
        plumb_batch_add(batch, &row);
    plumb_flight_note(&recorder->flight, PLUMB_FLIGHT_STEP_END, recorder->step, now,
                      PLUMB_PHASE_FORWARD, 0, "", 0);
    if (recorder->save == PLUMB_SAVE_TENSORS && !recorder->stopped)
        plumb_recorder_finish_step(recorder);
    if (!recorder->has_thread && now - recorder->flushed_ns > FLUSH_AFTER_NS)
        plumb_recorder_flush(recorder);
    recorder->in_step = false;
}

void plumb_record_step_begin(struct plumb_recorder *recorder, int64_t step)
{
    if (!plumb_recorder_wants(recorder, WANTS_SERIES))
        return;
    const int64_t now = plumb_record_now();
    (void)pthread_mutex_lock(&recorder->lock);
    if (recorder->in_step)
        end_step(recorder, now);
    recorder->in_step = true;
    recorder->step = step;
    recorder->step_began_ns = now;
    plumb_flight_note(&recorder->flight, PLUMB_FLIGHT_STEP_BEGIN, step, now,
                      PLUMB_PHASE_FORWARD, 0, "", 0);
    plumb_recorder_set_wants(recorder);
    (void)pthread_mutex_unlock(&recorder->lock);
}

void plumb_record_step_end(struct plumb_recorder *recorder)
{
    if (!plumb_recorder_wants(recorder, WANTS_SERIES))
        return;
    const int64_t now = plumb_record_now();
    (void)pthread_mutex_lock(&recorder->lock);
    if (recorder->in_step)
        end_step(recorder, now);
    (void)pthread_mutex_unlock(&recorder->lock);
}

void plumb_record_series(struct plumb_recorder *recorder, const char *name, int64_t step,
                         double value)
{
    if (!plumb_recorder_wants(recorder, WANTS_SERIES))
        return;
    struct plumb_block_series row = {.step = step, .value = value};
    (void)pthread_mutex_lock(&recorder->lock);
    struct plumb_batch *batch = plumb_recorder_batch(recorder, PLUMB_BLOCK_SERIES, SHARE_ALL);
    if (batch && plumb_recorder_name(recorder, batch, name, &row.name))
        plumb_batch_add(batch, &row);
    (void)pthread_mutex_unlock(&recorder->lock);
}

void plumb_record_span(struct plumb_recorder *recorder, const char *track, const char *name,
                       int64_t begin_ns, int64_t end_ns)
{
    if (!plumb_recorder_wants(recorder, WANTS_SPANS))
        return;
    (void)pthread_mutex_lock(&recorder->lock);
    struct plumb_block_span row = {
        .step = recorder->step, .begin_ns = begin_ns, .end_ns = end_ns};
    struct plumb_batch *batch = plumb_recorder_batch(recorder, PLUMB_BLOCK_SPANS, SHARE_SPANS);
    if (!batch)
        recorder->dropped.spans += !recorder->stopped;
    else if (plumb_recorder_name(recorder, batch, track, &row.track) &&
             plumb_recorder_name(recorder, batch, name, &row.name))
        plumb_batch_add(batch, &row);
    (void)pthread_mutex_unlock(&recorder->lock);
}

void plumb_record_counter(struct plumb_recorder *recorder, const char *name, int64_t time_ns,
                          double value)
{
    if (!plumb_recorder_wants(recorder, WANTS_SPANS))
        return;
    (void)pthread_mutex_lock(&recorder->lock);
    struct plumb_block_counter row = {
        .step = recorder->step, .time_ns = time_ns, .value = value};
    struct plumb_batch *batch =
        plumb_recorder_batch(recorder, PLUMB_BLOCK_COUNTERS, SHARE_SPANS);
    if (!batch)
        recorder->dropped.counters += !recorder->stopped;
    else if (plumb_recorder_name(recorder, batch, name, &row.name))
        plumb_batch_add(batch, &row);
    (void)pthread_mutex_unlock(&recorder->lock);
}

void plumb_recorder_add_pair(struct plumb_recorder *recorder, unsigned kind, const char *key,
                             const char *json)
{
    struct plumb_block_pair row = {0};
    struct plumb_batch *batch = plumb_recorder_batch(recorder, kind, SHARE_ALL);
    if (batch && plumb_recorder_name(recorder, batch, key, &row.key) &&
        plumb_recorder_name(recorder, batch, json, &row.json))
        plumb_batch_add(batch, &row);
}

void plumb_record_config(struct plumb_recorder *recorder, const char *key, const char *json)
{
    if (!plumb_recorder_wants(recorder, WANTS_SERIES) || !key || !json)
        return;
    const bool fits = strlen(json) < PLUMB_BATCH_LONGEST;
    (void)pthread_mutex_lock(&recorder->lock);
    plumb_recorder_add_pair(recorder, PLUMB_BLOCK_CONFIG, key,
                            fits ? json : "\"left out: over 4 MiB\"");
    (void)pthread_mutex_unlock(&recorder->lock);
}

void plumb_record_collective(struct plumb_recorder *recorder,
                             const struct plumb_collective *collective)
{
    if (!plumb_recorder_wants(recorder, WANTS_SPANS))
        return;
    (void)pthread_mutex_lock(&recorder->lock);
    struct plumb_block_collective row = {
        .step = recorder->step,
        .sequence = collective->sequence,
        .begin_ns = collective->begin_ns,
        .end_ns = collective->end_ns,
        .bytes = collective->bytes,
    };
    struct plumb_batch *batch =
        plumb_recorder_batch(recorder, PLUMB_BLOCK_COLLECTIVES, SHARE_ALL);
    if (batch && plumb_recorder_name(recorder, batch, collective->group, &row.group) &&
        plumb_recorder_name(recorder, batch, collective->name, &row.name))
        plumb_batch_add(batch, &row);
    if (collective->group)
        plumb_flight_note(&recorder->flight, PLUMB_FLIGHT_COLLECTIVE, recorder->step,
                          collective->end_ns, PLUMB_PHASE_COLLECTIVE,
                          (int)(collective->sequence & 0xffff), collective->group,
                          strlen(collective->group));
    (void)pthread_mutex_unlock(&recorder->lock);
}
