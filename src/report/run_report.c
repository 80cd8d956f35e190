/* run_report.c - what was asked for about a run, as text or JSON. */
#include "report/run_report.h"

#include "base/error.h"
#include "base/utf8.h"
#include "report/called_at.h"
#include "report/show.h"
#include "report/table_text.h"
#include "report/words.h"

#include <stdio.h>

/* ---- records ---------------------------------------------------------------------------------- */

struct listing {
    struct plumb_json_writer *json;
    struct plumb_table_text *table;
    size_t count, most;
    bool ranks; /* of more than one */
};

static bool list_json(void *context, const struct plumb_tensor_record *record)
{
    struct listing *listing = context;
    listing->count++;
    plumb_json_new_line(listing->json);
    plumb_record_json(listing->json, record);
    return !plumb_buffer_failed(listing->json->buffer);
}

/* "3 nan, 1 inf"; of another tool's statistics only which of them. */
static const char *counts_word(const struct plumb_stats *stats, bool partial,
                               char text[WORD_SIZE])
{
    const uint64_t infinite = stats->pos_inf + stats->neg_inf;
    text[0] = '\0';
    size_t at = 0;
    const struct {
        uint64_t count;
        const char *what;
    } parts[] = {{stats->nan, "nan"}, {infinite, "inf"}, {stats->at_max, "at max"}};
    for (size_t i = 0; i < 3; i++)
        if (parts[i].count && partial)
            at += (size_t)snprintf(text + at, WORD_SIZE - at, "%s%s", at ? ", " : "",
                                   parts[i].what);
        else if (parts[i].count && at < WORD_SIZE - 32)
            at += (size_t)snprintf(text + at, WORD_SIZE - at, "%s%llu %s", at ? ", " : "",
                                   (unsigned long long)parts[i].count, parts[i].what);
    return text;
}

static bool list_row(void *context, const struct plumb_tensor_record *record)
{
    struct listing *listing = context;
    struct plumb_table_text *table = listing->table;
    char shape[SHAPE_SIZE], words[4][WORD_SIZE], counts[WORD_SIZE];
    if (listing->count++ >= listing->most)
        return true;
    const struct plumb_tensor tensor = {.rank = record->dims, .shape = record->shape};
    const struct plumb_stats *stats = &record->stats;
    const double numbers[] = {stats->min, stats->max, stats->mean, stats->l2};
    if (listing->ranks)
        plumb_table_text_cell(table, "%d", record->rank);
    plumb_table_text_cell(table, "%lld", (long long)record->step);
    plumb_table_text_cell(table, "%s", record->label);
    plumb_table_text_cell(table, "%s", plumb_phase_name(record->phase));
    plumb_table_text_cell(table, "%s", record->slot);
    plumb_table_text_cell(table, "%s", plumb_word_shape(&tensor, shape));
    plumb_table_text_cell(table, "%s", plumb_dtype_name(record->dtype));
    for (size_t i = 0; i < 4; i++)
        plumb_table_text_cell(table, "%s",
                              record->has_stats ? plumb_word_number(numbers[i], words[i]) : "");
    if (record->has_stats)
        plumb_table_text_cell(table, "%s", counts_word(stats, record->partial_stats, counts));
    else if (record->fingerprint_kind != PLUMB_FINGERPRINT_NONE)
        plumb_table_text_cell(table, "%016llx", (unsigned long long)record->fingerprint);
    else
        plumb_table_text_cell(table, "%s", "");
    return !table->failed;
}

enum plumb_status plumb_records_text(struct plumb_run *run, const struct plumb_run_query *query,
                                     size_t most, int width, struct plumb_buffer *to,
                                     struct plumb_error *err)
{
    static const char *const titles[] = {"step", "op",  "phase", "slot", "shape", "dtype",
                                         "min",  "max", "mean",  "l2",   ""};
    struct plumb_table_text table;
    struct listing listing = {.table = &table,
                              .most = most,
                              .ranks = plumb_run_rank_count(run) > 1 && query->rank < 0};
    plumb_table_text_init(&table);
    if (listing.ranks)
        plumb_table_text_column(&table, "rank", true);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        plumb_table_text_column(&table, titles[i], i == 0 || (i >= 6 && i < 10));
    enum plumb_status status = plumb_run_visit_records(run, query, list_row, &listing, err);
    if (status == PLUMB_OK && !listing.count)
        status = plumb_explain_no_records(run, query, err);
    if (status == PLUMB_OK)
        plumb_table_text_write(&table, width, to);
    if (listing.count > most)
        plumb_buffer_printf(to, "  and %zu more; --json lists all\n", listing.count - most);
    plumb_table_text_release(&table);
    return status;
}

