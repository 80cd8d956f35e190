/*
 * run_against.c - a run that is being recorded, compared record by record with one that was.
 *
 * Records are paired by step, label (with the number of the call), phase and slot. When the structure differs
 * the comparison stops: from there on records would be paired by chance. Around the first record that differs in
 * its bits, and around the first that differs by more than rounding, values are kept for saving.
 */
#include "base/error.h"
#include "base/memory.h"
#include "compare/recent_values.h"
#include "compare/run_error.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    VALUE_MEMORY = 64 << 20, /* of what was recorded lately */
    SAVE_MEMORY = 256 << 20, /* of what is kept around divergences */
    MOST_SAVED = 256,
    OPS_BEFORE = 3,
    OPS_AFTER = 3,
    REASON = 400,
    ANY_ROW = INT32_MAX,
    LABEL = 1024,
    SLOT = 128,
};

/* What an op may add to the error of its inputs. */
static const double usual_gain = 32;

/* Row of the other run, found by a hash of its names; or an op that it has, with the slot "". */
struct expected {
    uint64_t hash; /* 0: none */
    uint32_t row;  /* ANY_ROW: an op */
    bool used;
};

struct kept_value {
    const char *name;
    enum plumb_dtype dtype;
    int dims;
    int64_t shape[PLUMB_MAX_RANK];
    void *data;
};

/* A record that differs from its partner. */
struct mismatch {
    uint64_t op_number; /* of the op it belongs to */
    char label[LABEL], slot[SLOT];
    enum plumb_phase phase;
    struct plumb_row there, here;
    struct plumb_row_error error;
    bool beyond;
};

struct found {
    bool there;
    struct plumb_divergence facts;
    char reason[REASON];
};

struct plumb_against {
    struct plumb_run *run;
    struct plumb_record_observer observer;
    int rank;
    pthread_mutex_t lock;     /* of all below */
    struct plumb_arena arena; /* of names that are kept */
    struct plumb_names names;
    struct plumb_rows rows; /* of the other run at this step */
    struct expected *expected;
    size_t capacity; /* a power of two, or 0 */
    int64_t step;
    bool partial; /* the other run does not have all records: a missing one means nothing */
    bool over;    /* nothing is compared any more */
    char stopped[REASON];
    struct plumb_recent recent;
    uint64_t op; /* hash of the op whose records come now */
    uint64_t op_number;
    double error_in; /* largest of its inputs */
    struct mismatch
        input; /* of the op, that differs; counts if what the op makes differs, too */
    struct found first[2]; /* in bits; beyond rounding */
    uint64_t save_until;   /* number of the last op whose values are kept */
    struct kept_value kept[MOST_SAVED];
    size_t kept_count, kept_bytes, gone;
    uint64_t records, steps;
};

/* ---- the other run's records of a step ------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t hash_place(const char *label, unsigned phase, const char *slot)
{
    const uint64_t hash =
        hash_text(hash_text(UINT64_C(0xcbf29ce484222325) ^ phase, label), slot);
    return hash ? hash : 1;
}

/* An empty place, or with `same` the one that has the hash already. */
static struct expected *find_room(struct plumb_against *against, uint64_t hash, bool same)
{
    size_t at = hash & (against->capacity - 1);
    while (against->expected[at].hash && !(same && against->expected[at].hash == hash))
        at = (at + 1) & (against->capacity - 1);
    return &against->expected[at];
}

static bool index_rows(struct plumb_against *against)
{
    size_t capacity = 64;
    while (capacity < 4 * against->rows.count)
        capacity *= 2;
    if (capacity > against->capacity) {
        struct expected *larger =
            plumb_realloc_array(against->expected, capacity, sizeof *larger);
        if (!larger)
            return false;
        against->expected = larger;
        against->capacity = capacity;
    }
    memset(against->expected, 0, against->capacity * sizeof *against->expected);
    for (size_t i = 0; i < against->rows.count; i++) {
        const struct plumb_row *row = &against->rows.rows[i];
        const uint64_t hash = hash_place(against->names.texts[row->label], row->phase,
                                         against->names.texts[row->slot]);
        const uint64_t op = hash_place(against->names.texts[row->label], row->phase, "");
        *find_room(against, hash, false) = (struct expected){.hash = hash, .row = (uint32_t)i};
        *find_room(against, op, true) = (struct expected){.hash = op, .row = ANY_ROW};
    }
    return true;
}

