/* run_diff.h - the result of comparing two runs, as the reports see it. */
#ifndef PLUMB_COMPARE_RUN_DIFF_H
#define PLUMB_COMPARE_RUN_DIFF_H

#include "compare/run_blame.h"
#include "compare/run_config.h"
#include "compare/run_layout.h"
#include "compare/run_overlap.h"
#include "compare/run_series.h"
#include "compare/run_unread.h"
#include "model/finding.h"

enum { PLUMB_RUN_DIFF_ROOTS = 100, PLUMB_RUN_DIFF_ONLY = 200 };

/* An op that the other side does not have. */
struct plumb_only_op {
    const char *op;
    int64_t step;
    bool in_a;
};

struct plumb_run_diff {
    struct plumb_arena arena;
    struct plumb_run *a, *b; /* the caller's */
    struct plumb_names names;
    struct plumb_blame blame;
    struct plumb_config_diff config;
    struct plumb_series_list series;
    struct plumb_layout layout_a, layout_b; /* no ranks: the side is compared rank by rank */
    struct plumb_layout_report merged_a, merged_b;
    struct plumb_run_root *roots;
    size_t root_count, root_total; /* listed; in all */
    struct plumb_run_stage stages[PLUMB_STAGE_COUNT];
    struct plumb_only_op only[PLUMB_RUN_DIFF_ONLY];
    size_t only_count; /* listed */
    size_t only_a_total, only_b_total;
    size_t guessed;                /* ops paired by other means than their name */
    int64_t first_step, last_step; /* compared; last < first: none */
    uint64_t steps;                /* compared, over all ranks */
    struct plumb_overlap overlap;
    struct plumb_unread_list unread;
    uint64_t torn_steps;        /* left out: records are missing in their middle */
    int threads;                /* 0: one a processor */
    bool stopped;               /* the answer was clear before the end */
    bool exact;                 /* all before the first root is the same to the last bit */
    enum plumb_verdict verdict; /* of what was compared */
    const struct plumb_setting_diff *setting; /* the cause, if it is one; else NULL */
    const char *setting_words;
    const char *summary, *sure, *next;
    double confidence;
    uint64_t victims;
    struct plumb_finding *findings;
    size_t finding_count;
};

/* run_walk.c: compares all records that both have. */
enum plumb_status plumb_run_diff_walk(struct plumb_run_diff *diff,
                                      const struct plumb_run_diff_options *options,
                                      struct plumb_error *err);
/* run_event.c: what an event amounts to, from statistics or saved values. */
void plumb_event_judge(struct plumb_run_diff *diff, struct plumb_event *event,
                       struct plumb_run_root *root);
/* run_conclude.c: fills roots, stages, verdict, summary and findings. */
enum plumb_status plumb_run_diff_conclude(struct plumb_run_diff *diff, struct plumb_error *err);
/* run_finding.c: what to do about it. */
enum plumb_status plumb_run_diff_advise(struct plumb_run_diff *diff, struct plumb_error *err);

#endif
