/*
 * run_align.h - which records of a step of A and of B belong together.
 *
 * Ops are paired by name; what is called differently by what it makes; what is left between two
 * pairs by a cheapest alignment that likes equal fingerprints, kinds of op and shapes. Ops that are
 * one op on the other side are brought together. What has no partner stands on one side only. Steps
 * that have the same structure share the result of the first of them.
 */
#ifndef PLUMB_COMPARE_RUN_ALIGN_H
#define PLUMB_COMPARE_RUN_ALIGN_H

#include "compare/run_rows.h"

enum { PLUMB_NO_ROW = -1 };

/* One call of an op; row numbers count from the beginning of the step. */
struct plumb_step_op {
    uint32_t first, last; /* of its rows; others may lie between them */
    uint32_t label, name;
    uint32_t match;  /* the label that B has for it, if a map says so */
    int32_t out;     /* its first output, or PLUMB_NO_ROW */
    int32_t partner; /* op of the other side, or PLUMB_NO_ROW */
    int32_t forward; /* of a backward: the op whose results it uses unseen, or PLUMB_NO_ROW */
    int32_t part_of; /* the op that ends the block it belongs to, or PLUMB_NO_ROW */
    unsigned char phase;
    unsigned char matched_by; /* enum plumb_match */
    bool copy;                /* leaves the values as they are */
};

struct plumb_step_side {
    struct plumb_step_op *ops;
    size_t op_count;
    size_t row_count;
    uint32_t *order;  /* ops by their last row: the order in which they were done */
    int32_t *op_of;   /* row -> op */
    int32_t *next;    /* row -> next row of the same op, or PLUMB_NO_ROW */
    int32_t *partner; /* row -> row of the other side, or PLUMB_NO_ROW */
    int32_t
        *source; /* row -> the last output before it with the same values, or PLUMB_NO_ROW */
    unsigned char *stage; /* row -> enum plumb_stage */
    uint64_t structure;   /* equal for steps with the same rows */
    bool has_updates;     /* updates are compared by parameter */
};

struct plumb_alignment {
    struct plumb_arena arena;
    struct plumb_step_side a, b;
    size_t only_a, only_b; /* ops without a partner */
    size_t guessed;        /* ops paired by other means than their name */
    bool across;           /* A and B are of different frameworks */
};

/* Rows of one step. */
struct plumb_step_rows {
    const struct plumb_row *rows;
    size_t count;
};

/* What `structure` of a side would be. */
uint64_t plumb_step_structure(const struct plumb_row *rows, size_t count);
enum plumb_status plumb_alignment_new(const struct plumb_step_rows *a,
                                      const struct plumb_step_rows *b, bool across,
                                      const struct plumb_names *names,
                                      struct plumb_alignment **alignment,
                                      struct plumb_error *err);
void plumb_alignment_free(struct plumb_alignment *alignment);
/* run_misfits.c: takes pairs of two frameworks apart that only have a name in common. */
void plumb_alignment_drop_misfits(struct plumb_alignment *alignment,
                                  const struct plumb_names *names, const struct plumb_row *a,
                                  const struct plumb_row *b);
/* Has the other side nothing that does what this op does? */
bool plumb_step_op_is_alone(const struct plumb_step_side *side, size_t op);

/* run_makers.c: fills `source`, and `copy` of ops; false when out of memory. */
bool plumb_sources_find(struct plumb_step_side *side, const struct plumb_row *rows,
                        const struct plumb_names *names);
/* Values as a number: their fingerprint, or what the statistics say if there is none. */
uint64_t plumb_row_values_key(const struct plumb_row *row);
/* Equal for the same values in any order; 0 if they are too few to tell. */
uint64_t plumb_row_order_free_key(const struct plumb_row *row);

/* run_align_values.c: pairs ops that have no partner yet by what they make. */
enum plumb_status plumb_values_pair(struct plumb_alignment *alignment,
                                    const struct plumb_row *rows_a,
                                    const struct plumb_row *rows_b,
                                    const struct plumb_names *names, struct plumb_error *err);

/* run_align_rows.c: pairs the rows of one op of A and its partner, anew if they were paired. */
void plumb_rows_pair(struct plumb_alignment *alignment, const struct plumb_row *rows_a,
                     const struct plumb_row *rows_b, const struct plumb_names *names,
                     size_t op_a);

/* run_align_block.c: pairs all rows, and brings ops together that are one op on the other side. */
void plumb_blocks_find(struct plumb_alignment *alignment, const struct plumb_row *rows_a,
                       const struct plumb_row *rows_b, const struct plumb_names *names);

/* run_align_gap.c: pairs ops of A and B that have no partner yet; `a` and `b` list them in the
 * order of execution. Touches `partner` and `matched_by` of ops only. */
struct plumb_gap {
    struct plumb_step_side *a, *b;
    const struct plumb_row *rows_a, *rows_b;
    const struct plumb_names *names;
    const uint32_t *ops_a, *ops_b;
    size_t count_a, count_b;
    bool across; /* A and B are of different frameworks */
};
enum plumb_status plumb_gap_pair(const struct plumb_gap *gap, struct plumb_error *err);

#endif
