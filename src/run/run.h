/* run.h - a run on disk as one object: what the readers of its parts fill. */
#ifndef PLUMB_RUN_RUN_H
#define PLUMB_RUN_RUN_H

#include "base/arena.h"
#include "base/table.h"
#include "format/record_format.h"
#include "format/run_block.h"
#include "run/run_losses.h"
#include "run/run_source.h"

enum {
    PLUMB_RUN_MOST_RANKS = 65536,
    PLUMB_RUN_MOST_BLOCKS = 16 << 20,
    PLUMB_RUN_MOST_WARNINGS = 200, /* further ones are only counted */
    PLUMB_RUN_MOST_LOSSES = 1000,  /* a rank more has one each */
    PLUMB_RUN_VERIFY = 64 << 20,   /* smaller files are verified whole when opened */
};

/* Where a block that is read on demand lies. */
struct plumb_block_place {
    uint64_t offset; /* of its body */
    struct plumb_block_header header;
    bool bad; /* known not to hold: told once */
};

struct plumb_series_growing {
    struct plumb_series series; /* its arrays are `steps` and `values` */
    int64_t *steps;
    double *values;
    size_t capacity;
};

struct plumb_rank_file {
    struct plumb_run_rank facts; /* all there is of a foreign run's rank */
    char *directory;
    int fd;
    uint64_t scanned;     /* bytes looked at */
    uint64_t next_number; /* of the block expected there */
    bool has_end;
    bool has_hole;          /* blocks are missing since the last one of tensor records */
    int64_t recorded_until; /* the last step of tensor records so far */
    bool tail_told;         /* an unfinished block at the end was warned of */
    bool end_told;          /* and that the last block is missing */
    struct plumb_block_place *blocks;
    size_t block_count, block_capacity;
    const char **stacks; /* by number; NULL: not there */
    size_t stack_capacity;
};

struct plumb_run {
    struct plumb_arena arena;
    char *path;
    const struct plumb_run_source *source;
    const struct plumb_record_format *foreign; /* NULL: Plumb's own */
    struct plumb_record_parts parts;           /* of a foreign one, by rank and step */
    struct plumb_rank_file *ranks;             /* by rank */
    size_t rank_count, rank_capacity;
    struct plumb_series_growing *series;
    size_t series_count, series_capacity;
    struct plumb_table series_names; /* "rank name" */
    struct plumb_run_config *configs;
    size_t config_count, config_capacity;
    struct plumb_note *notes;
    size_t note_count, note_capacity;
    const char **warnings;
    size_t warning_count, warning_capacity, warnings_left_out;
    struct plumb_run_loss *losses;
    size_t loss_count, loss_capacity;
};

/* False when out of memory. */
bool plumb_run_warn(struct plumb_run *run, const char *format, ...) PLUMB_PRINTF(2, 3);

/* run_grow.c. NULL or false when out of memory. */
struct plumb_series_growing *plumb_run_grow_series(struct plumb_run *run, int rank,
                                                   const char *name);
bool plumb_series_add_point(struct plumb_series_growing *growing, int64_t step, double value);
bool plumb_run_add_config(struct plumb_run *run, int rank, const char *key, const char *json);
bool plumb_run_add_note(struct plumb_run *run, const char *key, const char *json);
/* At the end; plumb_run_sort_ranks() puts them in order. */
struct plumb_rank_file *plumb_run_add_rank(struct plumb_run *run, int rank);
void plumb_run_sort_ranks(struct plumb_run *run);
struct plumb_rank_file *plumb_run_find_rank(const struct plumb_run *run, int rank);
/* Widens what is known of a rank's steps. */
void plumb_rank_take_step(struct plumb_run_rank *facts, int64_t step);

/* run_visit.c: the rows of Plumb's own runs. */
enum plumb_status
plumb_own_visit_records(struct plumb_run *run, const struct plumb_run_query *query,
                        bool (*visit)(void *context, const struct plumb_tensor_record *record),
                        void *context, struct plumb_error *err);
enum plumb_status
plumb_own_visit_spans(struct plumb_run *run, const struct plumb_run_query *query,
                      bool (*visit)(void *context, const struct plumb_span *span),
                      void *context, struct plumb_error *err);
enum plumb_status
plumb_own_visit_counters(struct plumb_run *run, const struct plumb_run_query *query,
                         bool (*visit)(void *context, const struct plumb_counter *counter),
                         void *context, struct plumb_error *err);
enum plumb_status plumb_own_visit_collectives(
    struct plumb_run *run, const struct plumb_run_query *query,
    bool (*visit)(void *context, const struct plumb_rank_collective *collective), void *context,
    struct plumb_error *err);
enum plumb_status
plumb_own_visit_steps(struct plumb_run *run, const struct plumb_run_query *query,
                      bool (*visit)(void *context, const struct plumb_run_step *step),
                      void *context, struct plumb_error *err);
enum plumb_status plumb_own_visit_flight(struct plumb_run *run, int rank,
                                         bool (*visit)(void *context, int64_t step,
                                                       int64_t time_ns, const char *what),
                                         void *context, struct plumb_error *err);
enum plumb_status plumb_own_open_values(const struct plumb_run *run, int rank, int64_t step,
                                        struct plumb_file **out, struct plumb_error *err);

/* run_scan.c: takes in the blocks that were appended since the last call. */
enum plumb_status plumb_rank_scan(struct plumb_run *run, struct plumb_rank_file *rank,
                                  struct plumb_error *err);

/* run_blocks.c: what the blocks that are read at once contain. */
enum plumb_status plumb_run_take_block(struct plumb_run *run, struct plumb_rank_file *rank,
                                       unsigned kind, const struct plumb_block *block,
                                       struct plumb_error *err);

/* run_stacks.c: where ops were called. */
enum plumb_status plumb_rank_take_stacks(struct plumb_run *run, struct plumb_rank_file *rank,
                                         const struct plumb_block *block,
                                         struct plumb_error *err);
const char *plumb_rank_stack(const struct plumb_rank_file *rank, uint32_t number);

/* A block's body and columns in memory of the caller's: *body grows and is freed by the caller. A
 * damaged one is warned of and gives *sound = false. */
enum plumb_status plumb_rank_load(struct plumb_run *run, struct plumb_rank_file *rank,
                                  struct plumb_block_place *place, struct plumb_buffer *body,
                                  struct plumb_block *block, bool *sound,
                                  struct plumb_error *err);

#endif
