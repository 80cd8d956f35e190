/* test_export_sqlite.c - the database holds what the reader of the run gives, row by row. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "property/toy_run.h"
#include "unit/scratch_group.h"

#include <math.h>

enum { STEPS = 20 };

static void make_path(char path[600], const char *name)
{
    (void)snprintf(path, 600, "%s", scratch_path(&scratch, name));
}

/* Two ranks; the second one keeps fingerprints alone, so that its records have no statistics. */
static struct plumb_run *make_run(const char *name)
{
    struct plumb_run *run = NULL;
    char path[600];
    make_path(path, name);
    for (int rank = 0; rank < 2; rank++) {
        struct plumb_recorder *recorder =
            toy_open(path, (struct plumb_recorder_options){.rank = rank,
                                                           .world_size = 2,
                                                           .save = rank ? PLUMB_SAVE_FINGERPRINT
                                                                        : PLUMB_SAVE_TENSORS});
        assert_non_null(recorder);
        for (int64_t step = 0; step < STEPS; step++)
            toy_step(recorder, step);
        plumb_record_series(recorder, "odd", 1, (double)NAN);
        plumb_record_series(recorder, "odd", 2, (double)-INFINITY);
        assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    }
    assert_int_equal(plumb_run_open(path, &run, NULL), PLUMB_OK);
    return run;
}

#if HAVE_SQLITE

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

/* Rows of a query, taken one after the other while the reader visits its own. */
struct rows {
    sqlite3 *base;
    sqlite3_stmt *statement;
    int column;
    size_t count;
};

