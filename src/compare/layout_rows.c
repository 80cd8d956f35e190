/*
 * layout_rows.c - the records of all ranks of some steps as those of one rank that has the whole.
 *
 * What ranks send each other has no place in the whole and is left out. What only a later rank has comes
 * after what it shares with an earlier one, as an expert comes after its router. A rank that shares nothing is a
 * stage of a pipeline: forward runs through these upwards, backward downwards.
 */
#include "compare/run_layout.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHARDS = 16 << 20 };
static const int64_t most_bytes = INT64_C(2) << 30; /* of one shard's values */

struct held {
    struct plumb_tensor_record record;
    int32_t next; /* shard of the same tensor, or -1 */
};

/* One tensor of the whole. */
struct tensor {
    int64_t step;
    int phase;
    int last_rank;  /* that has it */
    int32_t first;  /* shard */
    int64_t next;   /* tensor in the order of execution, or -1 */
    int64_t number; /* in that order */
};

struct loading {
    const struct plumb_layout *layout;
    struct plumb_run *run;
    struct plumb_arena arena;
    struct plumb_table places; /* "step phase label slot" -> tensor */
    struct held *shards;
    size_t shard_count, shard_capacity;
    struct tensor *tensors;
    size_t tensor_count, tensor_capacity;
    int64_t head, tail;                /* tensors in order; -1: none */
    int64_t latest[PLUMB_PHASE_COUNT]; /* tensor of this rank; -1: none yet */
    bool no_memory, too_many, other_rank;
    int reading_rank;
    int rank;                  /* that the layout does not have */
    struct plumb_file **files; /* saved values of a step, by rank */
    bool *tried;
    int64_t files_step;
};

/* ---- taking records in ---------------------------------------------------------------------------- */

static bool grow(void **items, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    const size_t larger = *capacity ? 2 * *capacity : 1024;
    void *grown = plumb_realloc_array(*items, larger, size);
    if (!grown)
        return false;
    *items = grown;
    *capacity = larger;
    return true;
}

static bool copy_record(struct loading *loading, const struct plumb_tensor_record *record,
                        struct plumb_tensor_record *to)
{
    struct plumb_arena *arena = &loading->arena;
    int64_t *shape = plumb_arena_alloc(arena, (size_t)record->dims + 1, sizeof *shape);
    *to = *record;
    to->label = plumb_layout_label(loading->layout, arena, record->label, record->rank);
    to->op = plumb_arena_text(arena, record->op, strlen(record->op));
    to->slot = plumb_arena_text(arena, record->slot, strlen(record->slot));
    to->value_name = record->value_name ? plumb_arena_text(arena, record->value_name,
                                                           strlen(record->value_name))
                                        : NULL;
    to->module = to->origin = to->stack = NULL;
    if (!shape || !to->label || !to->op || !to->slot)
        return false;
    memcpy(shape, record->shape, (size_t)record->dims * sizeof *shape);
    to->shape = shape;
    return true;
}

/* The tensor this record is a part of; -1 when out of memory. */
static int64_t find_tensor(struct loading *loading, const struct plumb_tensor_record *record)
{
    const char *place =
        plumb_arena_printf(&loading->arena, "%lld %d %s %s", (long long)record->step,
                           (int)record->phase, record->label, record->slot);
    size_t number;
    if (!place)
        return -1;
    if (plumb_table_get(&loading->places, place, &number))
        return (int64_t)number;
    if (!grow((void **)&loading->tensors, &loading->tensor_capacity, loading->tensor_count,
              sizeof *loading->tensors) ||
        !plumb_table_put(&loading->places, place, loading->tensor_count))
        return -1;
    loading->tensors[loading->tensor_count] = (struct tensor){.step = record->step,
                                                              .phase = (int)record->phase,
                                                              .last_rank = -1,
                                                              .first = -1,
                                                              .next = -1};
    return (int64_t)loading->tensor_count++;
}

