/*
 * run_export.c - everything in a run for other programs.
 *
 * Tables are streamed row by row into files that appear whole or not at all. The npz has the
 * columns of numbers only, in the order of the CSV's rows.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "report/csv_field.h"
#include "report/run_report.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

enum { ROW_LIMIT = 32 << 20, PATH_SIZE = 4096 };

/* One file being written; a row is put together in `row` and then passed on. */
struct table_file {
    struct plumb_output *output;
    struct plumb_buffer row;
    struct plumb_json_writer json;
    bool first; /* row of a JSON array */
    enum plumb_status status;
    struct plumb_error *err;
};

static bool flush_row(struct table_file *file)
{
    if (file->status == PLUMB_OK && plumb_buffer_failed(&file->row))
        file->status = plumb_fail_memory(file->err);
    if (file->status == PLUMB_OK)
        file->status = plumb_output_write(file->output, plumb_buffer_string(&file->row),
                                          file->row.size, file->err);
    plumb_buffer_clear(&file->row);
    return file->status == PLUMB_OK;
}

static enum plumb_status open_table(struct table_file *file, const char *path,
                                    struct plumb_error *err)
{
    *file = (struct table_file){.err = err, .first = true};
    plumb_buffer_init(&file->row, ROW_LIMIT);
    return plumb_output_open(path, &file->output, err);
}

static enum plumb_status close_table(struct table_file *file)
{
    if (file->status == PLUMB_OK && file->output)
        file->status = plumb_output_commit(file->output, file->err);
    plumb_output_close(file->output);
    plumb_buffer_release(&file->row);
    return file->status;
}

/* ---- CSV ---------------------------------------------------------------------------------------- */

static void put_number(struct plumb_buffer *row, double value)
{
    char text[PLUMB_NUMBER_TEXT];
    plumb_number_text(value, text);
    plumb_buffer_printf(row, ",%s", text);
}

static bool csv_record(void *context, const struct plumb_tensor_record *record)
{
    struct table_file *file = context;
    struct plumb_buffer *row = &file->row;
    const struct plumb_stats *stats = &record->stats;
    plumb_buffer_printf(row, "%d,%lld,", record->rank, (long long)record->step);
    plumb_csv_field(row, record->label);
    plumb_buffer_printf(row, ",%s,", plumb_phase_name(record->phase));
    plumb_csv_field(row, record->slot);
    plumb_buffer_printf(row, ",%s,", plumb_dtype_name(record->dtype));
    for (int i = 0; i < record->dims; i++)
        plumb_buffer_printf(row, i ? "x%lld" : "%lld", (long long)record->shape[i]);
    plumb_buffer_printf(row, ",%016llx,%lld", (unsigned long long)record->fingerprint,
                        (long long)record->element);
    const uint64_t counts[] = {stats->count, stats->nan,       stats->pos_inf, stats->neg_inf,
                               stats->zero,  stats->subnormal, stats->at_max};
    const double numbers[] = {stats->min, stats->max, stats->mean,
                              stats->std, stats->l2,  stats->abs_mean};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        plumb_buffer_printf(row, record->has_stats ? ",%llu" : ",",
                            (unsigned long long)counts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (record->has_stats)
            put_number(row, numbers[i]);
        else
            plumb_buffer_text(row, ",");
    plumb_buffer_text(row, "\n");
    return flush_row(file);
}

static bool csv_span(void *context, const struct plumb_span *span)
{
    struct table_file *file = context;
    plumb_buffer_printf(&file->row, "%d,%lld,", span->rank, (long long)span->step);
    plumb_csv_field(&file->row, span->track);
    plumb_buffer_text(&file->row, ",");
    plumb_csv_field(&file->row, span->name);
    plumb_buffer_printf(&file->row, ",%lld,%lld\n", (long long)span->begin_ns,
                        (long long)span->end_ns);
    return flush_row(file);
}

static bool csv_counter(void *context, const struct plumb_counter *counter)
{
    struct table_file *file = context;
    plumb_buffer_printf(&file->row, "%d,%lld,", counter->rank, (long long)counter->step);
    plumb_csv_field(&file->row, counter->name);
    plumb_buffer_printf(&file->row, ",%lld", (long long)counter->time_ns);
    put_number(&file->row, counter->value);
    plumb_buffer_text(&file->row, "\n");
    return flush_row(file);
}

static bool csv_collective(void *context, const struct plumb_rank_collective *row)
{
    struct table_file *file = context;
    const struct plumb_collective *collective = &row->collective;
    plumb_buffer_printf(&file->row, "%d,%lld,", row->rank, (long long)row->step);
    plumb_csv_field(&file->row, collective->group);
    plumb_buffer_text(&file->row, ",");
    plumb_csv_field(&file->row, collective->name);
    plumb_buffer_printf(&file->row, ",%lld,%llu,%lld,%lld\n", (long long)collective->sequence,
                        (unsigned long long)collective->bytes, (long long)collective->begin_ns,
                        (long long)collective->end_ns);
    return flush_row(file);
}

static void csv_series(struct plumb_run *run, struct table_file *file)
{
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        for (size_t k = 0; k < series->count; k++) {
            plumb_buffer_printf(&file->row, "%d,", series->rank);
            plumb_csv_field(&file->row, series->name);
            plumb_buffer_printf(&file->row, ",%lld", (long long)series->steps[k]);
            put_number(&file->row, series->values[k]);
            plumb_buffer_text(&file->row, "\n");
            if (!flush_row(file))
                return;
        }
    }
}

