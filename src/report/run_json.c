/* run_json.c - a run as JSON; the keys are a promise (DESIGN, section 6). */
#include "report/run_report.h"

#include "report/called_at.h"
#include "report/show.h"

#include <math.h>
#include <stdio.h>

static void put_uint(struct plumb_json_writer *json, const char *key, uint64_t value)
{
    plumb_json_put_key(json, key);
    plumb_json_put_uint(json, value);
}

static void put_string(struct plumb_json_writer *json, const char *key, const char *value)
{
    plumb_json_put_key(json, key);
    plumb_json_put_string(json, value);
}

static void put_steps(struct plumb_json_writer *json, bool any, int64_t first, int64_t last)
{
    plumb_json_put_key(json, "steps");
    plumb_json_open_array(json);
    if (any) {
        plumb_json_put_int(json, first);
        plumb_json_put_int(json, last);
    }
    plumb_json_close_array(json);
}

static void put_rank(struct plumb_json_writer *json, const struct plumb_run_rank *rank)
{
    plumb_json_new_line(json);
    plumb_json_open_object(json);
    plumb_json_put_key(json, "rank");
    plumb_json_put_int(json, rank->rank);
    put_string(json, "ended", plumb_ended_name(rank->ended));
    put_string(json, "how", rank->how);
    put_steps(json, rank->first_step <= rank->last_step, rank->first_step, rank->last_step);
    put_uint(json, "finished_steps", rank->steps);
    put_uint(json, "records", rank->records);
    put_uint(json, "spans", rank->spans);
    put_uint(json, "counters", rank->counters);
    put_uint(json, "collectives", rank->collectives);
    put_uint(json, "saved_steps", rank->saved);
    plumb_json_put_key(json, "dropped");
    plumb_json_open_object(json);
    put_uint(json, "values", rank->dropped.values);
    put_uint(json, "tensors", rank->dropped.tensors);
    put_uint(json, "spans", rank->dropped.spans);
    put_uint(json, "counters", rank->dropped.counters);
    plumb_json_close_object(json);
    plumb_json_close_object(json);
}

static void put_config(struct plumb_json_writer *json, const struct plumb_run *run)
{
    plumb_json_put_key(json, "config");
    plumb_json_open_array(json);
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *config = plumb_run_config(run, i);
        plumb_json_open_object(json);
        plumb_json_put_key(json, "rank");
        plumb_json_put_int(json, config->rank);
        put_string(json, "key", config->key);
        plumb_json_put_key(json, "value");
        plumb_json_put_raw(json, config->json);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
}

static void put_series(struct plumb_json_writer *json, const struct plumb_run *run)
{
    plumb_json_put_key(json, "series");
    plumb_json_open_array(json);
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        plumb_json_new_line(json);
        plumb_json_open_object(json);
        put_string(json, "name", series->name);
        plumb_json_put_key(json, "rank");
        plumb_json_put_int(json, series->rank);
        put_uint(json, "count", series->count);
        plumb_json_put_key(json, "last");
        if (series->count)
            plumb_json_put_double(json, series->values[series->count - 1]);
        else
            plumb_json_put_null(json);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
}

void plumb_run_warnings_json(struct plumb_json_writer *json, const struct plumb_run *run)
{
    plumb_json_put_key(json, "warnings");
    plumb_json_open_array(json);
    for (size_t i = 0; i < plumb_run_warning_count(run); i++)
        plumb_json_put_string(json, plumb_run_warning(run, i));
    plumb_json_close_array(json);
}

void plumb_run_json(const struct plumb_run *run, struct plumb_buffer *to)
{
    struct plumb_json_writer writer = plumb_json_writer_of(to), *json = &writer;
    int64_t first = 0, last = 0;
    uint64_t records = 0;
    plumb_json_open_object(json);
    put_string(json, "path", plumb_run_path(run));
    put_string(json, "format", plumb_run_format(run));
    plumb_json_put_key(json, "run");
    plumb_json_open_object(json);
    for (size_t i = 0; i < plumb_run_note_count(run); i++) {
        plumb_json_put_key(json, plumb_run_note(run, i)->key);
        plumb_json_put_raw(json, plumb_run_note(run, i)->json);
    }
    plumb_json_close_object(json);
    put_string(json, "ended", plumb_ended_name(plumb_run_ended(run)));
    plumb_json_put_key(json, "ranks");
    plumb_json_open_array(json);
    for (size_t i = 0; i < plumb_run_rank_count(run); i++) {
        put_rank(json, plumb_run_rank(run, i));
        records += plumb_run_rank(run, i)->records;
    }
    plumb_json_close_array(json);
    const bool any = plumb_run_steps(run, &first, &last);
    put_steps(json, any, first, last);
    put_series(json, run);
    put_uint(json, "records", records);
    put_config(json, run);
    plumb_run_warnings_json(json, run);
    plumb_json_close_object(json);
    plumb_buffer_text(to, "\n");
}

