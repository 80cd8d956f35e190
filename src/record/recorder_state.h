/*
 * recorder_state.h - what a recorder is, shared by the files that implement it.
 *
 * Recording calls compute what is costly first, then take one short lock and copy a row to the
 * open batch of its kind. Full batches, and every batch ten times a second, go through a queue to
 * the writer thread. Without a thread they are written at that place.
 */
#ifndef PLUMB_RECORD_RECORDER_STATE_H
#define PLUMB_RECORD_RECORDER_STATE_H

#include "record/flight.h"
#include "record/record_file.h"
#include "record/selection.h"
#include "record/step_values.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    WANTS_SERIES = 1, /* the recorder records at all */
    WANTS_SPANS = 2,  /* and this step is selected */
    WANTS_TENSORS = 4 /* and the level says so */
};

enum { PLUMB_KIND_SLOT = 40, PLUMB_KIND_RANK = 6, PLUMB_KINDS_BITS = 10 };

/* A text that rows of tensors refer to, kept for good, and where it is in a batch. */
struct plumb_text {
    const char *text;
    size_t length;
    uint64_t serial; /* of the batch; 0: none */
    uint32_t id;
};

/* What a row says of a tensor in words: few differ. What is looked at for every row comes first. */
struct plumb_tensor_kind {
    uint64_t hash;
    uint64_t serial; /* of the batch that the ids of its texts belong to; 0: none */
    uint32_t slot_id, dtype_id, shape_id;
    enum plumb_dtype dtype;
    int rank;
    char slot[PLUMB_KIND_SLOT];
    int64_t shape[PLUMB_KIND_RANK];
    struct plumb_text *slot_text, *dtype_text, *shape_text;
};

/* An op that was entered or asked for at least once. */
struct plumb_place {
    const char *module, *name;
    struct plumb_text label; /* module.name; in batches of spans */
    enum plumb_phase phase;
    int64_t step; /* of the last call, and how many there were in that step */
    int calls;
    uint64_t serial; /* of the batch of tensors that the two ids belong to */
    uint32_t module_id, name_id;
    struct plumb_text *module_text, *name_text; /* NULL: not needed yet, or no room */
};

/* A place that a thread is in. */
struct plumb_visit {
    uint64_t serial;           /* of the recorder */
    struct plumb_place *place; /* NULL: one that could not be kept */
    int call;
    uint32_t stack;           /* where it was called; 0: not known */
    int64_t begin_ns, now_ns; /* when it was entered; when the clock was looked at last */
};

/* Something for the writer: a batch, the values of a tensor, or the end of a step. */
struct plumb_item {
    struct plumb_item *next;
    struct plumb_batch *batch;
    struct plumb_value value; /* .name is NULL if it is none */
    int64_t shape[PLUMB_MAX_RANK];
    int64_t step;
    size_t bytes;
    void *copy;    /* of the values; NULL: the caller waits while its own are written */
    bool *written; /* tells that caller */
};

/* Statistics of values seen lately, by their fingerprint: an op's output is the next one's input, and
 * its numbers need not be computed again even if the caller does not say so. */
struct plumb_known_stats {
    enum plumb_dtype dtype;
    struct plumb_known known; /* .stats.count 0: none */
};

enum { PLUMB_KNOWN = 1024 }; /* a power of two */

/* What may fill which share of the memory, in sixteenths: the most valuable may fill it. */
enum plumb_share {
    SHARE_VALUES = 8,
    SHARE_TENSORS = 12,
    SHARE_SPANS = 14,
    SHARE_ALL = 16,
};

struct plumb_recorder {
    atomic_int wants; /* WANTS_*: the one branch of calls that have nothing to do */
    _Atomic(const struct plumb_record_observer *) observer; /* the caller's; or NULL */
    struct plumb_recorder *next; /* of all in the process, see record_fork.c */
    uint64_t serial;             /* unique in the process */
    char *path, *directory;      /* of the run and of the rank */
    char *framework, *command_line;
    int rank, world_size;
    enum plumb_level level;
    enum plumb_save save;
    struct plumb_selection steps;
    bool wait_when_full, selected_rank;
    int64_t started_ns;