static void csv_config(struct plumb_run *run, struct table_file *file)
{
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *config = plumb_run_config(run, i);
        plumb_buffer_printf(&file->row, "%d,", config->rank);
        plumb_csv_field(&file->row, config->key);
        plumb_buffer_text(&file->row, ",");
        plumb_csv_field(&file->row, config->json);
        plumb_buffer_text(&file->row, "\n");
        if (!flush_row(file))
            return;
    }
}

enum table { SERIES, CONFIG, TENSORS, SPANS, COUNTERS, COLLECTIVES, TABLES };

static const struct {
    const char *name, *titles;
} tables[TABLES] = {
    [SERIES] = {"series", "rank,name,step,value\n"},
    [CONFIG] = {"config", "rank,key,value\n"},
    [TENSORS] = {"tensors",
                 "rank,step,op,phase,slot,dtype,shape,fingerprint,element,count,nan,pos_inf,"
                 "neg_inf,zero,subnormal,at_max,min,max,mean,std,l2,abs_mean\n"},
    [SPANS] = {"spans", "rank,step,track,name,begin_ns,end_ns\n"},
    [COUNTERS] = {"counters", "rank,step,name,time_ns,value\n"},
    [COLLECTIVES] = {"collectives", "rank,step,group,name,sequence,bytes,begin_ns,end_ns\n"},
};

static enum plumb_status fill_csv(struct plumb_run *run, enum table table,
                                  struct table_file *file, struct plumb_error *err)
{
    switch (table) {
    case SERIES:
        csv_series(run, file);
        return file->status;
    case CONFIG:
        csv_config(run, file);
        return file->status;
    case TENSORS:
        return plumb_run_visit_records(run, NULL, csv_record, file, err);
    case SPANS:
        return plumb_run_visit_spans(run, NULL, csv_span, file, err);
    case COUNTERS:
        return plumb_run_visit_counters(run, NULL, csv_counter, file, err);
    case COLLECTIVES:
        return plumb_run_visit_collectives(run, NULL, csv_collective, file, err);
    case TABLES:
        break;
    }
    return PLUMB_OK;
}

static enum plumb_status export_csv(struct plumb_run *run, const char *directory,
                                    struct plumb_error *err)
{
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return plumb_fail_errno(err, "make the directory", directory);
    enum plumb_status status = PLUMB_OK;
    for (int i = 0; i < TABLES && status == PLUMB_OK; i++) {
        struct table_file file;
        char path[PATH_SIZE];
        if (snprintf(path, sizeof path, "%s/%s.csv", directory, tables[i].name) >=
            (int)sizeof path)
            return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", directory);
        status = open_table(&file, path, err);
        plumb_buffer_text(&file.row, tables[i].titles);
        if (status == PLUMB_OK && flush_row(&file))
            status = fill_csv(run, (enum table)i, &file, err);
        file.status = status ? status : file.status;
        status = close_table(&file);
    }
    return status;
}

/* ---- JSON --------------------------------------------------------------------------------------- */

static void begin_element(struct table_file *file)
{
    plumb_buffer_text(&file->row, file->first ? "\n" : ",\n");
    file->first = false;
    file->json = plumb_json_writer_of(&file->row);
}

