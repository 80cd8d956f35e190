/* run.h - a run on disk as one object: what the readers of its parts fill. */
#ifndef PLUMB_RUN_RUN_H
#define PLUMB_RUN_RUN_H

#include "base/arena.h"
#include "base/table.h"
#include "format/run_block.h"

enum {
    PLUMB_RUN_MOST_RANKS = 65536,
    PLUMB_RUN_MOST_BLOCKS = 16 << 20,
    PLUMB_RUN_MOST_WARNINGS = 200, /* further ones are only counted */
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
    struct plumb_run_rank facts;
    char *directory;
    int fd;
    uint64_t scanned;     /* bytes looked at */
    uint64_t next_number; /* of the block expected there */
    bool has_end;
    bool tail_told; /* an unfinished block at the end was warned of */
    bool end_told;  /* and that the last block is missing */
    struct plumb_block_place *blocks;
    size_t block_count, block_capacity;
};

struct plumb_run {
    struct plumb_arena arena;
    char *path;
    struct plumb_rank_file *ranks; /* by rank */
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
};

/* False when out of memory. */
bool plumb_run_warn(struct plumb_run *run, const char *format, ...) PLUMB_PRINTF(2, 3);

/* run_scan.c: takes in the blocks that were appended since the last call. */
enum plumb_status plumb_rank_scan(struct plumb_run *run, struct plumb_rank_file *rank,
                                  struct plumb_error *err);

/* run_blocks.c: what the blocks that are read at once contain. */
enum plumb_status plumb_run_take_block(struct plumb_run *run, struct plumb_rank_file *rank,
                                       unsigned kind, const struct plumb_block *block,
                                       struct plumb_error *err);

/* A block's body and columns in memory of the caller's: *body grows and is freed by the caller. A
 * damaged one is warned of and gives *sound = false. */
enum plumb_status plumb_rank_load(struct plumb_run *run, struct plumb_rank_file *rank,
                                  struct plumb_block_place *place, struct plumb_buffer *body,
                                  struct plumb_block *block, bool *sound,
                                  struct plumb_error *err);

#endif
