/* run_rows.c - see run_rows.h. */
#include "compare/run_rows.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 64 << 20 };

/* ---- names ----------------------------------------------------------------------------------- */

void plumb_names_release(struct plumb_names *names)
{
    plumb_table_release(&names->table);
    plumb_arena_release(&names->arena);
    plumb_free(names->texts);
    *names = (struct plumb_names){0};
}

static bool names_grow(struct plumb_names *names)
{
    if (names->count < names->capacity)
        return true;
    const size_t capacity = names->capacity ? 2 * names->capacity : 256;
    const char **texts = plumb_realloc_array(names->texts, capacity, sizeof *texts);
    if (!texts)
        return false;
    names->texts = texts;
    names->capacity = capacity;
    return true;
}

uint32_t plumb_names_number(struct plumb_names *names, const char *text)
{
    size_t number;
    if (plumb_table_get(&names->table, text, &number))
        return (uint32_t)number;
    if (names->count >= UINT32_MAX - 1 || !names_grow(names))
        return UINT32_MAX;
    char *copy = plumb_arena_text(&names->arena, text, strlen(text));
    if (!copy || !plumb_table_put(&names->table, copy, names->count))
        return UINT32_MAX;
    names->texts[names->count] = copy;
    return (uint32_t)names->count++;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct loading {
    struct plumb_rows *rows;
    struct plumb_names *names;
    size_t step_began; /* the first row of this step */
    size_t like;       /* the row of the step before that the next one is expected to repeat */
    bool no_memory, too_many;
};

/* A gradient is what backward makes and the optimizer takes; parameters are the other way. */
static enum plumb_row_role role_of(const struct plumb_tensor_record *record)
{
    const bool optimizer = record->phase == PLUMB_PHASE_OPTIMIZER;
    if (plumb_text_starts(record->slot, "input"))
        return PLUMB_ROW_IN;
    if (plumb_text_starts(record->slot, "param"))
        return optimizer ? PLUMB_ROW_OUT : PLUMB_ROW_PARAM;
    return optimizer && plumb_text_starts(record->slot, "grad") ? PLUMB_ROW_IN : PLUMB_ROW_OUT;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static bool add_row(struct loading *loading)
{
    struct plumb_rows *rows = loading->rows;
    if (rows->count < rows->capacity)
        return true;
    if (rows->count >= MOST_ROWS) {
        loading->too_many = true;
        return false;
    }
    const size_t capacity = rows->capacity ? 2 * rows->capacity : 1024;
    struct plumb_row *grown = plumb_realloc_array(rows->rows, capacity, sizeof *grown);
    loading->no_memory = !grown;
    if (!grown)
        return false;
    rows->rows = grown;
    rows->capacity = capacity;
    return true;
}

/* Steps repeat each other: the names are nearly always those of the same place one step ago. */
static bool name_like_before(struct loading *loading, const struct plumb_tensor_record *record,
                             struct plumb_row *row)
{
    const struct plumb_row *rows = loading->rows->rows;
    const size_t at = loading->rows->count;
    if (at && row->step != rows[at - 1].step) {
        loading->like = loading->step_began;
        loading->step_began = at;
    }
    if (loading->like >= loading->step_began)
        return false;
    const struct plumb_row *like = &rows[loading->like++];
    const char *const *texts = loading->names->texts;
    if (like->phase != row->phase || strcmp(texts[like->slot], record->slot) != 0 ||
        strcmp(texts[like->label], record->label) != 0)
        return false;
    row->label = row->match = like->label;
    row->op = like->op;
    row->slot = like->slot;
    row->place = like->place;
    return true;
}

bool plumb_row_name(struct plumb_names *names, const struct plumb_tensor_record *record,
                    struct plumb_row *row)
{
    row->label = row->match = plumb_names_number(names, record->label);
    row->op = plumb_names_number(names, record->op);
    row->slot = plumb_names_number(names, record->slot);
    if (row->label == UINT32_MAX || row->op == UINT32_MAX || row->slot == UINT32_MAX)
        return false;
    /* A name that no record can have: it begins with a control character. */
    char place[64];
    (void)snprintf(place, sizeof place, "\x01%x.%x.%x", row->label, row->phase, row->slot);
    row->place = plumb_names_number(names, place);
    return row->place != UINT32_MAX;
}

static bool name_row(struct loading *loading, const struct plumb_tensor_record *record,
                     struct plumb_row *row)
{
    return name_like_before(loading, record, row) ||
           plumb_row_name(loading->names, record, row);
}

struct plumb_row plumb_row_of(const struct plumb_tensor_record *record)
{
    struct plumb_row row = {
        .label = PLUMB_NO_NAME,
        .op = PLUMB_NO_NAME,
        .slot = PLUMB_NO_NAME,
        .match_slot = PLUMB_NO_NAME,
        .place = PLUMB_NO_NAME,
        .step = record->step,
        .count = 1,
        .shape = (uint64_t)record->dims,
        .fingerprint = record->fingerprint,
        .stats = record->stats,
        .element = record->element,
        .value_name = PLUMB_NO_NAME,
        .fingerprint_kind = (unsigned char)record->fingerprint_kind,
        .phase = (unsigned char)record->phase,
        .dtype = (unsigned char)record->dtype,
        .role = (unsigned char)role_of(record),
        .has_stats = record->has_stats,
        .has_values = record->has_values,
        .is_module = record->is_module,
    };
    for (int i = 0; i < record->dims; i++) {
        if (__builtin_mul_overflow(row.count, record->shape[i], &row.count))
            row.count = INT64_MAX;
        row.shape = mix(row.shape, (uint64_t)record->shape[i]);
    }
    return row;
}

static bool see(void *context, const struct plumb_tensor_record *record)
{
    struct loading *loading = context;
    if (!add_row(loading))
        return false;
    struct plumb_row *row = &loading->rows->rows[loading->rows->count];
    *row = plumb_row_of(record);
    const bool saved = record->has_values && record->value_name;
    if (saved)
        row->value_name = plumb_names_number(loading->names, record->value_name);
    if (!name_row(loading, record, row) || (saved && row->value_name == PLUMB_NO_NAME)) {
        loading->no_memory = true;
        return false;
    }
    loading->rows->count++;
    return true;
}

void plumb_rows_release(struct plumb_rows *rows)
{
    plumb_free(rows->rows);
    *rows = (struct plumb_rows){0};
}

/* Steps that were written out of order are brought into it; within a step nothing moves. */
static enum plumb_status sort_steps(struct plumb_rows *rows, struct plumb_error *err)
{
    size_t i = 1;
    while (i < rows->count && rows->rows[i - 1].step <= rows->rows[i].step)
        i++;
    if (i >= rows->count)
        return PLUMB_OK;
    struct plumb_row *sorted = plumb_alloc_array(rows->count, sizeof *sorted);
    if (!sorted)
        return plumb_fail_memory(err);
    /* Merge sort from the bottom up is stable. */
    for (size_t width = 1; width < rows->count; width *= 2) {
        for (size_t low = 0; low < rows->count; low += 2 * width) {
            const size_t middle = low + width < rows->count ? low + width : rows->count;
            const size_t end = low + 2 * width < rows->count ? low + 2 * width : rows->count;
            size_t left = low, right = middle;
            for (size_t at = low; at < end; at++) {
                const bool from_left =
                    left < middle &&
                    (right >= end || rows->rows[left].step <= rows->rows[right].step);
                sorted[at] = rows->rows[from_left ? left++ : right++];
            }
        }
        struct plumb_row *swap = rows->rows;
        rows->rows = sorted;
        sorted = swap;
    }
    plumb_free(sorted);
    rows->capacity = rows->count;
    return PLUMB_OK;
}

enum plumb_status plumb_rows_load(struct plumb_rows *rows, struct plumb_names *names,
                                  struct plumb_run *run, int rank, int64_t first, int64_t last,
                                  struct plumb_error *err)
{
    const struct plumb_run_query query = {
        .rank = rank, .some_steps = true, .first_step = first, .last_step = last};
    struct loading loading = {.rows = rows, .names = names};
    rows->count = 0;
    const enum plumb_status status = plumb_run_visit_records(run, &query, see, &loading, err);
    if (status)
        return status;
    if (loading.no_memory)
        return plumb_fail_memory(err);
    if (loading.too_many)
        return plumb_fail(err, PLUMB_LIMIT, -1,
                          "%s: more than %d tensor records in steps %lld to %lld of rank %d; "
                          "record fewer ops",
                          plumb_run_path(run), MOST_ROWS, (long long)first, (long long)last,
                          rank);
    return sort_steps(rows, err);
}

size_t plumb_rows_step_end(const struct plumb_rows *rows, size_t from)
{
    size_t end = from;
    while (end < rows->count && rows->rows[end].step == rows->rows[from].step)
        end++;
    return end;
}

bool plumb_row_is_module_of(const struct plumb_row *row, const struct plumb_names *names,
                            uint32_t label)
{
    /* "blocks.1.Block#2" is the op Block of module blocks.1. */
    const char *own = names->texts[row->label], *op = names->texts[row->op];
    const size_t whole = strcspn(own, "#"), length = strlen(op);
    return row->is_module && label != row->label && whole >= length &&
           strncmp(own, names->texts[label], whole - length) == 0;
}

bool plumb_row_may_be_weight(const struct plumb_row *row, const struct plumb_names *names)
{
    return plumb_dtype_is_float((enum plumb_dtype)row->dtype) &&
           strcmp(names->texts[row->slot], "input0") != 0;
}
