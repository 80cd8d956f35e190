/*
 * run_take.c - one part of another tool's records taken into a run.
 *
 * Reading a part touches nothing but what belongs to it, so that parts are read in parallel; what they
 * said is put into the run afterwards, in their order.
 */
#include "run/run_take.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

static bool keep_word(struct plumb_taking *taking, enum plumb_said_kind kind, const char *key,
                      const char *text, int64_t step, double value)
{
    if (taking->count == taking->capacity) {
        const size_t larger = taking->capacity ? taking->capacity * 2 : 16;
        void *said = plumb_realloc_array(taking->said, larger, sizeof *taking->said);
        if (!said) {
            taking->failed = true;
            return false;
        }
        taking->said = said;
        taking->capacity = larger;
    }
    struct plumb_said *said = &taking->said[taking->count];
    *said = (struct plumb_said){.kind = kind, .step = step, .value = value};
    /* Points of a series share its name, mostly with the point some places before. */
    for (size_t back = 1; back <= 32 && back <= taking->count && !said->key; back++)
        if (strcmp(said[-(ptrdiff_t)back].key, key) == 0)
            said->key = said[-(ptrdiff_t)back].key;
    if (!said->key)
        said->key = plumb_arena_text(&taking->arena, key, strlen(key));
    said->text = *text ? plumb_arena_text(&taking->arena, text, strlen(text)) : "";
    taking->failed |= !said->key || !said->text;
    taking->count += !taking->failed;
    return !taking->failed;
}

static bool take_record(void *context, const struct plumb_tensor_record *record)
{
    struct plumb_taking *taking = context;
    taking->facts.records++;
    plumb_rank_take_step(&taking->facts, record->step);
    return true;
}

static bool take_collective(void *context, const struct plumb_rank_collective *collective)
{
    struct plumb_taking *taking = context;
    (void)collective;
    taking->facts.collectives++;
    return true;
}

static bool take_point(void *context, const char *name, int64_t step, double value)
{
    return keep_word(context, PLUMB_SAID_POINT, name, "", step, value);
}

static bool take_config(void *context, const char *key, const char *json)
{
    return keep_word(context, PLUMB_SAID_CONFIG, key, json, 0, 0);
}

static bool take_warning(void *context, bool cut, const char *text)
{
    struct plumb_taking *taking = context;
    taking->cut |= cut;
    return keep_word(taking, PLUMB_SAID_WARNING, "", text, 0, 0);
}

enum plumb_status plumb_taking_read(struct plumb_taking *taking,
                                    const struct plumb_record_format *format,
                                    struct plumb_error *err)
{
    const struct plumb_record_part *part = taking->part;
    struct plumb_error problem;
    taking->facts = (struct plumb_run_rank){.rank = part->rank, .last_step = -1};
    const struct plumb_record_feed feed = {.context = taking,
                                           .rank = part->rank,
                                           .count_only = true,
                                           .record = take_record,
                                           .collective = take_collective,
                                           .series = take_point,
                                           .config = take_config,
                                           .warn = take_warning};
    const enum plumb_status status = format->read(part, &feed, &problem);
    if (taking->failed || status == PLUMB_NO_MEMORY)
        return plumb_fail_memory(err);
    return !status || keep_word(taking, PLUMB_SAID_FAILURE, "", problem.message, 0, 0)
               ? PLUMB_OK
               : plumb_fail_memory(err);
}

void plumb_taking_release(struct plumb_taking *taking)
{
    plumb_free(taking->said);
    plumb_arena_release(&taking->arena);
    *taking = (struct plumb_taking){.part = NULL};
}

/* ---- putting it into the run --------------------------------------------------------------------- */

/* A training that was resumed logs steps again: what it said before from there on is dropped, so
 * that steps only grow. The same line twice is one. */