/* The partner of a record: of several with the same names the first that has none yet. */
static const struct plumb_row *find_partner(struct plumb_against *against,
                                            const struct plumb_tensor_record *record)
{
    const uint64_t hash = hash_place(record->label, record->phase, record->slot);
    for (size_t at = hash & (against->capacity - 1); against->expected[at].hash;
         at = (at + 1) & (against->capacity - 1)) {
        struct expected *expected = &against->expected[at];
        if (expected->hash != hash || expected->used)
            continue;
        expected->used = true;
        return &against->rows.rows[expected->row];
    }
    return NULL;
}

enum plumb_status plumb_against_step(struct plumb_against *against, int64_t step,
                                     struct plumb_error *err)
{
    (void)pthread_mutex_lock(&against->lock);
    enum plumb_status status = PLUMB_OK;
    if (!against->over) {
        status = plumb_rows_load(&against->rows, &against->names, against->run, against->rank,
                                 step, step, err);
        if (!status && !index_rows(against))
            status = plumb_fail_memory(err);
        against->step = step;
        against->steps += against->rows.count > 0;
        against->over = status != PLUMB_OK;
    }
    (void)pthread_mutex_unlock(&against->lock);
    return status;
}

/* ---- values around a divergence --------------------------------------------------------------------- */

static bool is_kept(const struct plumb_against *against, const char *name)
{
    for (size_t i = 0; i < against->kept_count; i++)
        if (strcmp(against->kept[i].name, name) == 0)
            return true;
    return false;
}

static const char *copy_text(struct plumb_against *against, const char *text)
{
    return plumb_arena_text(&against->arena, text, strlen(text));
}

static void keep_row(struct plumb_against *against, const struct plumb_recent_row *row)
{
    const void *values = plumb_recent_values(&against->recent, row);
    if (is_kept(against, row->name))
        return;
    const char *name = copy_text(against, row->name);
    void *data = values && against->kept_count < MOST_SAVED &&
                         row->bytes <= SAVE_MEMORY - against->kept_bytes
                     ? plumb_alloc(row->bytes ? row->bytes : 1)
                     : NULL;
    if (!data || !name) {
        against->gone++;
        plumb_free(data);
        return;
    }
    memcpy(data, values, row->bytes);
    struct kept_value *kept = &against->kept[against->kept_count++];
    *kept =
        (struct kept_value){.name = name, .dtype = row->dtype, .dims = row->dims, .data = data};
    memcpy(kept->shape, row->shape, sizeof kept->shape);
    against->kept_bytes += row->bytes;
}

/* What the op and the few before it took and made. */
static void keep_before(struct plumb_against *against)
{
    const struct plumb_recent_row *row = NULL;
    for (size_t back = 0; (row = plumb_recent_row(&against->recent, back)); back++) {
        if (row->op + OPS_BEFORE < against->op_number)
            break;
        keep_row(against, row);
    }
    against->save_until = against->op_number + OPS_AFTER;
}

/* ---- comparing --------------------------------------------------------------------------------------- */

static void explain(char *text, const struct mismatch *mismatch)
{
    const struct plumb_row *a = &mismatch->there, *b = &mismatch->here;
    const struct plumb_row_error *error = &mismatch->error;
    const struct plumb_stats *x = &a->stats, *y = &b->stats;
    const unsigned long long bad_a = x->nan + x->pos_inf + x->neg_inf,
                             bad_b = y->nan + y->pos_inf + y->neg_inf;
    if (error->shape_differs)
        (void)snprintf(text, REASON, "%lld elements there, %lld here", (long long)a->count,
                       (long long)b->count);
    else if (error->basis == PLUMB_BASIS_BITS)
        (void)snprintf(text, REASON, "other bits; by how much was not recorded");
    else if (bad_a != bad_b)
        (void)snprintf(text, REASON, "%llu values are not finite there, %llu here", bad_a,
                       bad_b);
    else
        (void)snprintf(text, REASON,
                       "norm %.7g there, %.7g here; at least %.2g apart where rounding allows "
                       "%.2g",
                       x->l2, y->l2, error->error, error->allowed);
}

