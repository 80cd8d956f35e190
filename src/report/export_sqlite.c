/*
 * export_sqlite.c - a run as one SQLite database: a table for each kind of row.
 *
 * Everything goes into one transaction through prepared statements, into a file beside the wanted
 * one that is renamed at the end; so there is no journal and no waiting for the disk until then.
 * Indexes come last, when they are cheapest. SQLite has no NaN: it stores NULL.
 *
 * This is the only file of the library that needs SQLite, and nothing in the library calls it.
 */
#include "base/error.h"

#if HAVE_SQLITE

#include "base/buffer.h"
#include "base/output.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { STATEMENT_LIMIT = 1 << 16, SCHEMA_VERSION = 1, MOST_INDEXES = 2 };

struct database {
    sqlite3 *handle;
    sqlite3_stmt *insert; /* into the table being filled */
    int column;           /* that is bound next */
    const char *path;
    enum plumb_status status; /* the first failure stays */
    struct plumb_error *err;
};

/* Takes SQLite's answer; false after any failure so far. */
static bool well(struct database *base, int answer)
{
    if (base->status || answer == SQLITE_OK || answer == SQLITE_DONE)
        return base->status == PLUMB_OK;
    if (answer == SQLITE_NOMEM)
        base->status = plumb_fail_memory(base->err);
    else
        base->status =
            plumb_fail(base->err, PLUMB_IO, -1,
                       "%s: cannot write the database: %s; is there room and may you "
                       "write there?",
                       base->path, sqlite3_errstr(answer));
    return false;
}

static void run_statement(struct database *base, const char *sql)
{
    if (base->status == PLUMB_OK)
        (void)well(base, sqlite3_exec(base->handle, sql, NULL, NULL, NULL));
}

/* ---- a row ---------------------------------------------------------------------------------- */

static void put_int(struct database *base, int64_t value)
{
    (void)well(base, sqlite3_bind_int64(base->insert, base->column++, value));
}

static void put_double(struct database *base, double value)
{
    (void)well(base, sqlite3_bind_double(base->insert, base->column++, value));
}

/* `text` lives until the row is written. */
static void put_text(struct database *base, const char *text)
{
    (void)well(base, sqlite3_bind_text(base->insert, base->column++, text, -1, SQLITE_STATIC));
}

static void put_null(struct database *base)
{
    (void)well(base, sqlite3_bind_null(base->insert, base->column++));
}

static void put_place(struct database *base, int rank, int64_t step)
{
    put_int(base, rank);
    put_int(base, step);
}

static bool end_row(struct database *base)
{
    if (base->status == PLUMB_OK)
        (void)well(base, sqlite3_step(base->insert));
    (void)sqlite3_reset(base->insert);
    base->column = 1;
    return base->status == PLUMB_OK;
}

/* ---- tables --------------------------------------------------------------------------------- */

static enum plumb_status fill_run(struct plumb_run *run, struct database *base)
{
    for (size_t i = 0; i < plumb_run_note_count(run); i++) {
        put_text(base, plumb_run_note(run, i)->key);
        put_text(base, plumb_run_note(run, i)->json);
        if (!end_row(base))
            break;
    }
    return base->status;
}

static enum plumb_status fill_ranks(struct plumb_run *run, struct database *base)
{
    for (size_t i = 0; i < plumb_run_rank_count(run); i++) {
        const struct plumb_run_rank *rank = plumb_run_rank(run, i);
        const struct plumb_dropped *dropped = &rank->dropped;
        const uint64_t counts[] = {
            rank->steps, rank->records,   rank->spans,      rank->counters, rank->collectives,
            rank->saved, dropped->values, dropped->tensors, dropped->spans, dropped->counters};
        put_int(base, rank->rank);
        put_text(base, plumb_ended_name(rank->ended));
        put_text(base, rank->how);
        if (rank->first_step <= rank->last_step) {
            put_int(base, rank->first_step);
            put_int(base, rank->last_step);
        } else {
            put_null(base);
            put_null(base);
        }
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            put_int(base, (int64_t)counts[k]);
        if (!end_row(base))
            break;
    }
    return base->status;
}

