/*
 * run_foreign.c - records of other tools as a run.
 *
 * A format (src/format/record_formats.def) finds the parts, a step of a rank each, and reads one
 * into a feed. When a run is opened all parts are read once, to count, to keep series and settings,
 * and to say what is missing; tensor records are read again when they are visited.
 */
#include "run/run.h"

#include "base/error.h"
#include "base/json_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum plumb_probe probe(const char *path)
{
    enum plumb_probe sure;
    (void)plumb_record_format_of(path, &sure);
    return sure;
}

/* ---- opening ------------------------------------------------------------------------------------ */

/* One part, while it is counted. */
struct taking {
    struct plumb_run *run;
    struct plumb_rank_file *rank;
    const struct plumb_record_part *part;
    size_t replaced; /* points of steps that came again */
    bool failed;     /* out of memory */
};

static bool take_record(void *context, const struct plumb_tensor_record *record)
{
    struct taking *taking = context;
    taking->rank->facts.records++;
    plumb_rank_take_step(&taking->rank->facts, record->step);
    return true;
}

static bool take_collective(void *context, const struct plumb_rank_collective *collective)
{
    struct taking *taking = context;
    (void)collective;
    taking->rank->facts.collectives++;
    return true;
}

/* A training that was resumed logs steps again: what it said before from there on is dropped, so
 * that steps only grow. The same line twice is one. */
static bool rewind_to(struct taking *taking, struct plumb_series *series, int64_t step,
                      double value)
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
    taking->replaced += series->count - low;
    series->count = low;
    return true;
}

static bool take_point(void *context, const char *name, int64_t step, double value)
{
    struct taking *taking = context;
    struct plumb_series_growing *growing =
        plumb_run_grow_series(taking->run, taking->part->rank, name);
    if (!growing) {
        taking->failed = true;
        return false;
    }
    struct plumb_series *series = &growing->series;
    const bool again = series->count && step <= series->steps[series->count - 1];
    if (!again || rewind_to(taking, series, step, value))
        taking->failed |= !plumb_series_add_point(growing, step, value);
    plumb_rank_take_step(&taking->rank->facts, step);
    return !taking->failed;
}

/* The same setting in every step is kept once; one that changes is told. */
static bool take_config(void *context, const char *key, const char *json)
{
    struct taking *taking = context;
    struct plumb_run *run = taking->run;
    for (size_t i = run->config_count; i-- > 0;) {
        const struct plumb_run_config *config = &run->configs[i];
        if (config->rank != taking->part->rank || strcmp(config->key, key) != 0)
            continue;
        if (strcmp(config->json, json) != 0)
            taking->failed |= !plumb_run_warn(run, "%s: %s is %s here and %s earlier",
                                              taking->part->path, key, json, config->json);
        return !taking->failed;
    }
    taking->failed |= !plumb_run_add_config(run, taking->part->rank, key, json);
    return !taking->failed;
}

static bool take_warning(void *context, bool cut, const char *text)
{
    struct taking *taking = context;
    if (cut) {
        taking->rank->facts.ended = PLUMB_ENDED_STOPPED;
        taking->rank->facts.how = "its records are cut off";
    }
    taking->failed |= !plumb_run_warn(taking->run, "%s", text);
    return !taking->failed;
}

static enum plumb_status take_part(struct plumb_run *run, const struct plumb_record_part *part,
                                   struct plumb_error *err)
{
    struct taking taking = {.run = run, .part = part};
    struct plumb_error problem;
    taking.rank = plumb_run_find_rank(run, part->rank);
    if (!taking.rank)
        taking.rank = plumb_run_add_rank(run, part->rank);
    if (!taking.rank)
        return plumb_fail_memory(err);
    const struct plumb_record_feed feed = {.context = &taking,
                                           .rank = part->rank,
                                           .count_only = true,
                                           .record = take_record,
                                           .collective = take_collective,
                                           .series = take_point,
                                           .config = take_config,
                                           .warn = take_warning};
    const enum plumb_status status = run->foreign->read(part, &feed, &problem);
    if (taking.failed || status == PLUMB_NO_MEMORY)
        return plumb_fail_memory(err);
    if ((status && !plumb_run_warn(run, "left out: %.900s", problem.message)) ||
        (taking.replaced &&
         !plumb_run_warn(run, "%s: steps go back; %zu points are replaced by later ones",
                         part->path, taking.replaced)))
        return plumb_fail_memory(err);
    if (part->has_step) {
        plumb_rank_take_step(&taking.rank->facts, part->step);
        taking.rank->facts.steps++;
        taking.rank->facts.saved += part->has_values;
    }
    return PLUMB_OK;
}

static int by_rank_and_step(const void *left, const void *right)
{
    const struct plumb_record_part *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return strcmp(a->path, b->path);
}

static enum plumb_status find_parts(struct plumb_run *run, struct plumb_error *err)
{
    struct plumb_record_parts *parts = &run->parts;
    const struct plumb_record_part whole = {.path = run->path};
    plumb_record_parts_release(parts);
    enum plumb_status status = run->foreign->find ? run->foreign->find(parts, run->path, err)
                                                  : plumb_record_parts_add(parts, &whole, err);
    if (parts->count > 1 && parts->items[0].has_step)
        qsort(parts->items, parts->count, sizeof *parts->items, by_rank_and_step);
    for (size_t i = 0; i < parts->warning_count && !status; i++)
        if (!plumb_run_warn(run, "%s", parts->warnings[i]))
            status = plumb_fail_memory(err);
    return status;
}