/* Behind `before`, or where a stage of a pipeline stands that shares nothing with those before it. */
static void put_in_order(struct loading *loading, int64_t tensor, int64_t before)
{
    const bool is_first = before < 0 && loading->tensors[tensor].phase == PLUMB_PHASE_BACKWARD;
    before = before < 0 && !is_first ? loading->tail : before;
    int64_t *link = before < 0 ? &loading->head : &loading->tensors[before].next;
    loading->tensors[tensor].next = *link;
    *link = tensor;
    if (loading->tensors[tensor].next < 0)
        loading->tail = tensor;
}

/* Records of a rank come in the order it made them. */
static void take_order(struct loading *loading, const struct plumb_tensor_record *record,
                       int64_t number)
{
    struct tensor *tensor = &loading->tensors[number];
    int64_t *latest = &loading->latest[record->phase];
    if (record->rank != loading->reading_rank)
        for (int i = 0; i < PLUMB_PHASE_COUNT; i++)
            loading->latest[i] = -1;
    loading->reading_rank = record->rank;
    if (tensor->last_rank == record->rank)
        return;
    const bool same_step = *latest >= 0 && loading->tensors[*latest].step == record->step;
    if (tensor->last_rank < 0)
        put_in_order(loading, number, same_step ? *latest : -1);
    tensor->last_rank = record->rank;
    *latest = number;
}

static bool see(void *context, const struct plumb_tensor_record *record)
{
    struct loading *loading = context;
    if (record->phase == PLUMB_PHASE_COLLECTIVE)
        return true;
    if (record->rank < 0 || (size_t)record->rank >= loading->layout->ranks) {
        loading->other_rank = true;
        loading->rank = record->rank;
        return false;
    }
    loading->too_many = loading->shard_count == MOST_SHARDS;
    if (loading->too_many)
        return false;
    loading->no_memory = !grow((void **)&loading->shards, &loading->shard_capacity,
                               loading->shard_count, sizeof *loading->shards);
    struct held *shard = loading->no_memory ? NULL : &loading->shards[loading->shard_count];
    const int64_t tensor = shard && copy_record(loading, record, &shard->record)
                               ? find_tensor(loading, &shard->record)
                               : -1;
    loading->no_memory = tensor < 0;
    if (tensor < 0)
        return false;
    take_order(loading, record, tensor);
    shard->next = loading->tensors[tensor].first;
    loading->tensors[tensor].first = (int32_t)loading->shard_count++;
    return true;
}

