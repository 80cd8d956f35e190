/* record_places.c - the ops that are entered: known ones by name, and each thread's stack. */
#include "record/recorder_state.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum {
    DEEPEST = 256,         /* tensors of deeper ones are dropped and counted */
    MOST_PLACES = 1 << 15, /* tensors of further ones are dropped and counted */
    LONGEST_KEY = 2 * PLUMB_LONGEST_NAME + 16,
    PLACES_SHARE = 4, /* the part of the memory that places may take: a quarter */
    PLACE_OVERHEAD = 64,
};

static _Thread_local struct plumb_visit visits[DEEPEST];
static _Thread_local int depth;
static _Thread_local int
    beyond; /* places of nowhere's recorder that are entered without room */
static _Thread_local struct plumb_visit nowhere; /* where those are */

/* ---- places, with the lock held ------------------------------------------------------------- */

static bool has_room(const struct plumb_recorder *recorder, size_t bytes)
{
    return recorder->place_arena.allocated + bytes <= recorder->limit / PLACES_SHARE;
}

void *plumb_recorder_keep(struct plumb_recorder *recorder, size_t size)
{
    const size_t before = recorder->place_arena.allocated;
    void *memory =
        has_room(recorder, size) ? plumb_arena_alloc(&recorder->place_arena, 1, size) : NULL;
    recorder->used += recorder->place_arena.allocated - before;
    return memory;
}

static bool grow_places(struct plumb_recorder *recorder)
{
    if (recorder->place_count < recorder->place_capacity)
        return true;
    const size_t larger = recorder->place_capacity ? recorder->place_capacity * 2 : 64;
    void *places = plumb_realloc_array(recorder->places, larger, sizeof *recorder->places);
    if (!places)
        return false;
    recorder->places = places;
    recorder->place_capacity = larger;
    return true;
}

static struct plumb_place *make_place(struct plumb_recorder *recorder, const char *key,
                                      enum plumb_phase phase, const char *module,
                                      const char *name)
{
    struct plumb_arena *arena = &recorder->place_arena;
    struct plumb_place *place = plumb_arena_alloc(arena, 1, sizeof *place);
    const char *kept = plumb_arena_text(arena, key, strlen(key));
    if (!place || !kept)
        return NULL;
    *place = (struct plumb_place){
        .module = plumb_arena_text(arena, module, strlen(module)),
        .name = plumb_arena_text(arena, name, strlen(name)),
        .label.text = plumb_arena_printf(arena, "%s%s%s", module, *module ? "." : "", name),
        .phase = phase,
        .step = INT64_MIN,
    };
    if (!place->module || !place->name || !place->label.text || !grow_places(recorder) ||
        !plumb_table_put(&recorder->place_names, kept, recorder->place_count))
        return NULL;
    place->label.length = strlen(place->label.text);
    return place;
}

static struct plumb_place *add_place(struct plumb_recorder *recorder, const char *key,
                                     enum plumb_phase phase, const char *module,
                                     const char *name)
{
    const size_t bytes = sizeof(struct plumb_place) + 3 * strlen(key) + PLACE_OVERHEAD;
    if (recorder->place_count == MOST_PLACES || !has_room(recorder, bytes))
        return NULL;
    const size_t before = recorder->place_arena.allocated;
    struct plumb_place *place = make_place(recorder, key, phase, module, name);
    recorder->used += recorder->place_arena.allocated - before;
    if (place)
        recorder->places[recorder->place_count++] = place;
    else
        plumb_recorder_stop_for_memory(recorder);
    return place;
}

/* NULL if it cannot be kept. */
static struct plumb_place *find_place(struct plumb_recorder *recorder, enum plumb_phase phase,
                                      const char *module, const char *name)
{
    char key[LONGEST_KEY], short_module[PLUMB_LONGEST_NAME], short_name[PLUMB_LONGEST_NAME];
    size_t index = 0;
    if (recorder->stopped || !name || (unsigned)phase >= PLUMB_PHASE_COUNT)
        return NULL;
    module = plumb_recorder_fit_name(module ? module : "", short_module);
    name = plumb_recorder_fit_name(name, short_name);
    (void)snprintf(key, sizeof key, "%d\x1f%s\x1f%s", (int)phase, module, name);
    if (plumb_table_get(&recorder->place_names, key, &index))
        return recorder->places[index];
    return add_place(recorder, key, phase, module, name);
}

/* ---- entering ------------------------------------------------------------------------------- */