static enum plumb_status fill_config(struct plumb_run *run, struct database *base)
{
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *config = plumb_run_config(run, i);
        put_int(base, config->rank);
        put_text(base, config->key);
        put_text(base, config->json);
        if (!end_row(base))
            break;
    }
    return base->status;
}

static bool put_step(void *context, const struct plumb_run_step *step)
{
    struct database *base = context;
    put_place(base, step->rank, step->step);
    put_int(base, step->begin_ns);
    put_int(base, step->end_ns);
    return end_row(base);
}

static enum plumb_status fill_steps(struct plumb_run *run, struct database *base)
{
    return plumb_run_visit_steps(run, NULL, put_step, base, base->err);
}

static bool put_point(struct database *base, const struct plumb_series *series, size_t i)
{
    put_place(base, series->rank, series->steps[i]);
    put_text(base, series->name);
    put_double(base, series->values[i]);
    return end_row(base);
}

static enum plumb_status fill_series(struct plumb_run *run, struct database *base)
{
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        for (size_t k = 0; k < series->count && put_point(base, series, k); k++)
            continue;
    }
    return base->status;
}

static void put_known(struct database *base, bool known, uint64_t count)
{
    if (known)
        put_int(base, (int64_t)count);
    else
        put_null(base);
}

/* NULL where there are no statistics, or where another tool's do not say. */
static void put_stats(struct database *base, const struct plumb_tensor_record *record)
{
    const struct plumb_stats *stats = &record->stats;
    const bool some = record->has_stats, all = some && !record->partial_stats;
    const double numbers[] = {stats->min, stats->max, stats->mean,
                              stats->std, stats->l2,  stats->abs_mean};
    put_known(base, some, stats->count);
    put_known(base, some, stats->nan);
    put_known(base, some, stats->pos_inf);
    put_known(base, some, stats->neg_inf);
    put_known(base, all, stats->zero);
    put_known(base, all, stats->subnormal);
    put_known(base, some, stats->at_max);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (some)
            put_double(base, numbers[i]);
        else
            put_null(base);
}

/* A JSON array, which SQLite's own functions take apart. */
static void write_shape(const struct plumb_tensor_record *record, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < record->dims; i++)
        at += (size_t)snprintf(text + at, size - at, i ? ",%lld" : "%lld",
                               (long long)record->shape[i]);
    (void)snprintf(text + at, size - at, "]");
}

static bool put_record(void *context, const struct plumb_tensor_record *record)
{
    struct database *base = context;
    char shape[PLUMB_MAX_RANK * 21 + 3], fingerprint[17];
    write_shape(record, shape, sizeof shape);
    (void)snprintf(fingerprint, sizeof fingerprint, "%016llx",
                   (unsigned long long)record->fingerprint);
    put_place(base, record->rank, record->step);
    put_int(base, record->time_ns);
    put_text(base, record->label);
    put_text(base, record->module);
    put_int(base, record->call);
    put_text(base, plumb_phase_name(record->phase));
    put_text(base, record->slot);
    put_text(base, plumb_dtype_name(record->dtype));
    put_text(base, shape);
    if (record->fingerprint_kind == PLUMB_FINGERPRINT_NONE)
        put_null(base);
    else
        put_text(base, fingerprint);
    put_int(base, record->has_values);
    if (record->element >= 0)
        put_int(base, record->element);
    else
        put_null(base);
    put_stats(base, record);
    put_text(base, plumb_fingerprint_kind_name(record->fingerprint_kind));
    put_int(base, record->partial_stats);
    put_text(base, record->origin); /* NULL: Plumb's own */
    return end_row(base);
}

static enum plumb_status fill_tensors(struct plumb_run *run, struct database *base)
{
    return plumb_run_visit_records(run, NULL, put_record, base, base->err);
}

static bool put_span(void *context, const struct plumb_span *span)
{
    struct database *base = context;
    put_place(base, span->rank, span->step);
    put_int(base, span->begin_ns);
    put_int(base, span->end_ns);
    put_text(base, span->track);
    put_text(base, span->name);
    return end_row(base);
}

static enum plumb_status fill_spans(struct plumb_run *run, struct database *base)
{
    return plumb_run_visit_spans(run, NULL, put_span, base, base->err);
}

