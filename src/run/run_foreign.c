/*
 * run_foreign.c - records of other tools as a run.
 *
 * A format (src/format/record_formats.def) finds the parts, a step of a rank each, and reads one
 * into a feed. When a run is opened all parts are read once, to count, to keep series and settings,
 * and to say what is missing; tensor records are read again when they are visited.
 */
#include "run/run_take.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

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

enum { PARTS_AT_ONCE = 256 };

struct batch {
    const struct plumb_run *run;
    struct plumb_taking *takings;
};

static enum plumb_status read_one(void *context, size_t task, int worker,
                                  struct plumb_error *err)
{
    struct batch *batch = context;
    (void)worker;
    return plumb_taking_read(&batch->takings[task], batch->run->foreign, err);
}

/* Some parts, read in parallel and put together in their order. */
static enum plumb_status take_parts(struct plumb_run *run, size_t first, size_t count,
                                    struct plumb_error *err)
{
    struct plumb_taking *takings = plumb_alloc_array(count, sizeof *takings);
    struct batch batch = {.run = run, .takings = takings};
    const struct plumb_job job = {.task_count = count,
                                  .run = read_one,
                                  .context = &batch,
                                  .threads = plumb_thread_count(0)};
    if (!takings)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        takings[i].part = &run->parts.items[first + i];
    enum plumb_status status = plumb_job_run(&job, err);
    for (size_t i = 0; i < count; i++) {
        if (!status && !plumb_taking_put(run, &takings[i]))
            status = plumb_fail_memory(err);
        plumb_taking_release(&takings[i]);
    }
    plumb_free(takings);
    return status;
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
    run->rank_count = run->config_count = run->warning_count = run->loss_count = 0;
    for (size_t i = 0; i < run->series_count; i++)
        run->series[i].series.count = 0;
    enum plumb_status status = find_parts(run, err);
    for (size_t i = 0; i < run->parts.count && !status; i += PARTS_AT_ONCE) {
        const size_t left = run->parts.count - i;
        status = take_parts(run, i, left < PARTS_AT_ONCE ? left : PARTS_AT_ONCE, err);
    }
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

static enum plumb_status visit_both(struct plumb_run *run, const struct plumb_run_query *query,
                                    const struct plumb_run_visitor *visitor,
                                    struct plumb_error *err)
{
    struct visiting visiting = {.query = query,
                                .record = visitor->record,
                                .collective = visitor->collective,
                                .context = visitor->context};
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
    .visit_both = visit_both,
    .open_values = open_values,
};