/* Everything is read anew: a log may have grown anywhere. */
static enum plumb_status refresh(struct plumb_run *run, struct plumb_error *err)
{
    run->rank_count = run->config_count = run->warning_count = 0;
    for (size_t i = 0; i < run->series_count; i++)
        run->series[i].series.count = 0;
    enum plumb_status status = find_parts(run, err);
    for (size_t i = 0; i < run->parts.count && !status; i++)
        status = take_part(run, &run->parts.items[i], err);
    plumb_run_sort_ranks(run);
    return status;
}

/* What the content says, or the format alone. */
static enum plumb_status note_framework(struct plumb_run *run, struct plumb_error *err)
{
    char json[128] = "";
    if (*run->foreign->framework)
        (void)snprintf(json, sizeof json, "\"%s\"", run->foreign->framework);
    const char *framework = json;
    for (size_t i = run->config_count; i-- > 0;)
        if (strcmp(run->configs[i].key, "framework") == 0)
            framework = run->configs[i].json;
    return !*framework || plumb_run_add_note(run, "framework", framework)
               ? PLUMB_OK
               : plumb_fail_memory(err);
}

static enum plumb_status open_foreign(struct plumb_run *run, struct plumb_error *err)
{
    enum plumb_probe sure;
    char json[128];
    run->foreign = plumb_record_format_of(run->path, &sure);
    if (!run->foreign)
        return plumb_fail(err, PLUMB_NOT_FOUND, -1, "%s: is gone", run->path);
    (void)snprintf(json, sizeof json, "\"%s\"", run->foreign->entry.name);
    if (!plumb_run_add_note(run, "format", json))
        return plumb_fail_memory(err);
    const enum plumb_status status = refresh(run, err);
    return status ? status : note_framework(run, err);
}

/* ---- visits ------------------------------------------------------------------------------------- */

struct visiting {
    const struct plumb_run_query *query;
    bool (*record)(void *context, const struct plumb_tensor_record *record);
    bool (*collective)(void *context, const struct plumb_rank_collective *collective);
    void *context;
    bool ended; /* the visitor wants no more */
};

static bool pass_record(void *context, const struct plumb_tensor_record *record)
{
    struct visiting *visiting = context;
    if (plumb_query_wants_steps(visiting->query, record->step, record->step) &&
        plumb_query_wants_record(visiting->query, record))
        visiting->ended = !visiting->record(visiting->context, record);
    return !visiting->ended;
}

static bool pass_collective(void *context, const struct plumb_rank_collective *collective)
{
    struct visiting *visiting = context;
    if (plumb_query_wants_steps(visiting->query, collective->step, collective->step))
        visiting->ended = !visiting->collective(visiting->context, collective);
    return !visiting->ended;
}

static enum plumb_status visit_parts(const struct plumb_run *run, struct visiting *visiting,
                                     struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < run->parts.count && !status && !visiting->ended; i++) {
        const struct plumb_record_part *part = &run->parts.items[i];
        const struct plumb_record_feed feed = {
            .context = visiting,
            .rank = part->rank,
            .record = visiting->record ? pass_record : NULL,
            .collective = visiting->collective ? pass_collective : NULL};
        if (!plumb_query_wants_rank(visiting->query, part->rank) ||
            (part->has_step &&
             !plumb_query_wants_steps(visiting->query, part->step, part->step)))
            continue;
        struct plumb_error problem;
        status = run->foreign->read(part, &feed, &problem);
        if (status != PLUMB_NO_MEMORY)
            status = PLUMB_OK; /* a part that cannot be read was told when the run was opened */
        else
            status = plumb_fail_memory(err);
    }
    return status;
}

static enum plumb_status
visit_records(struct plumb_run *run, const struct plumb_run_query *query,
              bool (*visit)(void *context, const struct plumb_tensor_record *record),
              void *context, struct plumb_error *err)
{
    struct visiting visiting = {.query = query, .record = visit, .context = context};
    return visit_parts(run, &visiting, err);
}

static enum plumb_status
visit_collectives(struct plumb_run *run, const struct plumb_run_query *query,
                  bool (*visit)(void *context, const struct plumb_rank_collective *collective),
                  void *context, struct plumb_error *err)
{
    struct visiting visiting = {.query = query, .collective = visit, .context = context};
    return visit_parts(run, &visiting, err);
}

static enum plumb_status open_values(const struct plumb_run *run, int rank, int64_t step,
                                     struct plumb_file **file, struct plumb_error *err)
{
    for (size_t i = 0; i < run->parts.count && run->foreign->open_values; i++) {
        const struct plumb_record_part *part = &run->parts.items[i];
        if (part->rank == rank && part->has_step && part->step == step && part->has_values)
            return run->foreign->open_values(part, file, err);
    }
    return plumb_fail(err, PLUMB_NOT_FOUND, -1, "%s: no saved values of rank %d at step %lld",
                      run->path, rank, (long long)step);
}

const struct plumb_run_source plumb_run_source_foreign = {
    .probe = probe,
    .open = open_foreign,
    .refresh = refresh,
    .visit_records = visit_records,
    .visit_collectives = visit_collectives,
    .open_values = open_values,
};
