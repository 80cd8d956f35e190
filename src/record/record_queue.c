/* record_queue.c - rows to batches, batches to the writer, in bounded memory. */
#include "record/recorder_state.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum {
    FLUSH_NS = 100 * 1000 * 1000, /* rows wait at most this long */
    PATIENCE_S = 30,              /* that a disk may take nothing while the training waits */
};

void plumb_item_free(struct plumb_item *item)
{
    if (!item)
        return;
    plumb_batch_free(item->batch);
    plumb_free((void *)(uintptr_t)item->value.name);
    plumb_free(item->copy);
    plumb_free(item);
}

void plumb_recorder_set_wants(struct plumb_recorder *recorder)
{
    int wants = 0;
    if (recorder->selected_rank && !recorder->stopped && !recorder->closing &&
        !recorder->forked) {
        wants = WANTS_SERIES;
        if (!recorder->in_step || plumb_selection_has(&recorder->steps, recorder->step))
            wants |= WANTS_SPANS | (recorder->level != PLUMB_LEVEL_WATCH ? WANTS_TENSORS : 0);
    }
    atomic_store_explicit(&recorder->wants, wants, memory_order_relaxed);
}

void plumb_recorder_stop(struct plumb_recorder *recorder, const struct plumb_error *why)
{
    if (recorder->stopped)
        return;
    recorder->stopped = true;
    char when[40] = "before the first step";
    if (recorder->step >= 0)
        (void)snprintf(when, sizeof when, "at step %lld", (long long)recorder->step);
    (void)plumb_fail(&recorder->failure, why->status, why->offset,
                     "%s; recording of rank %d ended %s, the training goes on", why->message,
                     recorder->rank, when);
    plumb_flight_end(&recorder->flight, PLUMB_FLIGHT_STOPPED, recorder->failure.message);
    atomic_store(&recorder->has_failure, true);
    plumb_recorder_set_wants(recorder);
    (void)pthread_cond_broadcast(&recorder->room);
}

void plumb_recorder_stop_for_memory(struct plumb_recorder *recorder)
{
    struct plumb_error error;
    (void)plumb_fail_memory(&error);
    plumb_recorder_stop(recorder, &error);
}

/* ---- writing, without the lock ---------------------------------------------------------- */

static enum plumb_status write_item(struct plumb_recorder *recorder,
                                    const struct plumb_item *item, bool *late,
                                    struct plumb_error *err)
{
    if (item->batch)
        return plumb_record_file_append(&recorder->file, item->batch, err);
    if (!item->value.name)
        return plumb_step_values_finish(&recorder->values, err);
    *late = item->step <= recorder->values.last;
    return *late ? PLUMB_OK
                 : plumb_step_values_add(&recorder->values, item->step, &item->value, err);
}

/* ---- the writer's side, with the lock --------------------------------------------------- */

static struct plumb_item *take_item(struct plumb_recorder *recorder)
{
    struct plumb_item *item = recorder->first;
    recorder->first = item->next;
    if (!recorder->first)
        recorder->last = &recorder->first;
    recorder->current = item;
    return item;
}

static void finish_item(struct plumb_recorder *recorder, struct plumb_item *item)
{
    struct plumb_batch *batch = item->batch;
    recorder->used -= batch ? batch->bytes : item->bytes;
    recorder->written++;
    recorder->current = NULL;
    if (item->written)
        *item->written = true;
    if (batch && !recorder->spares[batch->kind]) {
        recorder->spares[batch->kind] = batch;
        item->batch = NULL;
    }
    plumb_item_free(item);
    (void)pthread_cond_broadcast(&recorder->room);
}

/* Writes the first item; the thread lets others record meanwhile. */
static void write_first(struct plumb_recorder *recorder)
{
    struct plumb_item *item = take_item(recorder);
    struct plumb_error error;
    enum plumb_status status = PLUMB_OK;
    bool late = false;
    const bool unlocked = recorder->has_thread;
    if (!recorder->stopped) {
        if (unlocked)
            (void)pthread_mutex_unlock(&recorder->lock);
        status = write_item(recorder, item, &late, &error);
        if (unlocked)
            (void)pthread_mutex_lock(&recorder->lock);
    }
    recorder->dropped.values += late;
    if (status)
        plumb_recorder_stop(recorder, &error);
    finish_item(recorder, item);
}

static void write_here(struct plumb_recorder *recorder)
{
    struct plumb_signal_guard guard;
    plumb_signal_guard_begin(&guard);
    while (recorder->first)
        write_first(recorder);
    plumb_signal_guard_end(&guard);
}

static void wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t nanoseconds)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    const int64_t sum = at.tv_nsec + nanoseconds;
    at.tv_sec += sum / 1000000000;
    at.tv_nsec = sum % 1000000000;
    (void)pthread_cond_timedwait(condition, lock, &at);
}

static void *writer(void *argument)
{
    struct plumb_recorder *recorder = argument;
    (void)pthread_mutex_lock(&recorder->lock);
    while (recorder->first || !recorder->closing) {
        /* Also when there is always something to write: rows must not wait for a pause. */
        const int64_t since = plumb_record_now() - recorder->flushed_ns;
        if (since >= FLUSH_NS && !recorder->closing)
            plumb_recorder_flush(recorder);
        if (recorder->first)
            write_first(recorder);
        else if (!recorder->closing)
            wait_until(&recorder->wake, &recorder->lock,
                       since < FLUSH_NS ? FLUSH_NS - since : FLUSH_NS);
    }
    (void)pthread_mutex_unlock(&recorder->lock);
    return NULL;
}