void plumb_series_json(struct plumb_json_writer *json, const struct plumb_series *series)
{
    plumb_json_open_object(json);
    put_string(json, "name", series->name);
    plumb_json_put_key(json, "rank");
    plumb_json_put_int(json, series->rank);
    plumb_json_put_key(json, "steps");
    plumb_json_open_array(json);
    for (size_t i = 0; i < series->count; i++)
        plumb_json_put_int(json, series->steps[i]);
    plumb_json_close_array(json);
    plumb_json_put_key(json, "values");
    plumb_json_open_array(json);
    for (size_t i = 0; i < series->count; i++)
        plumb_json_put_double(json, series->values[i]);
    plumb_json_close_array(json);
    plumb_json_close_object(json);
}

/* Null if there is none; one that another tool made says what it is. */
static void put_fingerprint(struct plumb_json_writer *json,
                            const struct plumb_tensor_record *record)
{
    char fingerprint[17];
    const enum plumb_fingerprint_kind kind = record->fingerprint_kind;
    plumb_json_put_key(json, "fingerprint");
    if (kind == PLUMB_FINGERPRINT_NONE) {
        plumb_json_put_null(json);
        return;
    }
    (void)snprintf(fingerprint, sizeof fingerprint, "%016llx",
                   (unsigned long long)record->fingerprint);
    plumb_json_put_string(json, fingerprint);
    if (kind != PLUMB_FINGERPRINT_OWN)
        put_string(json, "fingerprint_kind", plumb_fingerprint_kind_name(kind));
}

/* What another tool said of the values: null is what it did not, a count only 0 or more. */
static void put_partial_stats(struct plumb_json_writer *json, const struct plumb_stats *stats)
{
    const struct {
        const char *key;
        uint64_t value;
    } some[] = {{"count", stats->count},
                {"nan", stats->nan},
                {"pos_inf", stats->pos_inf},
                {"neg_inf", stats->neg_inf},
                {"at_max", stats->at_max}};
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"min", stats->min}, {"max", stats->max}, {"mean", stats->mean}, {"l2", stats->l2}};
    plumb_json_put_key(json, "stats");
    plumb_json_open_object(json);
    plumb_json_put_key(json, "partial");
    plumb_json_put_bool(json, true);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        put_uint(json, some[i].key, some[i].value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        plumb_json_put_key(json, numbers[i].key);
        if (isnan(numbers[i].value))
            plumb_json_put_null(json);
        else
            plumb_json_put_double(json, numbers[i].value);
    }
    plumb_json_close_object(json);
}

void plumb_record_json_open(struct plumb_json_writer *json,
                            const struct plumb_tensor_record *record)
{
    plumb_json_open_object(json);
    plumb_json_put_key(json, "rank");
    plumb_json_put_int(json, record->rank);
    plumb_json_put_key(json, "step");
    plumb_json_put_int(json, record->step);
    put_string(json, "op", record->label);
    if (record->origin)
        put_string(json, "origin", record->origin);
    put_string(json, "phase", plumb_phase_name(record->phase));
    put_string(json, "slot", record->slot);
    plumb_json_put_key(json, "shape");
    plumb_json_open_array(json);
    for (int i = 0; i < record->dims; i++)
        plumb_json_put_int(json, record->shape[i]);
    plumb_json_close_array(json);
    put_string(json, "dtype", plumb_dtype_name(record->dtype));
    put_fingerprint(json, record);
    if (record->has_stats && record->partial_stats)
        put_partial_stats(json, &record->stats);
    else if (record->has_stats)
        plumb_stats_json(json, &record->stats);
    if (record->element >= 0) {
        plumb_json_put_key(json, "element");
        plumb_json_put_int(json, record->element);
    }
    plumb_json_put_key(json, "saved");
    plumb_json_put_bool(json, record->has_values);
    plumb_stack_json(json, record->stack);
}

void plumb_record_json(struct plumb_json_writer *json, const struct plumb_tensor_record *record)
{
    plumb_record_json_open(json, record);
    plumb_json_close_object(json);
}