    pthread_mutex_t lock; /* guards all up to the next empty line */
    pthread_cond_t wake, room;
    int64_t step, step_began_ns;
    bool in_step, stopped, closing, forked;
    uint64_t used, limit; /* bytes waiting */
    uint64_t written;     /* items, to see that the disk takes some */
    int64_t flushed_ns;
    uint64_t batch_serial;
    struct plumb_batch *batches[PLUMB_BLOCK_KINDS], *spares[PLUMB_BLOCK_KINDS];
    struct plumb_item *first, **last, *current;
    struct plumb_dropped dropped;
    struct plumb_error failure;
    struct plumb_flight flight;
    struct plumb_table place_names, texts;
    struct plumb_text track;                               /* of the spans of places */
    struct plumb_tensor_kind kinds[1 << PLUMB_KINDS_BITS]; /* by their hash; 0: none */
    struct plumb_place **places;
    size_t place_count, place_capacity;
    struct plumb_arena place_arena;
    struct plumb_table stacks; /* lines -> their number */
    struct plumb_known_stats known[PLUMB_KNOWN];

    bool has_thread;
    pthread_t thread;
    atomic_bool has_failure;
    struct plumb_record_file file; /* of the writer alone */
    struct plumb_step_values values;
};

static inline bool plumb_recorder_wants(const struct plumb_recorder *recorder, int what)
{
    return recorder && (atomic_load_explicit(&recorder->wants, memory_order_relaxed) & what);
}

/* ---- record_queue.c: all with the lock held ---- */

/* Waits or drops as the share says; false: there is no room, or the capture ended. */
bool plumb_recorder_make_room(struct plumb_recorder *recorder, size_t bytes,
                              enum plumb_share share);
/* The open batch of that kind, with room for a row; NULL: drop it. */
struct plumb_batch *plumb_recorder_batch(struct plumb_recorder *recorder, unsigned kind,
                                         enum plumb_share share);
/* An offset in the batch's text; false after ending the capture for want of memory. */
bool plumb_recorder_name(struct plumb_recorder *recorder, struct plumb_batch *batch,
                         const char *text, uint32_t *offset);
/* The same for a text that is kept. */
bool plumb_recorder_name_text(struct plumb_recorder *recorder, struct plumb_batch *batch,
                              struct plumb_text *text, uint32_t *offset);
void plumb_recorder_push(struct plumb_recorder *recorder, struct plumb_item *item);
void plumb_recorder_add_pair(struct plumb_recorder *recorder, unsigned kind, const char *key,
                             const char *json);
/* Hands every batch that has rows to the writer. */
void plumb_recorder_flush(struct plumb_recorder *recorder);
/* Ends the capture: the first reason is kept. */
void plumb_recorder_stop(struct plumb_recorder *recorder, const struct plumb_error *why);
void plumb_recorder_stop_for_memory(struct plumb_recorder *recorder);
void plumb_recorder_set_wants(struct plumb_recorder *recorder);

/* ---- the writer ---- */

enum plumb_status plumb_recorder_start_writer(struct plumb_recorder *recorder,
                                              struct plumb_error *err);
/* Writes all that waits, then ends the thread. Without the lock. */
void plumb_recorder_finish_writer(struct plumb_recorder *recorder);
void plumb_item_free(struct plumb_item *item);

/* ---- record_places.c ---- */

/* Where this thread is; NULL: in no place of this recorder. */
struct plumb_visit *plumb_recorder_visit(const struct plumb_recorder *recorder);
/* Memory that lives as long as the recorder; NULL if there is no room. With the lock held. */
void *plumb_recorder_keep(struct plumb_recorder *recorder, size_t size);

/* ---- record_long_name.c ---- */

enum { PLUMB_LONGEST_NAME = 720 }; /* of a module or of an op, with its end */

/* `text`, or the first and the last of it with a number that tells texts of the same ends apart. */
const char *plumb_recorder_fit_name(const char *text, char buffer[PLUMB_LONGEST_NAME]);

/* ---- record_row.c: with the lock held ---- */

/* Adds a row of a tensor at the place of `visit` (NULL: none), with the texts that name it. */
void plumb_recorder_add_tensor(struct plumb_recorder *recorder, const struct plumb_visit *visit,
                               const struct plumb_value *value, struct plumb_block_tensor *row);

/* ---- record_values.c: with the lock held ---- */

/* Saves values, `bytes` long, to be found under the visit's place and the slot, which is their
 * name. False: they were dropped. */
bool plumb_recorder_save(struct plumb_recorder *recorder, const struct plumb_visit *visit,
                         int64_t step, const struct plumb_value *value, size_t bytes);
/* The values of this step are all there: its npz is finished. */
void plumb_recorder_finish_step(struct plumb_recorder *recorder);

/* ---- record_fork.c: a child of fork() must not touch what its parent records ---- */

void plumb_recorder_register(struct plumb_recorder *recorder);
void plumb_recorder_unregister(struct plumb_recorder *recorder);

#endif