static bool put_counter(void *context, const struct plumb_counter *counter)
{
    struct database *base = context;
    put_place(base, counter->rank, counter->step);
    put_int(base, counter->time_ns);
    put_text(base, counter->name);
    put_double(base, counter->value);
    return end_row(base);
}

static enum plumb_status fill_counters(struct plumb_run *run, struct database *base)
{
    return plumb_run_visit_counters(run, NULL, put_counter, base, base->err);
}

static bool put_collective(void *context, const struct plumb_rank_collective *row)
{
    struct database *base = context;
    const struct plumb_collective *collective = &row->collective;
    put_place(base, row->rank, row->step);
    put_int(base, collective->sequence);
    put_int(base, collective->begin_ns);
    put_int(base, collective->end_ns);
    put_int(base, (int64_t)collective->bytes);
    put_text(base, collective->group);
    put_text(base, collective->name);
    return end_row(base);
}

static enum plumb_status fill_collectives(struct plumb_run *run, struct database *base)
{
    return plumb_run_visit_collectives(run, NULL, put_collective, base, base->err);
}

static enum plumb_status fill_warnings(struct plumb_run *run, struct database *base)
{
    for (size_t i = 0; i < plumb_run_warning_count(run); i++) {
        put_text(base, plumb_run_warning(run, i));
        if (!end_row(base))
            break;
    }
    return base->status;
}

static const struct table {
    const char *name, *columns;
    enum plumb_status (*fill)(struct plumb_run *run, struct database *base);
    const char *indexes[MOST_INDEXES]; /* columns, an index each */
} tables[] = {
    {"run", "key TEXT, json TEXT", fill_run, {NULL}},
    {"ranks",
     "rank INTEGER PRIMARY KEY, ended TEXT, how TEXT, first_step INTEGER, last_step INTEGER, "
     "steps INTEGER, records INTEGER, spans INTEGER, counters INTEGER, collectives INTEGER, "
     "saved INTEGER, dropped_values INTEGER, dropped_tensors INTEGER, dropped_spans INTEGER, "
     "dropped_counters INTEGER",
     fill_ranks,
     {NULL}},
    {"config", "rank INTEGER, key TEXT, json TEXT", fill_config, {NULL}},
    {"steps",
     "rank INTEGER, step INTEGER, begin_ns INTEGER, end_ns INTEGER",
     fill_steps,
     {"step"}},
    {"series",
     "rank INTEGER, step INTEGER, name TEXT, value REAL",
     fill_series,
     {"step", "name"}},
    {"tensors",
     "rank INTEGER, step INTEGER, time_ns INTEGER, op TEXT, module TEXT, call INTEGER, "
     "phase TEXT, slot TEXT, dtype TEXT, shape TEXT, fingerprint TEXT, saved INTEGER, "
     "element INTEGER, count INTEGER, nan INTEGER, pos_inf INTEGER, neg_inf INTEGER, "
     "zero INTEGER, subnormal INTEGER, at_max INTEGER, min REAL, max REAL, mean REAL, std "
     "REAL, "
     "l2 REAL, abs_mean REAL, fingerprint_kind TEXT, partial INTEGER, origin TEXT",
     fill_tensors,
     {"step", "op"}},
    {"spans",
     "rank INTEGER, step INTEGER, begin_ns INTEGER, end_ns INTEGER, track TEXT, name TEXT",
     fill_spans,
     {"step", "name"}},
    {"counters",
     "rank INTEGER, step INTEGER, time_ns INTEGER, name TEXT, value REAL",
     fill_counters,
     {"step"}},
    {"collectives",
     "rank INTEGER, step INTEGER, sequence INTEGER, begin_ns INTEGER, end_ns INTEGER, "
     "bytes INTEGER, group_name TEXT, name TEXT",
     fill_collectives,
     {"step"}},
    /* Last: rows that turn out damaged are named while they are read. */
    {"warnings", "message TEXT", fill_warnings, {NULL}},
};

/* ---- the database --------------------------------------------------------------------------- */

/* What was put together in `sql`; NULL if memory was short. */
static const char *finished(struct database *base, const struct plumb_buffer *sql)
{
    if (plumb_buffer_failed(sql) && base->status == PLUMB_OK)
        base->status = plumb_fail_memory(base->err);
    return base->status ? NULL : plumb_buffer_string(sql);
}

