/* diff.h - the result of comparing two files, as the reports see it. */
#ifndef PLUMB_COMPARE_DIFF_H
#define PLUMB_COMPARE_DIFF_H

#include "model/file.h"
#include "model/finding.h"

/* Two names of one piece of data on one side, of two pieces on the other. */
struct plumb_tie_difference {
    const char *first, *second; /* names on the side where they are tied */
    bool in_a;
};

struct plumb_diff {
    struct plumb_arena arena;
    struct plumb_file *a, *b; /* the caller's */
    struct plumb_pair *pairs; /* worst first */
    size_t pair_count;
    const struct plumb_tensor **only_a, **only_b;
    size_t only_a_count, only_b_count;
    const struct plumb_tensor **ignored; /* have no partner by rule: num_batches_tracked */
    size_t ignored_count;
    struct plumb_tie_difference *ties;
    size_t tie_count;
    struct plumb_finding *findings;
    size_t finding_count;
    enum plumb_verdict verdict;
    const char *summary;
};

/* A tensor that exists on one side only is a difference if the model needs it: optimizer
 * state, counters and random state are listed but do not count. */
bool plumb_diff_matters(const struct plumb_tensor *tensor);

/* Fills verdict, summary and findings from everything else. */
enum plumb_status plumb_diff_conclude(struct plumb_diff *diff, struct plumb_error *err);

#endif
