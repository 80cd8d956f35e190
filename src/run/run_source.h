/*
 * run_source.h - where a run comes from: Plumb's own recorder, or records that other tools wrote.
 *
 * One const struct a kind and one line in run_sources.def. What a source does not have is NULL: a
 * visit then sees nothing.
 */
#ifndef PLUMB_RUN_RUN_SOURCE_H
#define PLUMB_RUN_RUN_SOURCE_H

#include "format/format.h"
#include "run/run_share.h"

struct plumb_run_source {
    /* How sure it is that `path` is of its kind. */
    enum plumb_probe (*probe)(const char *path);
    /* Fills ranks, series, configuration, notes and warnings of a run whose path is set. */
    enum plumb_status (*open)(struct plumb_run *run, struct plumb_error *err);
    enum plumb_status (*refresh)(struct plumb_run *run, struct plumb_error *err);
    /* The query is never NULL here. */
    enum plumb_status (*visit_records)(struct plumb_run *run,
                                       const struct plumb_run_query *query,
                                       bool (*visit)(void *context,
                                                     const struct plumb_tensor_record *record),
                                       void *context, struct plumb_error *err);
    enum plumb_status (*visit_steps)(struct plumb_run *run, const struct plumb_run_query *query,
                                     bool (*visit)(void *context,
                                                   const struct plumb_run_step *step),
                                     void *context, struct plumb_error *err);
    enum plumb_status (*visit_spans)(struct plumb_run *run, const struct plumb_run_query *query,
                                     bool (*visit)(void *context,
                                                   const struct plumb_span *span),
                                     void *context, struct plumb_error *err);
    enum plumb_status (*visit_counters)(struct plumb_run *run,
                                        const struct plumb_run_query *query,
                                        bool (*visit)(void *context,
                                                      const struct plumb_counter *counter),
                                        void *context, struct plumb_error *err);
    enum plumb_status (*visit_collectives)(
        struct plumb_run *run, const struct plumb_run_query *query,
        bool (*visit)(void *context, const struct plumb_rank_collective *collective),
        void *context, struct plumb_error *err);
    enum plumb_status (*visit_flight)(struct plumb_run *run, int rank,
                                      bool (*visit)(void *context, int64_t step,
                                                    int64_t time_ns, const char *what),
                                      void *context, struct plumb_error *err);
    /* Both in one reading, from several threads at once; NULL: that cannot be. */
    enum plumb_status (*visit_both)(struct plumb_run *run, const struct plumb_run_query *query,
                                    const struct plumb_run_visitor *visitor,
                                    struct plumb_error *err);
    enum plumb_status (*open_values)(const struct plumb_run *run, int rank, int64_t step,
                                     struct plumb_file **file, struct plumb_error *err);
};

/* Does the query ask for rows of that step, that rank? */
bool plumb_query_wants_steps(const struct plumb_run_query *query, int64_t first, int64_t last);
bool plumb_query_wants_rank(const struct plumb_run_query *query, int rank);
/* ... for this record? A pattern without a call number means every call. */
bool plumb_query_wants_record(const struct plumb_run_query *query,
                              const struct plumb_tensor_record *record);

#endif