static void create(struct database *base, const struct table *table, struct plumb_buffer *sql)
{
    plumb_buffer_clear(sql);
    plumb_buffer_printf(sql, "CREATE TABLE %s(%s)", table->name, table->columns);
    run_statement(base, finished(base, sql));
}

static void prepare_insert(struct database *base, const struct table *table,
                           struct plumb_buffer *sql)
{
    plumb_buffer_clear(sql);
    plumb_buffer_printf(sql, "INSERT INTO %s VALUES(?", table->name);
    for (const char *c = table->columns; *c; c++)
        if (*c == ',')
            plumb_buffer_text(sql, ",?");
    plumb_buffer_text(sql, ")");
    const char *text = finished(base, sql);
    base->column = 1;
    if (text)
        (void)well(base, sqlite3_prepare_v2(base->handle, text, -1, &base->insert, NULL));
}

static void create_indexes(struct database *base, const struct table *table,
                           struct plumb_buffer *sql)
{
    for (size_t i = 0; i < MOST_INDEXES && table->indexes[i]; i++) {
        plumb_buffer_clear(sql);
        plumb_buffer_printf(sql, "CREATE INDEX %s_%s ON %s(%s)", table->name, table->indexes[i],
                            table->name, table->indexes[i]);
        run_statement(base, finished(base, sql));
    }
}

static void write_table(struct database *base, const struct table *table, struct plumb_run *run,
                        struct plumb_buffer *sql)
{
    create(base, table, sql);
    prepare_insert(base, table, sql);
    if (base->status == PLUMB_OK) {
        const enum plumb_status status = table->fill(run, base);
        base->status = base->status ? base->status : status;
    }
    (void)sqlite3_finalize(base->insert);
    base->insert = NULL;
    create_indexes(base, table, sql);
}

static void write_tables(struct database *base, struct plumb_run *run)
{
    struct plumb_buffer sql;
    char version[64];
    plumb_buffer_init(&sql, STATEMENT_LIMIT);
    (void)snprintf(version, sizeof version, "PRAGMA user_version=%d", SCHEMA_VERSION);
    run_statement(base, "PRAGMA journal_mode=OFF");
    run_statement(base, "PRAGMA synchronous=OFF");
    run_statement(base, "PRAGMA locking_mode=EXCLUSIVE");
    run_statement(base, "BEGIN");
    run_statement(base, version);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && base->status == PLUMB_OK; i++)
        write_table(base, &tables[i], run, &sql);
    run_statement(base, "COMMIT");
    plumb_buffer_release(&sql);
}

/* "./" keeps SQLite from taking "file:..." or ":memory:" for something else than a name. */
static enum plumb_status write_database(struct plumb_run *run, const char *path,
                                        const char *beside, struct plumb_error *err)
{
    struct database base = {.path = path, .err = err};
    struct plumb_buffer name;
    plumb_buffer_init(&name, STATEMENT_LIMIT);
    plumb_buffer_printf(&name, "%s%s", *beside == '/' ? "" : "./", beside);
    if (plumb_buffer_failed(&name))
        base.status = plumb_fail_memory(err);
    else if (well(&base, sqlite3_open_v2(plumb_buffer_string(&name), &base.handle,
                                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL)))
        write_tables(&base, run);
    (void)well(&base, sqlite3_close(base.handle));
    plumb_buffer_release(&name);
    return base.status;
}

enum plumb_status plumb_export_sqlite(struct plumb_run *run, const char *path,
                                      struct plumb_error *err)
{
    struct plumb_output *output = NULL;
    enum plumb_status status = plumb_output_open(path, &output, err);
    if (status)
        return status;
    status = write_database(run, path, plumb_output_beside(output), err);
    if (status == PLUMB_OK)
        status = plumb_output_commit(output, err);
    plumb_output_close(output);
    return status;
}

#else

enum plumb_status plumb_export_sqlite(struct plumb_run *run, const char *path,
                                      struct plumb_error *err)
{
    (void)run;
    return plumb_fail(
        err, PLUMB_UNSUPPORTED, -1,
        "%s: this Plumb was built without SQLite; install libsqlite3-dev and build "
        "again, or export as CSV or JSON",
        path);
}

#endif