static void find(struct plumb_against *against, struct found *found,
                 const struct mismatch *mismatch)
{
    const char *op = copy_text(against, mismatch->label);
    const char *slot = copy_text(against, mismatch->slot);
    explain(found->reason, mismatch);
    found->facts = (struct plumb_divergence){.step = against->step,
                                             .op = op ? op : "",
                                             .slot = slot ? slot : "",
                                             .phase = mismatch->phase,
                                             .basis = mismatch->error.basis,
                                             .beyond_rounding = mismatch->beyond,
                                             .reason = found->reason};
    found->there = true;
    keep_before(against);
}

/* An output differs: that is a divergence, or its input is if that differs as well. */
static void judge(struct plumb_against *against, const struct mismatch *output)
{
    const bool has_input = against->input.op_number == against->op_number;
    const struct mismatch *first = has_input ? &against->input : output;
    if (!against->first[0].there)
        find(against, &against->first[0], first);
    if ((output->beyond || first->beyond) && !against->first[1].there)
        find(against, &against->first[1], first->beyond ? first : output);
}

static void stop(struct plumb_against *against, const struct plumb_tensor_record *record)
{
    (void)snprintf(against->stopped, sizeof against->stopped,
                   "the programs do other things from step %lld on: %s (%s, %s) is not in the "
                   "other run",
                   (long long)record->step, *record->label ? record->label : record->slot,
                   plumb_phase_name(record->phase), record->slot);
    against->over = true;
}

static void compare(struct plumb_against *against, const struct plumb_tensor_record *record)
{
    const struct plumb_row *partner = find_partner(against, record);
    if (!partner) {
        /* Whether memory that nobody wrote to is an input is a matter of chance: ops count, not slots. */
        const uint64_t op = hash_place(record->label, record->phase, "");
        if (!against->partial && !find_room(against, op, true)->hash)
            stop(against, record);
        return;
    }
    struct mismatch mismatch = {.op_number = against->op_number,
                                .phase = record->phase,
                                .there = *partner,
                                .here = plumb_row_of(record)};
    plumb_row_compare(partner, &mismatch.here, &mismatch.error);
    against->records++;
    if (mismatch.error.same)
        return;
    const struct plumb_row_error *error = &mismatch.error;
    const double size = isnan(error->error) ? 0 : error->error;
    (void)snprintf(mismatch.label, LABEL, "%s", record->label);
    (void)snprintf(mismatch.slot, SLOT, "%s", record->slot);
    mismatch.beyond =
        size > error->allowed && !(size <= usual_gain * against->error_in) && !error->reordered;
    if (mismatch.here.role == PLUMB_ROW_OUT) {
        judge(against, &mismatch);
        return;
    }
    /* After the first difference an input carries what was made before. */
    mismatch.beyond &= !against->first[0].there;
    against->error_in = fmax(against->error_in, size);
    if (against->input.op_number != against->op_number)
        against->input = mismatch;
}

/* Records of one call come one after the other, but for the places of other threads. */
static void enter_op(struct plumb_against *against, const char *label)
{
    const uint64_t op = hash_text(1, label);
    if (against->op == op)
        return;
    against->op = op;
    against->op_number++;
    against->error_in = 0;
}

static void see(void *context, const struct plumb_tensor_record *record, const void *values)
{
    struct plumb_against *against = context;
    (void)pthread_mutex_lock(&against->lock);
    if (!against->over && record->step == against->step && against->rows.count) {
        enter_op(against, record->label);
        against->over = !plumb_recent_add(&against->recent, record, against->op_number, values);
        if (!against->over)
            compare(against, record);
        if (!against->over && against->save_until >= against->op_number)
            keep_row(against, plumb_recent_row(&against->recent, 0));
        else if (against->first[1].there)
            against->over = true;
        if (against->over)
            plumb_recent_release(&against->recent);
    }
    (void)pthread_mutex_unlock(&against->lock);
}

/* ---- beginning and end ------------------------------------------------------------------------------- */

