/*
 * run_blame.h - walks aligned steps and tells what began a difference from what it dragged along.
 *
 * An op is to blame if what it took agrees and what it made does not; if it took something else than
 * what the op before had made; or if its error is far above what the error of its inputs, the errors
 * of the steps before and rounding explain.
 */
#ifndef PLUMB_COMPARE_RUN_BLAME_H
#define PLUMB_COMPARE_RUN_BLAME_H

#include "compare/run_align.h"
#include "compare/run_error.h"

enum plumb_event_kind {
    PLUMB_EVENT_OUTPUT,         /* inputs agree, the output does not */
    PLUMB_EVENT_INPUT,          /* not what was made before, or came from outside */
    PLUMB_EVENT_MISSING,        /* an op of A that B does not have */
    PLUMB_EVENT_EXTRA,          /* an op of B that A does not have */
    PLUMB_EVENT_JUMP,           /* more than its inputs and its past explain */
    PLUMB_EVENT_WEIGHT_MISSING, /* a weight of an op that it has in A only */
    PLUMB_EVENT_WEIGHT_EXTRA,   /* and in B only */
};

/* A place that may be a root. */
struct plumb_event {
    enum plumb_event_kind kind;
    enum plumb_stage stage;
    int64_t step;
    uint32_t position; /* in the order of execution */
    int rank;
    uint32_t label, label_b, op, slot;
    struct plumb_row a, b; /* what is compared */
    struct plumb_row_error error;
    double before;         /* error of what went in */
    bool through_messages; /* a collective: other ranks may explain it */
    bool seen_bits;        /* everything before it is the same to the last bit */
    bool inputs_known;     /* what the op took is recorded */
    bool was_same;         /* and there was a step before, so it was the same itself */
    bool was_kept;         /* an input that no op of this step made, after the first step */
};

/* What was seen of one part of training. */
struct plumb_stage_count {
    uint64_t rows, differing;
    int64_t first;   /* step with a difference, if any */
    double worst;    /* relative error over allowance */
    uint64_t beyond; /* rows above their allowance */
};

void plumb_stage_count_differing(struct plumb_stage_count *stage, int64_t step);

/* Keys of rows, sorted. */
struct plumb_key_set {
    uint64_t *keys;
    size_t count;
};

struct plumb_rank_state {
    int rank, rank_b; /* in A and in B: the same but for dumps of one rank each */
    bool dirty;       /* something differed in an earlier step */
    bool has_step;    /* a step was compared */
    bool has_update;  /* the last step's updates are recorded */
    double *history;  /* by place: the largest error up to the step before */
    size_t history_count;
    double worst;                        /* error of what ops made in earlier steps */
    bool not_finite;                     /* some of that is finite on one side only */
    struct plumb_key_set weights;        /* A's, as the last update left them */
    struct plumb_key_set made_a, made_b; /* what ops made in the last step that differed */
};

/* A collective whose input differs on some rank. */
struct plumb_fed {
    int64_t step;
    uint32_t label;
};

/* A row that differs, for a list of what a root dragged along. */
struct plumb_differing {
    int64_t step;
    int rank;
    enum plumb_stage stage;
    uint32_t label, slot;
    double error, allowed;
};

enum { PLUMB_BLAME_LISTED = 200 };

struct plumb_blame {
    struct plumb_names *names;
    struct plumb_event *events;
    size_t event_count, event_capacity;
    uint64_t events_lost;
    struct plumb_fed *fed;
    size_t fed_count, fed_capacity;
    struct plumb_stage_count stages[PLUMB_STAGE_COUNT];
    uint64_t rows, differing;
    uint64_t by_statistics; /* rows that are the same as far as statistics tell */
    uint64_t unknown;       /* rows of which nothing could be compared */
    uint64_t values_lost;   /* rows whose saved values are not there or cannot be read */
    uint64_t other_types;   /* rows that are of another type in B */
    struct plumb_differing listed[PLUMB_BLAME_LISTED]; /* the first */
    size_t listed_count;
    bool failed; /* out of memory */
};

void plumb_blame_release(struct plumb_blame *blame);

/* One step of one rank. Rows are those of the step alone. */
struct plumb_step_pair {
    const struct plumb_alignment *alignment;
    const struct plumb_row *a, *b;
    int64_t step;
    const struct plumb_value_pair *values; /* saved on both sides, or NULL */
};
/* run_rank_state.c */
void plumb_rank_state_release(struct plumb_rank_state *state);
/* Is an input that no op of this step made a weight, or may it be one? */
bool plumb_rank_state_has_weight(const struct plumb_rank_state *state,
                                 const struct plumb_row *row);
/* Are these values, on either side, what an op made in the step before? */
bool plumb_rank_state_made(const struct plumb_rank_state *state, const struct plumb_row *a,
                           const struct plumb_row *b);
/* Remembers what a step leaves for the next one; false when out of memory. */
bool plumb_rank_state_keep(struct plumb_rank_state *state, const struct plumb_step_pair *pair);

void plumb_blame_step(struct plumb_blame *blame, struct plumb_rank_state *state,
                      const struct plumb_step_pair *pair);
/* Room for one more event of a step whose first is `first_of_step`; NULL if there is none. */
struct plumb_event *plumb_blame_add(struct plumb_blame *blame, size_t first_of_step);
void plumb_blame_add_fed(struct plumb_blame *blame, int64_t step, uint32_t label);
/* run_lone_weights.c: blames weights that an op has on one side only. */
void plumb_blame_lone_weights(struct plumb_blame *blame, const struct plumb_rank_state *state,
                              const struct plumb_step_pair *pair);
/* After all ranks of some steps: drops what a collective brought from another rank. */
void plumb_blame_settle(struct plumb_blame *blame);

#endif