static bool rewind_to(struct plumb_series *series, int64_t step, double value, size_t *replaced)
{
    size_t low = 0, high = series->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (series->steps[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < series->count && series->steps[low] == step &&
        memcmp(&series->values[low], &value, sizeof value) == 0)
        return false;
    *replaced += series->count - low;
    series->count = low;
    return true;
}

static bool put_point(struct plumb_run *run, struct plumb_run_rank *facts,
                      const struct plumb_said *said, size_t *replaced)
{
    struct plumb_series_growing *growing = plumb_run_grow_series(run, facts->rank, said->key);
    if (!growing)
        return false;
    struct plumb_series *series = &growing->series;
    const bool again = series->count && said->step <= series->steps[series->count - 1];
    plumb_rank_take_step(facts, said->step);
    return (again && !rewind_to(series, said->step, said->value, replaced)) ||
           plumb_series_add_point(growing, said->step, said->value);
}

/* The same setting in every step is kept once; one that changes is told. */
static bool put_config(struct plumb_run *run, const struct plumb_taking *taking,
                       const struct plumb_said *said)
{
    for (size_t i = run->config_count; i-- > 0;) {
        const struct plumb_run_config *config = &run->configs[i];
        if (config->rank != taking->part->rank || strcmp(config->key, said->key) != 0)
            continue;
        return strcmp(config->json, said->text) == 0 ||
               plumb_run_warn(run, "%s: %s is %s here and %s earlier", taking->part->path,
                              said->key, said->text, config->json);
    }
    return plumb_run_add_config(run, taking->part->rank, said->key, said->text);
}

static bool put_said(struct plumb_run *run, const struct plumb_taking *taking,
                     struct plumb_run_rank *facts, const struct plumb_said *said,
                     size_t *replaced)
{
    switch (said->kind) {
    case PLUMB_SAID_POINT:
        return put_point(run, facts, said, replaced);
    case PLUMB_SAID_CONFIG:
        return put_config(run, taking, said);
    case PLUMB_SAID_WARNING:
        return plumb_run_warn(run, "%s", said->text);
    case PLUMB_SAID_FAILURE:
        return plumb_run_warn(run, "left out: %.900s", said->text);
    }
    return true;
}

static void put_counts(const struct plumb_taking *taking, struct plumb_run_rank *facts)
{
    const struct plumb_record_part *part = taking->part;
    facts->records += taking->facts.records;
    facts->collectives += taking->facts.collectives;
    if (taking->facts.first_step <= taking->facts.last_step) {
        plumb_rank_take_step(facts, taking->facts.first_step);
        plumb_rank_take_step(facts, taking->facts.last_step);
    }
    if (taking->cut) {
        facts->ended = PLUMB_ENDED_STOPPED;
        facts->how = "its records are cut off";
    }
    if (part->has_step) {
        plumb_rank_take_step(facts, part->step);
        facts->steps++;
        facts->saved += part->has_values;
    }
}

/* A part is read from its beginning on: what was given before it ended is the head of its step. */
static bool put_losses(struct plumb_run *run, const struct plumb_taking *taking,
                       int64_t last_step)
{
    const struct plumb_record_part *part = taking->part;
    bool failed = taking->cut;
    for (size_t i = 0; i < taking->count; i++)
        failed |= taking->said[i].kind == PLUMB_SAID_FAILURE;
    const int64_t first = part->has_step ? part->step : last_step;
    const struct plumb_run_loss loss = {.rank = part->rank,
                                        .first_step = first < 0 ? 0 : first,
                                        .last_step = part->has_step ? part->step : INT64_MAX,
                                        .has_head = true};
    return !failed || plumb_run_lose(run, &loss);
}

bool plumb_taking_put(struct plumb_run *run, const struct plumb_taking *taking)
{
    struct plumb_rank_file *rank = plumb_run_find_rank(run, taking->part->rank);
    size_t replaced = 0;
    bool room = true;
    if (!rank)
        rank = plumb_run_add_rank(run, taking->part->rank);
    if (!rank)
        return false;
    put_counts(taking, &rank->facts);
    for (size_t i = 0; i < taking->count && room; i++)
        room = put_said(run, taking, &rank->facts, &taking->said[i], &replaced);
    return room && put_losses(run, taking, rank->facts.last_step) &&
           (!replaced ||
            plumb_run_warn(run, "%s: steps go back; %zu points are replaced by later ones",
                           taking->part->path, replaced));
}