static enum plumb_status list_records_json(struct plumb_run *run,
                                           const struct plumb_run_query *query,
                                           struct plumb_json_writer *json,
                                           struct plumb_error *err)
{
    struct listing listing = {.json = json};
    const enum plumb_status status =
        plumb_run_visit_records(run, query, list_json, &listing, err);
    return status || listing.count ? status : plumb_explain_no_records(run, query, err);
}

static enum plumb_status write_records_json(struct plumb_run *run,
                                            const struct plumb_run_query *query, bool values,
                                            struct plumb_buffer *to, struct plumb_error *err)
{
    struct plumb_json_writer json = plumb_json_writer_of(to);
    plumb_json_open_object(&json);
    plumb_json_put_key(&json, "records");
    plumb_json_open_array(&json);
    const enum plumb_status status = values ? plumb_values_report(run, query, &json, to, err)
                                            : list_records_json(run, query, &json, err);
    plumb_json_close_array(&json);
    plumb_run_warnings_json(&json, run);
    plumb_json_close_object(&json);
    plumb_buffer_text(to, "\n");
    return status;
}

static enum plumb_status write_records(struct plumb_run *run,
                                       const struct plumb_run_report_options *options,
                                       struct plumb_buffer *to, struct plumb_error *err)
{
    enum { MOST_ROWS = 1000 };
    const struct plumb_run_query query = {.rank = options->rank,
                                          .some_steps = options->one_step,
                                          .first_step = options->step,
                                          .last_step = options->step,
                                          .op = options->op,
                                          .slot = options->slot};
    if (options->json)
        return write_records_json(run, &query, options->values, to, err);
    enum plumb_status status =
        options->values ? plumb_values_report(run, &query, NULL, to, err)
                        : plumb_records_text(run, &query, MOST_ROWS, options->width, to, err);
    if (!status && options->op && !options->values)
        status = plumb_stacks_text(run, &query, to, err);
    plumb_run_warnings_text(run, to);
    return status;
}

/* ---- series ------------------------------------------------------------------------------------ */

static enum plumb_status write_series(const struct plumb_run *run,
                                      const struct plumb_run_report_options *options,
                                      struct plumb_buffer *to, struct plumb_error *err)
{
    const struct plumb_series *series =
        plumb_run_find_series(run, options->series, options->rank);
    if (!series)
        return plumb_fail(err, PLUMB_NOT_FOUND, -1,
                          "%s: no series is called '%s'; `plumb show %s` lists them",
                          plumb_run_path(run), options->series, plumb_run_path(run));
    if (!options->json) {
        plumb_series_chart(series, options->width, to);
        return PLUMB_OK;
    }
    struct plumb_json_writer json = plumb_json_writer_of(to);
    plumb_series_json(&json, series);
    plumb_buffer_text(to, "\n");
    return PLUMB_OK;
}

enum plumb_status plumb_report_run(struct plumb_run *run,
                                   const struct plumb_run_report_options *options,
                                   const struct plumb_sink *sink, struct plumb_error *err)
{
    struct plumb_buffer report;
    enum plumb_status status = PLUMB_OK;
    plumb_buffer_init(&report, REPORT_LIMIT);
    if (options->series)
        status = write_series(run, options, &report, err);
    else if (options->op || options->slot || options->one_step || options->values)
        status = write_records(run, options, &report, err);
    else if (options->json)
        plumb_run_json(run, &report);
    else
        status = plumb_run_text(run, options, &report, err);
    if (!options->json && report.data)
        plumb_utf8_make_printable(report.data, true);
    if (status == PLUMB_OK)
        status = plumb_report_send(&report, sink, err);
    plumb_buffer_release(&report);
    return status;
}