static int in_execution_order(const void *x, const void *y)
{
    const struct tensor *a = x, *b = y;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static void sort_tensors(struct loading *loading)
{
    int64_t number = 0;
    for (int64_t at = loading->head; at >= 0; at = loading->tensors[at].next)
        loading->tensors[at].number = number++;
    if (loading->tensor_count)
        qsort(loading->tensors, loading->tensor_count, sizeof *loading->tensors,
              in_execution_order);
}

/* ---- values ------------------------------------------------------------------------------------------ */

static void close_files(struct loading *loading)
{
    for (size_t i = 0; loading->files && i < loading->layout->ranks; i++) {
        plumb_file_close(loading->files[i]);
        loading->files[i] = NULL;
        loading->tried[i] = false;
    }
}

/* What is saved of a shard; NULL if nothing is, or it cannot be read. */
static void *read_values(struct loading *loading, const struct plumb_tensor_record *record)
{
    const size_t rank = (size_t)record->rank;
    if (!record->has_values || !record->value_name)
        return NULL;
    if (record->step != loading->files_step)
        close_files(loading);
    loading->files_step = record->step;
    if (!loading->tried[rank] && plumb_run_open_values(loading->run, record->rank, record->step,
                                                       &loading->files[rank], NULL))
        loading->files[rank] = NULL;
    loading->tried[rank] = true;
    const struct plumb_tensor *tensor =
        loading->files[rank] ? plumb_file_find(loading->files[rank], record->value_name) : NULL;
    int64_t count = 1;
    for (int i = 0; i < record->dims; i++)
        if (__builtin_mul_overflow(count, record->shape[i], &count))
            return NULL;
    const int64_t size = (int64_t)plumb_dtype_size(record->dtype);
    if (!tensor || count > most_bytes / (size > 0 ? size : 1))
        return NULL;
    void *values = plumb_alloc_array((size_t)count + 1, (size_t)size);
    if (values && plumb_tensor_read(tensor, 0, count, values, NULL)) {
        plumb_free(values);
        return NULL;
    }
    return values;
}

/* ---- making rows --------------------------------------------------------------------------------------- */

static enum plumb_status add_row(struct plumb_rows *rows, struct plumb_names *names,
                                 const struct plumb_tensor_record *record,
                                 struct plumb_error *err)
{
    struct plumb_tensor_record whole = *record;
    whole.has_values =
        false; /* they are in pieces: the fingerprint of the whole stands for them */
    if (!grow((void **)&rows->rows, &rows->capacity, rows->count, sizeof *rows->rows))
        return plumb_fail_memory(err);
    struct plumb_row *row = &rows->rows[rows->count];
    *row = plumb_row_of(&whole);
    if (!plumb_row_name(names, &whole, row))
        return plumb_fail_memory(err);
    rows->count++;
    return PLUMB_OK;
}

static enum plumb_status make_rows(struct loading *loading, struct plumb_rows *rows,
                                   struct plumb_names *names,
                                   struct plumb_layout_report *report, struct plumb_error *err)
{
    const size_t ranks = loading->layout->ranks;
    struct plumb_shard *shards = plumb_alloc_array(ranks, sizeof *shards);
    loading->files = plumb_alloc_array(ranks, sizeof *loading->files);
    loading->tried = plumb_alloc_array(ranks, sizeof *loading->tried);
    enum plumb_status status =
        shards && loading->files && loading->tried ? PLUMB_OK : plumb_fail_memory(err);
    for (size_t i = 0; i < loading->tensor_count && !status; i++) {
        memset(shards, 0, ranks * sizeof *shards);
        for (int32_t at = loading->tensors[i].first; at >= 0; at = loading->shards[at].next) {
            struct plumb_shard *shard = &shards[loading->shards[at].record.rank];
            if (shard->present)
                continue;
            shard->record = loading->shards[at].record;
            shard->values = read_values(loading, &shard->record);
            shard->present = true;
        }
        if (plumb_layout_merge(loading->layout, &loading->arena, shards, report))
            status = add_row(rows, names, &shards[0].record, err);
    }
    close_files(loading);
    plumb_free(loading->files);
    plumb_free(loading->tried);
    plumb_free(shards);
    return status;
}

enum plumb_status plumb_layout_load(const struct plumb_layout *layout, struct plumb_rows *rows,
                                    struct plumb_names *names, struct plumb_run *run,
                                    int64_t first, int64_t last,
                                    struct plumb_layout_report *report, struct plumb_error *err)
{
    const struct plumb_run_query query = {
        .rank = -1, .some_steps = true, .first_step = first, .last_step = last};
    struct loading loading = {
        .layout = layout, .run = run, .head = -1, .tail = -1, .reading_rank = -1};
    rows->count = 0;
    enum plumb_status status = plumb_run_visit_records(run, &query, see, &loading, err);
    if (!status && loading.no_memory)
        status = plumb_fail_memory(err);
    if (!status && loading.too_many)
        status =
            plumb_fail(err, PLUMB_LIMIT, -1,
                       "%s: more than %d records in steps %lld to %lld; record fewer ops",
                       plumb_run_path(run), MOST_SHARDS, (long long)first, (long long)last);
    if (!status && loading.other_rank)
        status =
            plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                       "%s: has a rank %d, and the layout only %zu ranks; correct \"ranks\"",
                       plumb_run_path(run), loading.rank, layout->ranks);
    sort_tensors(&loading);
    if (!status)
        status = make_rows(&loading, rows, names, report, err);
    plumb_table_release(&loading.places);
    plumb_arena_release(&loading.arena);
    plumb_free(loading.shards);
    plumb_free(loading.tensors);
    return status;
}