/* Records that were left out on purpose, or did not fit. */
static bool is_partial(const struct plumb_run *run, int rank)
{
    for (size_t i = 0; i < plumb_run_config_count(run); i++)
        if (strcmp(plumb_run_config(run, i)->key, "capture.ops") == 0)
            return true;
    for (size_t i = 0; i < plumb_run_rank_count(run); i++)
        if (plumb_run_rank(run, i)->rank == rank)
            return plumb_run_rank(run, i)->dropped.tensors > 0;
    return false;
}

static bool has_rank(const struct plumb_run *run, int rank)
{
    for (size_t i = 0; i < plumb_run_rank_count(run); i++)
        if (plumb_run_rank(run, i)->rank == rank)
            return true;
    return false;
}

enum plumb_status plumb_against_open(const char *path, int rank, struct plumb_against **out,
                                     struct plumb_error *err)
{
    struct plumb_against *against = plumb_alloc_array(1, sizeof *against);
    if (!against)
        return plumb_fail_memory(err);
    against->rank = rank;
    against->step = INT64_MIN;
    against->observer = (struct plumb_record_observer){see, against};
    (void)pthread_mutex_init(&against->lock, NULL);
    enum plumb_status status = plumb_run_open(path, &against->run, err);
    if (!status && !has_rank(against->run, rank))
        status = plumb_fail(err, PLUMB_NOT_FOUND, -1, "%s: it has no rank %d", path, rank);
    if (!status && !plumb_recent_open(&against->recent, VALUE_MEMORY))
        status = plumb_fail_memory(err);
    if (status) {
        plumb_against_close(against);
        return status;
    }
    against->partial = is_partial(against->run, rank);
    *out = against;
    return PLUMB_OK;
}

void plumb_against_close(struct plumb_against *against)
{
    if (!against)
        return;
    for (size_t i = 0; i < against->kept_count; i++) {
        plumb_free(against->kept[i].data);
    }
    plumb_arena_release(&against->arena);
    plumb_recent_release(&against->recent);
    plumb_rows_release(&against->rows);
    plumb_names_release(&against->names);
    plumb_free(against->expected);
    plumb_run_close(against->run);
    (void)pthread_mutex_destroy(&against->lock);
    plumb_free(against);
}

const struct plumb_record_observer *plumb_against_observer(struct plumb_against *against)
{
    return &against->observer;
}

const struct plumb_divergence *plumb_against_first(struct plumb_against *against,
                                                   bool beyond_rounding)
{
    const struct found *found = &against->first[beyond_rounding];
    (void)pthread_mutex_lock(&against->lock);
    const bool there = found->there;
    (void)pthread_mutex_unlock(&against->lock);
    return there ? &found->facts : NULL;
}

const char *plumb_against_stopped(struct plumb_against *against)
{
    (void)pthread_mutex_lock(&against->lock);
    const bool stopped = against->stopped[0] != '\0';
    (void)pthread_mutex_unlock(&against->lock);
    return stopped ? against->stopped : NULL;
}

void plumb_against_counts(struct plumb_against *against, struct plumb_against_counts *counts)
{
    (void)pthread_mutex_lock(&against->lock);
    *counts = (struct plumb_against_counts){.records = against->records,
                                            .steps = against->steps,
                                            .saved = against->kept_count,
                                            .gone = against->gone};
    (void)pthread_mutex_unlock(&against->lock);
}

enum plumb_status plumb_against_save(struct plumb_against *against, const char *path,
                                     struct plumb_error *err)
{
    struct plumb_value values[MOST_SAVED];
    (void)pthread_mutex_lock(&against->lock);
    for (size_t i = 0; i < against->kept_count; i++)
        values[i] = (struct plumb_value){.name = against->kept[i].name,
                                         .dtype = against->kept[i].dtype,
                                         .rank = against->kept[i].dims,
                                         .shape = against->kept[i].shape,
                                         .data = against->kept[i].data};
    const enum plumb_status status =
        against->kept_count ? plumb_write_file(path, "npz", values, against->kept_count, err)
                            : PLUMB_OK;
    (void)pthread_mutex_unlock(&against->lock);
    return status;
}
