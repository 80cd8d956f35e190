/* export_json.c - a run as one JSON object, streamed: what `plumb show --json` says, then every row. */
#include "report/export_file.h"
#include "report/run_report.h"

/* A row is put together in `file.row`; the first one of an array has no comma before it. */
struct json_file {
    struct plumb_export_file file;
    struct plumb_json_writer json;
    bool first;
};

static struct plumb_json_writer *begin_element(struct json_file *to)
{
    plumb_buffer_text(&to->file.row, to->first ? "\n" : ",\n");
    to->first = false;
    to->json = plumb_json_writer_of(&to->file.row);
    return &to->json;
}

static bool json_record(void *context, const struct plumb_tensor_record *record)
{
    struct json_file *to = context;
    struct plumb_json_writer *json = begin_element(to);
    plumb_record_json(json, record);
    return plumb_export_file_row(&to->file);
}

static void put_place(struct plumb_json_writer *json, int rank, int64_t step, const char *key,
                      const char *text)
{
    plumb_json_open_object(json);
    plumb_json_put_key(json, "rank");
    plumb_json_put_int(json, rank);
    plumb_json_put_key(json, "step");
    plumb_json_put_int(json, step);
    plumb_json_put_key(json, key);
    plumb_json_put_string(json, text);
}

static void put_int(struct plumb_json_writer *json, const char *key, int64_t value)
{
    plumb_json_put_key(json, key);
    plumb_json_put_int(json, value);
}

static bool json_span(void *context, const struct plumb_span *span)
{
    struct json_file *to = context;
    struct plumb_json_writer *json = begin_element(to);
    put_place(json, span->rank, span->step, "track", span->track);
    plumb_json_put_key(json, "name");
    plumb_json_put_string(json, span->name);
    put_int(json, "begin_ns", span->begin_ns);
    put_int(json, "end_ns", span->end_ns);
    plumb_json_close_object(json);
    return plumb_export_file_row(&to->file);
}

static bool json_counter(void *context, const struct plumb_counter *counter)
{
    struct json_file *to = context;
    struct plumb_json_writer *json = begin_element(to);
    put_place(json, counter->rank, counter->step, "name", counter->name);
    put_int(json, "time_ns", counter->time_ns);
    plumb_json_put_key(json, "value");
    plumb_json_put_double(json, counter->value);
    plumb_json_close_object(json);
    return plumb_export_file_row(&to->file);
}

static bool json_collective(void *context, const struct plumb_rank_collective *row)
{
    struct json_file *to = context;
    const struct plumb_collective *collective = &row->collective;
    struct plumb_json_writer *json = begin_element(to);
    put_place(json, row->rank, row->step, "group", collective->group);
    plumb_json_put_key(json, "name");
    plumb_json_put_string(json, collective->name);
    put_int(json, "sequence", collective->sequence);
    put_int(json, "bytes", (int64_t)collective->bytes);
    put_int(json, "begin_ns", collective->begin_ns);
    put_int(json, "end_ns", collective->end_ns);
    plumb_json_close_object(json);
    return plumb_export_file_row(&to->file);
}

static bool json_step(void *context, const struct plumb_run_step *step)
{
    struct json_file *to = context;
    struct plumb_json_writer *json = begin_element(to);
    plumb_json_open_object(json);
    put_int(json, "rank", step->rank);
    put_int(json, "step", step->step);
    put_int(json, "begin_ns", step->begin_ns);
    put_int(json, "end_ns", step->end_ns);
    plumb_json_close_object(json);
    return plumb_export_file_row(&to->file);
}

/* ---- one array a table --------------------------------------------------------------------------- */

static enum plumb_status fill_series(struct plumb_run *run, struct json_file *to)
{
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        plumb_series_json(begin_element(to), plumb_run_series(run, i));
        if (!plumb_export_file_row(&to->file))
            break;
    }
    return to->file.status;
}

static enum plumb_status fill_steps(struct plumb_run *run, struct json_file *to)
{
    return plumb_run_visit_steps(run, NULL, json_step, to, to->file.err);
}

static enum plumb_status fill_records(struct plumb_run *run, struct json_file *to)
{
    return plumb_run_visit_records(run, NULL, json_record, to, to->file.err);
}

static enum plumb_status fill_spans(struct plumb_run *run, struct json_file *to)
{
    return plumb_run_visit_spans(run, NULL, json_span, to, to->file.err);
}

static enum plumb_status fill_counters(struct plumb_run *run, struct json_file *to)
{
    return plumb_run_visit_counters(run, NULL, json_counter, to, to->file.err);
}

static enum plumb_status fill_collectives(struct plumb_run *run, struct json_file *to)
{
    return plumb_run_visit_collectives(run, NULL, json_collective, to, to->file.err);
}

static const struct {
    const char *key;
    enum plumb_status (*fill)(struct plumb_run *run, struct json_file *to);
} arrays[] = {
    {"series", fill_series}, {"steps", fill_steps},       {"records", fill_records},
    {"spans", fill_spans},   {"counters", fill_counters}, {"collectives", fill_collectives},
};

static enum plumb_status fill_json(struct plumb_run *run, struct json_file *to)
{
    struct plumb_buffer *row = &to->file.row;
    enum plumb_status status = PLUMB_OK;
    plumb_buffer_text(row, "{\"run\":");
    plumb_run_json(run, row);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && status == PLUMB_OK; i++) {
        plumb_buffer_printf(row, ",\n\"%s\":[", arrays[i].key);
        to->first = true;
        if (!plumb_export_file_row(&to->file))
            return to->file.status;
        status = arrays[i].fill(run, to);
        plumb_buffer_text(row, "]");
    }
    plumb_buffer_text(row, "}\n");
    (void)plumb_export_file_row(&to->file);
    return status;
}

enum plumb_status plumb_export_json(struct plumb_run *run, const char *path,
                                    struct plumb_error *err)
{
    struct json_file to = {.first = true};
    enum plumb_status status = plumb_export_file_open(&to.file, path, err);
    if (status == PLUMB_OK)
        status = fill_json(run, &to);
    return plumb_export_file_close(&to.file, status);
}