static void enter(struct plumb_recorder *recorder, struct plumb_place *place, int call,
                  int64_t now)
{
    int number = call;
    if (place && call < 0) {
        if (place->step != recorder->step)
            place->calls = 0;
        place->step = recorder->step;
        number = place->calls++;
    }
    if (place)
        plumb_flight_note(&recorder->flight, PLUMB_FLIGHT_ENTER, recorder->step, now,
                          place->phase, number, place->label.text, place->label.length);
    visits[depth++] = (struct plumb_visit){.serial = recorder->serial,
                                           .place = place,
                                           .call = number,
                                           .begin_ns = now,
                                           .now_ns = now};
}

/* True if there is no room; the leave that belongs to it leaves nothing else. */
static bool is_too_deep(const struct plumb_recorder *recorder)
{
    if (depth < DEEPEST)
        return false;
    if (nowhere.serial != recorder->serial)
        beyond = 0;
    nowhere.serial = recorder->serial;
    beyond++;
    return true;
}

void plumb_record_enter(struct plumb_recorder *recorder, enum plumb_phase phase,
                        const char *module, const char *op, int call)
{
    if (!plumb_recorder_wants(recorder, WANTS_SPANS) || is_too_deep(recorder))
        return;
    const int64_t now = plumb_record_now();
    (void)pthread_mutex_lock(&recorder->lock);
    enter(recorder, find_place(recorder, phase, module, op), call, now);
    (void)pthread_mutex_unlock(&recorder->lock);
}

struct plumb_place *plumb_record_place(struct plumb_recorder *recorder, enum plumb_phase phase,
                                       const char *module, const char *op)
{
    if (!plumb_recorder_wants(recorder, WANTS_SERIES))
        return NULL;
    (void)pthread_mutex_lock(&recorder->lock);
    struct plumb_place *place = find_place(recorder, phase, module, op);
    (void)pthread_mutex_unlock(&recorder->lock);
    return place;
}

void plumb_record_enter_place(struct plumb_recorder *recorder, struct plumb_place *place,
                              int call)
{
    if (!plumb_recorder_wants(recorder, WANTS_SPANS) || is_too_deep(recorder))
        return;
    const int64_t now = plumb_record_now();
    (void)pthread_mutex_lock(&recorder->lock);
    enter(recorder, place, call, now);
    (void)pthread_mutex_unlock(&recorder->lock);
}

struct plumb_visit *plumb_recorder_visit(const struct plumb_recorder *recorder)
{
    int i = depth - 1;
    if (beyond && nowhere.serial == recorder->serial)
        return &nowhere;
    while (i >= 0 && visits[i].serial != recorder->serial)
        i--;
    return i < 0 ? NULL : &visits[i];
}

/* ---- leaving -------------------------------------------------------------------------------- */

static void add_span(struct plumb_recorder *recorder, const struct plumb_visit *visit,
                     int64_t now)
{
    struct plumb_batch *batch = plumb_recorder_batch(recorder, PLUMB_BLOCK_SPANS, SHARE_SPANS);
    struct plumb_block_span row = {
        .step = recorder->step, .begin_ns = visit->begin_ns, .end_ns = now};
    if (!batch)
        recorder->dropped.spans += !recorder->stopped;
    else if (plumb_recorder_name_text(recorder, batch, &recorder->track, &row.track) &&
             plumb_recorder_name_text(recorder, batch, &visit->place->label, &row.name))
        plumb_batch_add(batch, &row);
}

void plumb_record_leave(struct plumb_recorder *recorder)
{
    struct plumb_visit *innermost = recorder && depth ? plumb_recorder_visit(recorder) : NULL;
    if (!innermost)
        return;
    if (innermost == &nowhere) {
        beyond--;
        return;
    }
    const struct plumb_visit visit = *innermost;
    depth--;
    memmove(innermost, innermost + 1, (size_t)(visits + depth - innermost) * sizeof *visits);
    if (!visit.place || !plumb_recorder_wants(recorder, WANTS_SPANS))
        return;
    const int64_t now = plumb_record_now();
    (void)pthread_mutex_lock(&recorder->lock);
    plumb_flight_note(&recorder->flight, PLUMB_FLIGHT_LEAVE, recorder->step, now,
                      visit.place->phase, visit.call, visit.place->label.text,
                      visit.place->label.length);
    if (recorder->level != PLUMB_LEVEL_WATCH)
        add_span(recorder, &visit, now);
    (void)pthread_mutex_unlock(&recorder->lock);
}
