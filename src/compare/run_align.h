/*
 * run_align.h - which records of a step of A and of B belong together.
 *
 * Ops are paired by name; what is left between two named pairs by a cheapest alignment that likes
 * equal fingerprints, kinds of op and shapes. What has no partner stands on one side only. The
 * result depends on the structure of the step alone, so steps that look alike share it.
 */
#ifndef PLUMB_COMPARE_RUN_ALIGN_H
#define PLUMB_COMPARE_RUN_ALIGN_H

#include "compare/run_rows.h"

enum { PLUMB_NO_ROW = -1 };

/* One call of an op; row numbers count from the beginning of the step. */
struct plumb_step_op {
    uint32_t first, last; /* of its rows; others may lie between them */
    uint32_t label, name;
    int32_t out;     /* its first output, or PLUMB_NO_ROW */
    int32_t partner; /* op of the other side, or PLUMB_NO_ROW */
    int32_t forward; /* of a backward: the op whose results it uses unseen, or PLUMB_NO_ROW */
    unsigned char phase;
    unsigned char matched_by; /* enum plumb_match */
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
};

struct plumb_alignment {
    struct plumb_arena arena;
    struct plumb_step_side a, b;
    size_t only_a, only_b; /* ops without a partner */
    size_t guessed;        /* ops paired by other means than their name */
};

/* What `structure` of a side would be. */
uint64_t plumb_step_structure(const struct plumb_row *rows, size_t count);
enum plumb_status plumb_alignment_new(const struct plumb_row *a, size_t count_a,
                                      const struct plumb_row *b, size_t count_b,
                                      const struct plumb_names *names,
                                      struct plumb_alignment **alignment,
                                      struct plumb_error *err);
void plumb_alignment_free(struct plumb_alignment *alignment);

/* run_align_gap.c: pairs ops of A and B that have no partner yet; `a` and `b` list them in the
 * order of execution. Touches `partner` and `matched_by` of ops only. */
struct plumb_gap {
    struct plumb_step_side *a, *b;
    const struct plumb_row *rows_a, *rows_b;
    const struct plumb_names *names;
    const uint32_t *ops_a, *ops_b;
    size_t count_a, count_b;
};
enum plumb_status plumb_gap_pair(const struct plumb_gap *gap, struct plumb_error *err);

#endif