enum plumb_status plumb_recorder_start_writer(struct plumb_recorder *recorder,
                                              struct plumb_error *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the training */
    recorder->has_thread = true;
    const int failed = pthread_create(&recorder->thread, NULL, writer, recorder);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return PLUMB_OK;
    recorder->has_thread = false;
    errno = failed;
    return plumb_fail_errno(err, "start a thread for recording to", recorder->path);
}

void plumb_recorder_finish_writer(struct plumb_recorder *recorder)
{
    (void)pthread_mutex_lock(&recorder->lock);
    recorder->closing = true;
    plumb_recorder_set_wants(recorder);
    (void)pthread_cond_signal(&recorder->wake);
    (void)pthread_mutex_unlock(&recorder->lock);
    if (recorder->has_thread)
        (void)pthread_join(recorder->thread, NULL);
    recorder->has_thread = false;
}

/* ---- the recording side, with the lock -------------------------------------------------- */

void plumb_recorder_push(struct plumb_recorder *recorder, struct plumb_item *item)
{
    item->next = NULL;
    *recorder->last = item;
    recorder->last = &item->next;
    if (recorder->has_thread)
        (void)pthread_cond_signal(&recorder->wake);
    else
        write_here(recorder);
}

static void seal(struct plumb_recorder *recorder, unsigned kind)
{
    struct plumb_batch *batch = recorder->batches[kind];
    if (!batch || !batch->rows)
        return;
    struct plumb_item *item = plumb_alloc_array(1, sizeof *item);
    if (!item) {
        plumb_recorder_stop_for_memory(recorder);
        return;
    }
    item->batch = batch;
    recorder->batches[kind] = NULL;
    plumb_recorder_push(recorder, item);
}

void plumb_recorder_flush(struct plumb_recorder *recorder)
{
    for (unsigned kind = 0; kind < PLUMB_BLOCK_KINDS; kind++)
        seal(recorder, kind);
    recorder->flushed_ns = plumb_record_now();
}

/* The training waits for the disk, as long as that takes anything at all. */
static void wait_for_room(struct plumb_recorder *recorder)
{
    const uint64_t written = recorder->written;
    for (int i = 0; i < PATIENCE_S * 10 && recorder->written == written; i++) {
        if (recorder->stopped)
            return;
        wait_until(&recorder->room, &recorder->lock, FLUSH_NS);
    }
    if (recorder->written != written || recorder->stopped)
        return;
    struct plumb_error error;
    (void)plumb_fail(&error, PLUMB_IO, -1, "%s: the disk took nothing for %d seconds",
                     recorder->directory, PATIENCE_S);
    plumb_recorder_stop(recorder, &error);
}

bool plumb_recorder_make_room(struct plumb_recorder *recorder, size_t bytes,
                              enum plumb_share share)
{
    const uint64_t ceiling = recorder->limit / SHARE_ALL * share;
    const bool may_wait = share == SHARE_ALL || recorder->wait_when_full;
    while (recorder->used + bytes > ceiling) {
        if (recorder->stopped || bytes > ceiling)
            return false;
        plumb_recorder_flush(recorder);
        if (!recorder->has_thread && recorder->used + bytes > ceiling)
            return false; /* an open batch or two are more than the limit */
        if (!recorder->has_thread)
            break;
        if (!may_wait)
            return false;
        wait_for_room(recorder);
    }
    return !recorder->stopped;
}

struct plumb_batch *plumb_recorder_batch(struct plumb_recorder *recorder, unsigned kind,
                                         enum plumb_share share)
{
    if (recorder->stopped)
        return NULL;
    if (recorder->batches[kind] && plumb_batch_is_full(recorder->batches[kind]))
        seal(recorder, kind);
    if (recorder->batches[kind])
        return recorder->batches[kind];
    if (!plumb_recorder_make_room(recorder, plumb_batch_cost(kind), share))
        return NULL;
    if (recorder->batches[kind]) /* another thread made it while this one waited */
        return plumb_recorder_batch(recorder, kind, share);
    struct plumb_batch *batch = recorder->spares[kind];
    recorder->spares[kind] = NULL;
    if (!batch)
        batch = plumb_batch_new(kind);
    if (!batch) {
        plumb_recorder_stop_for_memory(recorder);
        return NULL;
    }
    plumb_batch_begin(batch, ++recorder->batch_serial);
    recorder->used += batch->bytes;
    recorder->batches[kind] = batch;
    return batch;
}

bool plumb_recorder_name(struct plumb_recorder *recorder, struct plumb_batch *batch,
                         const char *text, uint32_t *offset)
{
    const size_t before = batch->bytes;
    if (plumb_batch_name(batch, text, offset)) {
        recorder->used += batch->bytes - before;
        return true;
    }
    plumb_recorder_stop_for_memory(recorder);
    return false;
}

bool plumb_recorder_name_text(struct plumb_recorder *recorder, struct plumb_batch *batch,
                              struct plumb_text *text, uint32_t *offset)
{
    if (text->serial != batch->serial) {
        const size_t before = batch->bytes;
        if (!plumb_batch_text(batch, text->text, text->length, &text->id)) {
            plumb_recorder_stop_for_memory(recorder);
            return false;
        }
        recorder->used += batch->bytes - before;
        text->serial = batch->serial;
    }
    *offset = text->id;
    return true;
}
