/*
 * run_layout.h - how the tensors of a run are spread over its ranks, and the whole that they make.
 *
 * A layout names the grid of ranks, outermost first, and for each of its directions how records are split:
 *
 *     {"ranks": {"pp": 2, "tp": 2},
 *      "split": [{"op": "*.up*",   "slot": "*:weight", "over": "tp", "axis": 0},
 *                {"op": "*.down*", "slot": "output0",  "over": "tp", "sum": true},
 *                {"slot": "input0", "over": "cp", "axis": 1, "order": "zigzag"}],
 *      "renumber": [{"name": "layers.", "over": "pp", "by": 4}]}
 *
 * The first rule that fits an op and a slot counts, for each direction; what none fits is the same on all
 * ranks of that direction, or only on some of them (pipeline stages, experts).
 */
#ifndef PLUMB_COMPARE_RUN_LAYOUT_H
#define PLUMB_COMPARE_RUN_LAYOUT_H

#include "compare/run_rows.h"

enum {
    PLUMB_LAYOUT_DIRECTIONS = 8,
    PLUMB_LAYOUT_RULES = 512,
    PLUMB_LAYOUT_RANKS = 4096,
};

enum plumb_layout_way {
    PLUMB_LAYOUT_COPY, /* the same on all ranks */
    PLUMB_LAYOUT_AXIS, /* pieces along an axis */
    PLUMB_LAYOUT_SUM,  /* parts of a sum */
    PLUMB_LAYOUT_MEAN, /* of which the mean counts */
};

struct plumb_layout_rule {
    const char *op, *slot; /* patterns */
    const char *phase;     /* "forward", ..., or NULL: all */
    size_t direction;
    enum plumb_layout_way way;
    int64_t axis;   /* from the end if negative */
    bool zigzag;    /* of n ranks, rank i has the pieces i and 2n - 1 - i of 2n */
    int64_t *order; /* which rank comes where along the axis; NULL: as they are numbered */
    size_t order_count;
};

struct plumb_layout_renumber {
    const char *name; /* what stands before the number */
    size_t direction;
    int64_t by;
};

struct plumb_layout {
    struct plumb_arena arena;
    const char *directions[PLUMB_LAYOUT_DIRECTIONS];
    int64_t sizes[PLUMB_LAYOUT_DIRECTIONS];
    size_t direction_count, ranks;
    struct plumb_layout_rule *rules;
    size_t rule_count;
    struct plumb_layout_renumber *renumbers;
    size_t renumber_count;
};

/* From a file, or from a text that a run recorded; `path` is for messages. */
enum plumb_status plumb_layout_read(const char *path, struct plumb_layout *layout,
                                    struct plumb_error *err);
enum plumb_status plumb_layout_parse(const char *path, const void *bytes, size_t size,
                                     struct plumb_layout *layout, struct plumb_error *err);
void plumb_layout_release(struct plumb_layout *layout);
/* Where a rank stands along a direction. */
int64_t plumb_layout_place(const struct plumb_layout *layout, int64_t rank, size_t direction);
/* The rule for a record along a direction; NULL: it is not split there. */
const struct plumb_layout_rule *plumb_layout_rule_for(const struct plumb_layout *layout,
                                                      const struct plumb_tensor_record *record,
                                                      size_t direction);
/* The label that an op has in the whole; in the arena. NULL when out of memory. */
const char *plumb_layout_label(const struct plumb_layout *layout, struct plumb_arena *arena,
                               const char *label, int rank);

/* What happened to the records of a side. */
struct plumb_layout_report {
    uint64_t merged;  /* records made of several */
    uint64_t unequal; /* that should be the same on some ranks and are not */
    uint64_t missing; /* of which a rank has no piece */
    uint64_t unknown; /* whose pieces have neither values nor statistics */
    char first[400];  /* of what is wrong: an op, and why */
};

/* layout_rows.c: as plumb_rows_load(), the whole of all ranks. */
enum plumb_status plumb_layout_load(const struct plumb_layout *layout, struct plumb_rows *rows,
                                    struct plumb_names *names, struct plumb_run *run,
                                    int64_t first, int64_t last,
                                    struct plumb_layout_report *report,
                                    struct plumb_error *err);

/* A record of one rank, or of several together. */
struct plumb_shard {
    struct plumb_tensor_record record; /* its texts and shape are in an arena */
    void *values;                      /* or NULL; to be freed */
    bool present;
};

/* layout_merge.c: makes one of the shards of all ranks, in shards[0]. False: it cannot be made, the report
 * says why. Takes the values of all. */
bool plumb_layout_merge(const struct plumb_layout *layout, struct plumb_arena *arena,
                        struct plumb_shard *shards, struct plumb_layout_report *report);

#endif
