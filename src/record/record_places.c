/* record_places.c - the ops that are entered: known ones by name, and each thread's stack. */
#include "record/recorder_state.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum {
    DEEPEST = 64,
    MOST_OPS = 1 << 15, /* different ops; tensors of further ones are dropped and counted */
};

struct place {
    uint64_t serial; /* of the recorder */
    struct plumb_recorded_op *op;
    int call;
    int64_t begin_ns;
};

static _Thread_local struct place places[DEEPEST];
static _Thread_local int depth;

static void stop_for_memory(struct plumb_recorder *recorder)
{
    struct plumb_error error;
    (void)plumb_fail_memory(&error);
    plumb_recorder_stop(recorder, &error);
}

static struct plumb_recorded_op *add_op(struct plumb_recorder *recorder, const char *key,
                                        enum plumb_phase phase, const char *module,
                                        const char *name)
{
    if (recorder->op_count == MOST_OPS)
        return NULL;
    if (recorder->op_count == recorder->op_capacity) {
        const size_t larger = recorder->op_capacity ? recorder->op_capacity * 2 : 64;
        void *ops = plumb_realloc_array(recorder->ops, larger, sizeof *recorder->ops);
        if (!ops)
            return NULL;
        recorder->ops = ops;
        recorder->op_capacity = larger;
    }
    struct plumb_arena *arena = &recorder->op_arena;
    struct plumb_recorded_op *op = plumb_arena_alloc(arena, 1, sizeof *op);
    const char *kept = plumb_arena_text(arena, key, strlen(key));
    if (!op || !kept)
        return NULL;
    *op = (struct plumb_recorded_op){
        .module = plumb_arena_text(arena, module, strlen(module)),
        .name = plumb_arena_text(arena, name, strlen(name)),
        .label = plumb_arena_printf(arena, "%s%s%s", module, *module ? "." : "", name),
        .phase = phase,
        .step = INT64_MIN,
    };
    if (!op->module || !op->name || !op->label ||
        !plumb_table_put(&recorder->op_names, kept, recorder->op_count))
        return NULL;
    recorder->ops[recorder->op_count++] = op;
    return op;
}

static struct plumb_recorded_op *find_op(struct plumb_recorder *recorder,
                                         enum plumb_phase phase, const char *module,
                                         const char *name)
{
    char key[1024];
    size_t index = 0;
    const int length = snprintf(key, sizeof key, "%d\x1f%s\x1f%s", (int)phase, module, name);
    if (length < 0 || (size_t)length >= sizeof key)
        return NULL;
    if (plumb_table_get(&recorder->op_names, key, &index))
        return recorder->ops[index];
    struct plumb_recorded_op *op = add_op(recorder, key, phase, module, name);
    if (!op && recorder->op_count < MOST_OPS)
        stop_for_memory(recorder);
    return op;
}

void plumb_record_enter(struct plumb_recorder *recorder, enum plumb_phase phase,
                        const char *module, const char *op_name, int call)
{
    if (!plumb_recorder_wants(recorder, WANTS_SPANS) || depth == DEEPEST)
        return;
    const int64_t now = plumb_record_now();
    const bool sound = op_name && (unsigned)phase < PLUMB_PHASE_COUNT;
    (void)pthread_mutex_lock(&recorder->lock);
    struct plumb_recorded_op *op = sound && !recorder->stopped
                                       ? find_op(recorder, phase, module ? module : "", op_name)
                                       : NULL;
    int number = call;
    if (op && call < 0) {
        if (op->step != recorder->step)
            op->calls = 0;
        op->step = recorder->step;
        number = op->calls++;
    }
    if (op)
        plumb_flight_note(&recorder->flight, PLUMB_FLIGHT_ENTER, recorder->step, now, op->phase,
                          number, op->label);
    (void)pthread_mutex_unlock(&recorder->lock);
    places[depth++] = (struct place){recorder->serial, op, number, now};
}

/* The innermost place of this recorder in this thread; -1 if there is none. */
static int find_place(const struct plumb_recorder *recorder)
{
    int i = depth - 1;
    while (i >= 0 && places[i].serial != recorder->serial)
        i--;
    return i;
}

bool plumb_recorder_place(const struct plumb_recorder *recorder, struct plumb_recorded_op **op,
                          int *call)
{
    const int i = find_place(recorder);
    *op = i < 0 ? NULL : places[i].op;
    *call = i < 0 ? 0 : places[i].call;
    return i < 0 || *op;
}

static void add_span(struct plumb_recorder *recorder, const struct place *place, int64_t now)
{
    struct plumb_batch *batch = plumb_recorder_batch(recorder, PLUMB_BLOCK_SPANS, SHARE_SPANS);
    struct plumb_block_span row = {
        .step = recorder->step, .begin_ns = place->begin_ns, .end_ns = now};
    if (!batch)
        recorder->dropped.spans += !recorder->stopped;
    else if (plumb_recorder_name(recorder, batch, "ops", &row.track) &&
             plumb_recorder_name(recorder, batch, place->op->label, &row.name))
        plumb_batch_add(batch, &row);
}

void plumb_record_leave(struct plumb_recorder *recorder)
{
    if (!recorder || !depth)
        return;
    const int i = find_place(recorder);
    if (i < 0)
        return;
    const struct place place = places[i];
    depth--;
    memmove(&places[i], &places[i + 1], (size_t)(depth - i) * sizeof *places);
    if (!place.op || !plumb_recorder_wants(recorder, WANTS_SPANS))
        return;
    const int64_t now = plumb_record_now();
    (void)pthread_mutex_lock(&recorder->lock);
    plumb_flight_note(&recorder->flight, PLUMB_FLIGHT_LEAVE, recorder->step, now,
                      place.op->phase, place.call, place.op->label);
    if (recorder->level == PLUMB_LEVEL_OP)
        add_span(recorder, &place, now);
    (void)pthread_mutex_unlock(&recorder->lock);
}
