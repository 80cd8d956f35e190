/* run_sources.c - the registry of kinds of runs: which one a path is, and who answers for it. */
#include "run/run.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUN_SOURCE(name) extern const struct plumb_run_source plumb_run_source_##name;
#include "run/run_sources.def"
#undef RUN_SOURCE

static const struct plumb_run_source *const sources[] = {
#define RUN_SOURCE(name) &plumb_run_source_##name,
#include "run/run_sources.def"
#undef RUN_SOURCE
};

static const struct plumb_run_query everything = {.rank = -1};

static const struct plumb_run_source *source_of(const char *path, enum plumb_probe *sure)
{
    const struct plumb_run_source *best = NULL;
    *sure = PLUMB_PROBE_NO;
    for (size_t i = 0; i < sizeof sources / sizeof *sources && *sure < PLUMB_PROBE_CERTAIN;
         i++) {
        const enum plumb_probe answer = sources[i]->probe(path);
        if (answer > *sure) {
            *sure = answer;
            best = sources[i];
        }
    }
    return best;
}

bool plumb_run_is(const char *path)
{
    enum plumb_probe sure;
    return source_of(path, &sure) && sure >= PLUMB_PROBE_LIKELY;
}

enum plumb_status plumb_run_open(const char *path, struct plumb_run **out,
                                 struct plumb_error *err)
{
    enum plumb_probe sure;
    const struct plumb_run_source *source = source_of(path, &sure);
    if (!source)
        return plumb_fail(err, PLUMB_NOT_FOUND, -1,
                          access(path, F_OK) == 0
                              ? "%s: not a recorded run; give the directory that holds "
                                "run.json, or a dump or log that `plumb list formats` names"
                              : "%s: there is no such file or directory",
                          path);
    struct plumb_run *run = plumb_alloc_array(1, sizeof *run);
    if (!run)
        return plumb_fail_memory(err);
    run->source = source;
    run->path = plumb_copy_string(path);
    const enum plumb_status status =
        run->path ? source->open(run, err) : plumb_fail_memory(err);
    if (status) {
        plumb_run_close(run);
        return status;
    }
    *out = run;
    return PLUMB_OK;
}

void plumb_run_close(struct plumb_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->rank_count; i++) {
        if (run->ranks[i].fd >= 0)
            (void)close(run->ranks[i].fd);
        plumb_free(run->ranks[i].blocks);
        plumb_free(run->ranks[i].stacks);
    }
    for (size_t i = 0; i < run->series_count; i++) {
        plumb_free(run->series[i].steps);
        plumb_free(run->series[i].values);
    }
    plumb_record_parts_release(&run->parts);
    plumb_table_release(&run->series_names);
    plumb_arena_release(&run->arena);
    plumb_free(run->ranks);
    plumb_free(run->series);
    plumb_free(run->configs);
    plumb_free(run->notes);
    plumb_free(run->warnings);
    plumb_free(run->losses);
    plumb_free(run->path);
    plumb_free(run);
}

enum plumb_status plumb_run_refresh(struct plumb_run *run, struct plumb_error *err)
{
    return run->source->refresh ? run->source->refresh(run, err) : PLUMB_OK;
}

const char *plumb_run_format(const struct plumb_run *run)
{
    return run->foreign ? run->foreign->entry.name : "plumb";
}

/* ---- what a query asks for ------------------------------------------------------------------ */

bool plumb_query_wants_steps(const struct plumb_run_query *query, int64_t first, int64_t last)
{
    return !query->some_steps || (last >= query->first_step && first <= query->last_step);
}

bool plumb_query_wants_rank(const struct plumb_run_query *query, int rank)
{
    return query->rank < 0 || query->rank == rank;
}

bool plumb_query_wants_record(const struct plumb_run_query *query,
                              const struct plumb_tensor_record *record)
{
    if (query->slot && !plumb_text_matches(query->slot, record->slot))
        return false;
    if (!query->op || plumb_text_matches(query->op, record->label))
        return true;
    if (record->origin && plumb_text_matches(query->op, record->origin))
        return true;
    char every_call[4096];
    const char *number = record->call > 0 ? strrchr(record->label, '#') : NULL;
    if (!number || snprintf(every_call, sizeof every_call, "%.*s",
                            (int)(number - record->label), record->label) < 0)
        return false;
    return plumb_text_matches(query->op, every_call);
}

/* ---- rows ------------------------------------------------------------------------------------- */

enum plumb_status
plumb_run_visit_records(struct plumb_run *run, const struct plumb_run_query *query,
                        bool (*visit)(void *context, const struct plumb_tensor_record *record),
                        void *context, struct plumb_error *err)
{
    return run->source->visit_records(run, query ? query : &everything, visit, context, err);
}

enum plumb_status
plumb_run_visit_steps(struct plumb_run *run, const struct plumb_run_query *query,
                      bool (*visit)(void *context, const struct plumb_run_step *step),
                      void *context, struct plumb_error *err)
{
    return run->source->visit_steps
               ? run->source->visit_steps(run, query ? query : &everything, visit, context, err)
               : PLUMB_OK;
}

enum plumb_status
plumb_run_visit_spans(struct plumb_run *run, const struct plumb_run_query *query,
                      bool (*visit)(void *context, const struct plumb_span *span),
                      void *context, struct plumb_error *err)
{
    return run->source->visit_spans
               ? run->source->visit_spans(run, query ? query : &everything, visit, context, err)
               : PLUMB_OK;
}

enum plumb_status
plumb_run_visit_counters(struct plumb_run *run, const struct plumb_run_query *query,
                         bool (*visit)(void *context, const struct plumb_counter *counter),
                         void *context, struct plumb_error *err)
{
    return run->source->visit_counters
               ? run->source->visit_counters(run, query ? query : &everything, visit, context,
                                             err)
               : PLUMB_OK;
}

enum plumb_status plumb_run_visit_collectives(
    struct plumb_run *run, const struct plumb_run_query *query,
    bool (*visit)(void *context, const struct plumb_rank_collective *collective), void *context,
    struct plumb_error *err)
{
    return run->source->visit_collectives(run, query ? query : &everything, visit, context,
                                          err);
}

enum plumb_status plumb_run_visit_flight(struct plumb_run *run, int rank,
                                         bool (*visit)(void *context, int64_t step,
                                                       int64_t time_ns, const char *what),
                                         void *context, struct plumb_error *err)
{
    if (!run->source->visit_flight)
        return plumb_fail(err, PLUMB_NOT_FOUND, -1, "%s: %s has no flight recorder", run->path,
                          plumb_run_format(run));
    return run->source->visit_flight(run, rank, visit, context, err);
}

bool plumb_run_may_share(const struct plumb_run *run)
{
    return run->source->visit_both != NULL;
}

enum plumb_status plumb_run_visit_both(struct plumb_run *run,
                                       const struct plumb_run_query *query,
                                       const struct plumb_run_visitor *visitor,
                                       struct plumb_error *err)
{
    if (run->source->visit_both)
        return run->source->visit_both(run, query, visitor, err);
    const enum plumb_status status =
        run->source->visit_collectives(run, query, visitor->collective, visitor->context, err);
    return status
               ? status
               : run->source->visit_records(run, query, visitor->record, visitor->context, err);
}

enum plumb_status plumb_run_open_values(const struct plumb_run *run, int rank, int64_t step,
                                        struct plumb_file **file, struct plumb_error *err)
{
    return run->source->open_values(run, rank, step, file, err);
}
