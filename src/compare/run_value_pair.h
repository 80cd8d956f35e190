/* run_value_pair.h - the saved values of one rank and step on both sides. */
#ifndef PLUMB_COMPARE_RUN_VALUE_PAIR_H
#define PLUMB_COMPARE_RUN_VALUE_PAIR_H

#include "compare/run_error.h"

struct plumb_alignment;

struct plumb_value_pair {
    struct plumb_file *a, *b; /* NULL: nothing saved */
    const struct plumb_names *names;
    int threads; /* 0: one a processor */
};

/* Opens what is saved on both sides; leaves both NULL if that is not so. */
void plumb_value_pair_open(struct plumb_value_pair *pair, struct plumb_run *a, int rank_a,
                           int64_t step_a, struct plumb_run *b, int rank_b, int64_t step_b);
void plumb_value_pair_close(struct plumb_value_pair *pair);
/* run_value_rows.c: puts what the values say in place of what the statistics say, in all rows whose
 * values both sides have. False when out of memory. */
bool plumb_value_pair_compare_rows(const struct plumb_value_pair *pair,
                                   const struct plumb_alignment *alignment,
                                   const struct plumb_row *a, const struct plumb_row *b,
                                   struct plumb_row_error *errors);
/* The verdict of docs/verdicts.md; false if the values are not there. */
bool plumb_value_pair_judge(const struct plumb_value_pair *pair, const struct plumb_row *a,
                            const struct plumb_row *b, struct plumb_comparison *comparison,
                            struct plumb_judgement *judgement);

#endif
