/* export_npz.c - the numbers of a run as one npz: series, and the columns of tensor records. */
#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "report/run_report.h"

#include <string.h>

enum { MOST_RECORDS = 4 << 20 };

/* Columns of tensor records, all as they are in plumb_tensor_record. */
static const struct {
    const char *name;
    enum plumb_dtype dtype;
    size_t offset;
} columns[] = {
    {"records/step", PLUMB_I64, offsetof(struct plumb_tensor_record, step)},
    {"records/rank", PLUMB_I32, offsetof(struct plumb_tensor_record, rank)},
    {"records/fingerprint", PLUMB_U64, offsetof(struct plumb_tensor_record, fingerprint)},
    {"records/element", PLUMB_I64, offsetof(struct plumb_tensor_record, element)},
    {"records/count", PLUMB_U64, offsetof(struct plumb_tensor_record, stats.count)},
    {"records/nan", PLUMB_U64, offsetof(struct plumb_tensor_record, stats.nan)},
    {"records/pos_inf", PLUMB_U64, offsetof(struct plumb_tensor_record, stats.pos_inf)},
    {"records/neg_inf", PLUMB_U64, offsetof(struct plumb_tensor_record, stats.neg_inf)},
    {"records/zero", PLUMB_U64, offsetof(struct plumb_tensor_record, stats.zero)},
    {"records/subnormal", PLUMB_U64, offsetof(struct plumb_tensor_record, stats.subnormal)},
    {"records/at_max", PLUMB_U64, offsetof(struct plumb_tensor_record, stats.at_max)},
    {"records/min", PLUMB_F64, offsetof(struct plumb_tensor_record, stats.min)},
    {"records/max", PLUMB_F64, offsetof(struct plumb_tensor_record, stats.max)},
    {"records/mean", PLUMB_F64, offsetof(struct plumb_tensor_record, stats.mean)},
    {"records/std", PLUMB_F64, offsetof(struct plumb_tensor_record, stats.std)},
    {"records/l2", PLUMB_F64, offsetof(struct plumb_tensor_record, stats.l2)},
    {"records/abs_mean", PLUMB_F64, offsetof(struct plumb_tensor_record, stats.abs_mean)},
};

enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

struct gathering {
    unsigned char *data[COLUMN_COUNT];
    size_t count, capacity;
};

static bool keep_row(void *context, const struct plumb_tensor_record *record)
{
    struct gathering *rows = context;
    if (rows->count == rows->capacity)
        return false;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        const size_t size = plumb_dtype_size(columns[i].dtype);
        memcpy(rows->data[i] + rows->count * size, (const char *)record + columns[i].offset,
               size);
    }
    rows->count++;
    return true;
}

static enum plumb_status gather(struct plumb_run *run, struct gathering *rows,
                                struct plumb_arena *arena, struct plumb_error *err)
{
    uint64_t count = 0;
    for (size_t i = 0; i < plumb_run_rank_count(run); i++)
        count += plumb_run_rank(run, i)->records;
    if (count > MOST_RECORDS)
        return plumb_fail(
            err, PLUMB_LIMIT, -1,
            "%s: %llu tensor records are too many for one npz, at most %d; export "
            "as CSV",
            plumb_run_path(run), (unsigned long long)count, MOST_RECORDS);
    rows->capacity = (size_t)count;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        rows->data[i] =
            plumb_arena_alloc(arena, (size_t)count + 1, plumb_dtype_size(columns[i].dtype));
        if (!rows->data[i])
            return plumb_fail_memory(err);
    }
    return plumb_run_visit_records(run, NULL, keep_row, rows, err);
}

/* Shapes live in the arena beside the names. */
static bool describe(struct plumb_arena *arena, struct plumb_value *value, const char *name,
                     enum plumb_dtype dtype, size_t count, const void *data)
{
    int64_t *shape = plumb_arena_alloc(arena, 1, sizeof *shape);
    if (!shape || !name)
        return false;
    *shape = (int64_t)count;
    *value = (struct plumb_value){
        .name = name, .dtype = dtype, .rank = 1, .shape = shape, .data = data};
    return true;
}

static enum plumb_status write_all(struct plumb_run *run, const char *path,
                                   const struct gathering *rows, struct plumb_arena *arena,
                                   struct plumb_error *err)
{
    const size_t series_count = plumb_run_series_count(run);
    struct plumb_value *values =
        plumb_arena_alloc(arena, 2 * series_count + COLUMN_COUNT, sizeof *values);
    size_t count = 0;
    bool enough = values != NULL;
    for (size_t i = 0; i < series_count && enough; i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        enough =
            describe(arena, &values[count],
                     plumb_arena_printf(arena, "series/%d/%s/step", series->rank, series->name),
                     PLUMB_I64, series->count, series->steps) &&
            describe(
                arena, &values[count + 1],
                plumb_arena_printf(arena, "series/%d/%s/value", series->rank, series->name),
                PLUMB_F64, series->count, series->values);
        count += 2;
    }
    for (size_t i = 0; i < COLUMN_COUNT && enough; i++)
        enough = describe(arena, &values[count++], columns[i].name, columns[i].dtype,
                          rows->count, rows->data[i]);
    return enough ? plumb_write_file(path, "npz", values, count, err) : plumb_fail_memory(err);
}

enum plumb_status plumb_export_npz(struct plumb_run *run, const char *path,
                                   struct plumb_error *err)
{
    struct plumb_arena arena = {0};
    struct gathering rows = {.count = 0};
    enum plumb_status status = gather(run, &rows, &arena, err);
    if (status == PLUMB_OK)
        status = write_all(run, path, &rows, &arena, err);
    plumb_arena_release(&arena);
    return status;
}