static bool json_record(void *context, const struct plumb_tensor_record *record)
{
    struct table_file *file = context;
    begin_element(file);
    plumb_record_json(&file->json, record);
    return flush_row(file);
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
    struct table_file *file = context;
    begin_element(file);
    put_place(&file->json, span->rank, span->step, "track", span->track);
    plumb_json_put_key(&file->json, "name");
    plumb_json_put_string(&file->json, span->name);
    put_int(&file->json, "begin_ns", span->begin_ns);
    put_int(&file->json, "end_ns", span->end_ns);
    plumb_json_close_object(&file->json);
    return flush_row(file);
}

static bool json_counter(void *context, const struct plumb_counter *counter)
{
    struct table_file *file = context;
    begin_element(file);
    put_place(&file->json, counter->rank, counter->step, "name", counter->name);
    put_int(&file->json, "time_ns", counter->time_ns);
    plumb_json_put_key(&file->json, "value");
    plumb_json_put_double(&file->json, counter->value);
    plumb_json_close_object(&file->json);
    return flush_row(file);
}

static bool json_collective(void *context, const struct plumb_rank_collective *row)
{
    struct table_file *file = context;
    const struct plumb_collective *collective = &row->collective;
    begin_element(file);
    put_place(&file->json, row->rank, row->step, "group", collective->group);
    plumb_json_put_key(&file->json, "name");
    plumb_json_put_string(&file->json, collective->name);
    put_int(&file->json, "sequence", collective->sequence);
    put_int(&file->json, "bytes", (int64_t)collective->bytes);
    put_int(&file->json, "begin_ns", collective->begin_ns);
    put_int(&file->json, "end_ns", collective->end_ns);
    plumb_json_close_object(&file->json);
    return flush_row(file);
}

static bool begin_array(struct table_file *file, const char *key)
{
    plumb_buffer_printf(&file->row, ",\n\"%s\":[", key);
    file->first = true;
    return flush_row(file);
}

static void json_series(struct plumb_run *run, struct table_file *file)
{
    for (size_t i = 0; i < plumb_run_series_count(run) && file->status == PLUMB_OK; i++) {
        begin_element(file);
        plumb_series_json(&file->json, plumb_run_series(run, i));
        (void)flush_row(file);
    }
}

static enum plumb_status fill_json(struct plumb_run *run, struct table_file *file,
                                   struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    plumb_buffer_text(&file->row, "{\"run\":");
    plumb_run_json(run, &file->row);
    (void)flush_row(file);
    if (begin_array(file, "series"))
        json_series(run, file);
    plumb_buffer_text(&file->row, "]");
    if (begin_array(file, "records"))
        status = plumb_run_visit_records(run, NULL, json_record, file, err);
    plumb_buffer_text(&file->row, "]");
    if (!status && begin_array(file, "spans"))
        status = plumb_run_visit_spans(run, NULL, json_span, file, err);
    plumb_buffer_text(&file->row, "]");
    if (!status && begin_array(file, "counters"))
        status = plumb_run_visit_counters(run, NULL, json_counter, file, err);
    plumb_buffer_text(&file->row, "]");
    if (!status && begin_array(file, "collectives"))
        status = plumb_run_visit_collectives(run, NULL, json_collective, file, err);
    plumb_buffer_text(&file->row, "]}\n");
    (void)flush_row(file);
    return status ? status : file->status;
}

static enum plumb_status export_json(struct plumb_run *run, const char *path,
                                     struct plumb_error *err)
{
    struct table_file file;
    enum plumb_status status = open_table(&file, path, err);
    if (status == PLUMB_OK)
        status = fill_json(run, &file, err);
    file.status = status ? status : file.status;
    return close_table(&file);
}

enum plumb_status plumb_export_run(struct plumb_run *run, enum plumb_export form,
                                   const char *out_path, struct plumb_error *err)
{
    switch (form) {
    case PLUMB_EXPORT_CSV:
        return export_csv(run, out_path, err);
    case PLUMB_EXPORT_JSON:
        return export_json(run, out_path, err);
    case PLUMB_EXPORT_NPZ:
        return plumb_export_npz(run, out_path, err);
    }
    return plumb_fail(err, PLUMB_INVALID, -1, "%s: no such form of export", out_path);
}