static struct rows open_rows(const char *path, const char *query)
{
    struct rows rows = {.count = 0};
    assert_int_equal(sqlite3_open_v2(path, &rows.base, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(rows.base, query, -1, &rows.statement, NULL),
                     SQLITE_OK);
    return rows;
}

static void next_row(struct rows *rows)
{
    assert_int_equal(sqlite3_step(rows->statement), SQLITE_ROW);
    rows->column = 0;
    rows->count++;
}

/* All rows were taken, `count` of them, and no column was left out. */
static void close_rows(struct rows *rows, size_t count)
{
    if (count)
        assert_int_equal(rows->column, sqlite3_column_count(rows->statement));
    assert_int_equal(sqlite3_step(rows->statement), SQLITE_DONE);
    assert_int_equal(rows->count, count);
    assert_int_equal(sqlite3_finalize(rows->statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(rows->base), SQLITE_OK);
}

static void is_int(struct rows *rows, int64_t value)
{
    assert_int_equal(sqlite3_column_type(rows->statement, rows->column), SQLITE_INTEGER);
    assert_true(sqlite3_column_int64(rows->statement, rows->column++) == value);
}

static void is_null(struct rows *rows)
{
    assert_int_equal(sqlite3_column_type(rows->statement, rows->column++), SQLITE_NULL);
}

static void is_double(struct rows *rows, double value)
{
    if (isnan(value)) {
        is_null(rows);
        return;
    }
    assert_int_equal(sqlite3_column_type(rows->statement, rows->column), SQLITE_FLOAT);
    assert_true(sqlite3_column_double(rows->statement, rows->column++) == value);
}

static void is_text(struct rows *rows, const char *text)
{
    assert_int_equal(sqlite3_column_type(rows->statement, rows->column), SQLITE_TEXT);
    assert_string_equal(sqlite3_column_text(rows->statement, rows->column++), text);
}

static bool same_step(void *context, const struct plumb_run_step *step)
{
    struct rows *rows = context;
    next_row(rows);
    is_int(rows, step->rank);
    is_int(rows, step->step);
    is_int(rows, step->begin_ns);
    is_int(rows, step->end_ns);
    return true;
}

static void has_stats(struct rows *rows, const struct plumb_stats *stats)
{
    const uint64_t counts[] = {stats->count, stats->nan,       stats->pos_inf, stats->neg_inf,
                               stats->zero,  stats->subnormal, stats->at_max};
    const double numbers[] = {stats->min, stats->max, stats->mean,
                              stats->std, stats->l2,  stats->abs_mean};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        is_int(rows, (int64_t)counts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        is_double(rows, numbers[i]);
}

static bool same_record(void *context, const struct plumb_tensor_record *record)
{
    struct rows *rows = context;
    char fingerprint[17];
    (void)snprintf(fingerprint, sizeof fingerprint, "%016llx",
                   (unsigned long long)record->fingerprint);
    next_row(rows);
    is_int(rows, record->rank);
    is_int(rows, record->step);
    is_int(rows, record->time_ns);
    is_text(rows, record->label);
    is_text(rows, record->module);
    is_int(rows, record->call);
    is_text(rows, plumb_phase_name(record->phase));
    is_text(rows, record->slot);
    is_text(rows, plumb_dtype_name(record->dtype));
    is_text(rows, "[4,4]");
    is_text(rows, fingerprint);
    is_int(rows, record->has_values);
    is_null(rows); /* no element stands out */
    assert_int_equal(record->has_stats, record->rank == 0);
    if (record->has_stats)
        has_stats(rows, &record->stats);
    for (int i = 0; i < 13 && !record->has_stats; i++)
        is_null(rows);
    is_text(rows, plumb_fingerprint_kind_name(PLUMB_FINGERPRINT_OWN));
    is_int(rows, false);
    is_null(rows); /* no other tool's name */
    return true;
}

static bool same_span(void *context, const struct plumb_span *span)
{
    struct rows *rows = context;
    next_row(rows);
    is_int(rows, span->rank);
    is_int(rows, span->step);
    is_int(rows, span->begin_ns);
    is_int(rows, span->end_ns);
    is_text(rows, span->track);
    is_text(rows, span->name);
    return true;
}

static bool same_counter(void *context, const struct plumb_counter *counter)
{
    struct rows *rows = context;
    next_row(rows);
    is_int(rows, counter->rank);
    is_int(rows, counter->step);
    is_int(rows, counter->time_ns);
    is_text(rows, counter->name);
    is_double(rows, counter->value);
    return true;
}

static bool same_collective(void *context, const struct plumb_rank_collective *row)
{
    struct rows *rows = context;
    next_row(rows);
    is_int(rows, row->rank);
    is_int(rows, row->step);
    is_int(rows, row->collective.sequence);
    is_int(rows, row->collective.begin_ns);
    is_int(rows, row->collective.end_ns);
    is_int(rows, (int64_t)row->collective.bytes);
    is_text(rows, row->collective.group);
    is_text(rows, row->collective.name);
    return true;
}

static void visited_rows_are_equal(void **state)
{
    (void)state;
    char path[600];
    struct plumb_run *run = make_run("rows");
    make_path(path, "rows.db");
    assert_int_equal(plumb_export_sqlite(run, path, NULL), PLUMB_OK);
    struct rows rows = open_rows(path, "SELECT * FROM steps ORDER BY rowid");
    assert_int_equal(plumb_run_visit_steps(run, NULL, same_step, &rows, NULL), PLUMB_OK);
    close_rows(&rows, 2 * STEPS);
    rows = open_rows(path, "SELECT * FROM tensors ORDER BY rowid");
    assert_int_equal(plumb_run_visit_records(run, NULL, same_record, &rows, NULL), PLUMB_OK);
    close_rows(&rows, 4 * STEPS);
    rows = open_rows(path, "SELECT * FROM spans ORDER BY rowid");
    assert_int_equal(plumb_run_visit_spans(run, NULL, same_span, &rows, NULL), PLUMB_OK);
    close_rows(&rows, 6 * STEPS);
    rows = open_rows(path, "SELECT * FROM counters ORDER BY rowid");
    assert_int_equal(plumb_run_visit_counters(run, NULL, same_counter, &rows, NULL), PLUMB_OK);
    close_rows(&rows, 2 * STEPS);
    rows = open_rows(path, "SELECT * FROM collectives ORDER BY rowid");
    assert_int_equal(plumb_run_visit_collectives(run, NULL, same_collective, &rows, NULL),
                     PLUMB_OK);
    close_rows(&rows, 2 * STEPS);
    plumb_run_close(run);
}

static void check_ranks(struct plumb_run *run, const char *path)
{
    struct rows rows = open_rows(path, "SELECT * FROM ranks ORDER BY rank");
    for (size_t i = 0; i < plumb_run_rank_count(run); i++) {
        const struct plumb_run_rank *rank = plumb_run_rank(run, i);
        const struct plumb_dropped *dropped = &rank->dropped;
        const uint64_t counts[] = {
            rank->steps, rank->records,   rank->spans,      rank->counters, rank->collectives,
            rank->saved, dropped->values, dropped->tensors, dropped->spans, dropped->counters};
        next_row(&rows);
        is_int(&rows, rank->rank);
        is_text(&rows, "closed");
        is_text(&rows, rank->how);
        is_int(&rows, 0);
        is_int(&rows, STEPS - 1);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            is_int(&rows, (int64_t)counts[k]);
    }
    close_rows(&rows, 2);
}

static void facts_are_equal(void **state)
{
    (void)state;
    char path[600];
    struct plumb_run *run = make_run("facts");
    make_path(path, "facts.db");
    assert_int_equal(plumb_export_sqlite(run, path, NULL), PLUMB_OK);
    struct rows rows = open_rows(path, "SELECT * FROM run ORDER BY rowid");
    for (size_t i = 0; i < plumb_run_note_count(run); i++) {
        next_row(&rows);
        is_text(&rows, plumb_run_note(run, i)->key);
        is_text(&rows, plumb_run_note(run, i)->json);
    }
    close_rows(&rows, plumb_run_note_count(run));
    rows = open_rows(path, "SELECT * FROM config ORDER BY rowid");
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        next_row(&rows);
        is_int(&rows, plumb_run_config(run, i)->rank);
        is_text(&rows, plumb_run_config(run, i)->key);
        is_text(&rows, plumb_run_config(run, i)->json);
    }
    close_rows(&rows, 4);
    rows = open_rows(path, "SELECT * FROM series ORDER BY rowid");
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        for (size_t k = 0; k < series->count; k++) {
            next_row(&rows);
            is_int(&rows, series->rank);
            is_int(&rows, series->steps[k]);
            is_text(&rows, series->name);
            is_double(&rows, series->values[k]);
        }
    }
    close_rows(&rows, 4 * STEPS + 4);
    check_ranks(run, path);
    rows = open_rows(path, "SELECT * FROM warnings");
    close_rows(&rows, 0);
    rows = open_rows(path, "SELECT name FROM sqlite_master WHERE type = 'index' AND name IN "
                           "('tensors_step', 'tensors_op', 'series_step', 'spans_step')");
    for (int i = 0; i < 4; i++)
        next_row(&rows);
    rows.column = 1;
    close_rows(&rows, 4);
    plumb_run_close(run);
}

/* A block that does not hold leaves its rows out and is named, here as elsewhere. */
static void damage_is_told(void **state)
{
    (void)state;
    char path[600], records[600];
    plumb_run_close(make_run("damaged"));
    make_path(records, "damaged/rank0000/records.plumb");
    const int fd = open(records, O_RDWR);
    assert_true(fd >= 0);
    const off_t size = lseek(fd, 0, SEEK_END);
    assert_int_equal(pwrite(fd, "????", 4, size / 2), 4);
    (void)close(fd);
    struct plumb_run *run = NULL;
    make_path(path, "damaged");
    assert_int_equal(plumb_run_open(path, &run, NULL), PLUMB_OK);
    make_path(path, "damaged.db");
    assert_int_equal(plumb_export_sqlite(run, path, NULL), PLUMB_OK);
    assert_true(plumb_run_warning_count(run) > 0);
    struct rows rows = open_rows(path, "SELECT message FROM warnings");
    for (size_t i = 0; i < plumb_run_warning_count(run); i++) {
        next_row(&rows);
        is_text(&rows, plumb_run_warning(run, i));
    }
    close_rows(&rows, plumb_run_warning_count(run));
    plumb_run_close(run);
}

/* What is there stays until the new one is whole; names that SQLite would interpret are names. */
static void files_appear_whole(void **state)
{
    (void)state;
    char path[600], text[16] = "";
    struct plumb_error error;
    struct plumb_run *run = make_run("whole");
    scratch_text(&scratch, "kept.db", "something else");
    make_path(path, "kept.db");
    const struct rlimit small = {.rlim_cur = 20000, .rlim_max = RLIM_INFINITY};
    const struct rlimit large = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(plumb_export_sqlite(run, path, &error), PLUMB_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &large), 0);
    assert_non_null(strstr(error.message, path));
    FILE *kept = fopen(path, "rb");
    assert_non_null(kept);
    assert_int_equal(fread(text, 1, sizeof text, kept), 14);
    (void)fclose(kept);
    assert_int_equal(plumb_export_sqlite(run, path, &error), PLUMB_OK);
    assert_int_equal(plumb_export_sqlite(run, scratch_path(&scratch, "no/such.db"), &error),
                     PLUMB_IO);
    assert_int_equal(chdir(scratch.root), 0);
    assert_int_equal(plumb_export_sqlite(run, "file:odd?mode=memory", &error), PLUMB_OK);
    assert_int_equal(access(scratch_path(&scratch, "file:odd?mode=memory"), R_OK), 0);
    plumb_run_close(run);
}

#else

static void its_absence_is_told(void **state)
{
    (void)state;
    struct plumb_error error;
    struct plumb_run *run = make_run("run");
    assert_int_equal(plumb_export_sqlite(run, scratch_path(&scratch, "run.db"), &error),
                     PLUMB_UNSUPPORTED);
    assert_non_null(strstr(error.message, "libsqlite3-dev"));
    plumb_run_close(run);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#if HAVE_SQLITE
        cmocka_unit_test(visited_rows_are_equal),
        cmocka_unit_test(facts_are_equal),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(files_appear_whole),
#else
        cmocka_unit_test(its_absence_is_told),
#endif
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
