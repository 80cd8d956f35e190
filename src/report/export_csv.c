/* export_csv.c - a run as CSV: a directory with one file a table, each whole or not there. */
#include "base/error.h"
#include "base/number.h"
#include "report/csv_field.h"
#include "report/export_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096 };

static void put_number(struct plumb_buffer *row, double value)
{
    char text[PLUMB_NUMBER_TEXT];
    plumb_number_text(value, text);
    plumb_buffer_printf(row, ",%s", text);
}

/* Empty where there are no statistics, or where another tool's do not say. */
static void put_stats(struct plumb_buffer *row, const struct plumb_tensor_record *record)
{
    const struct plumb_stats *stats = &record->stats;
    const bool all = record->has_stats && !record->partial_stats;
    const struct {
        uint64_t value;
        bool known;
    } counts[] = {{stats->count, record->has_stats},
                  {stats->nan, record->has_stats},
                  {stats->pos_inf, record->has_stats},
                  {stats->neg_inf, record->has_stats},
                  {stats->zero, all},
                  {stats->subnormal, all},
                  {stats->at_max, record->has_stats}};
    const double numbers[] = {stats->min, stats->max, stats->mean,
                              stats->std, stats->l2,  stats->abs_mean};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        plumb_buffer_printf(row, counts[i].known ? ",%llu" : ",",
                            (unsigned long long)counts[i].value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (all || (record->has_stats && !isnan(numbers[i])))
            put_number(row, numbers[i]);
        else
            plumb_buffer_text(row, ",");
}

static bool csv_record(void *context, const struct plumb_tensor_record *record)
{
    struct plumb_export_file *file = context;
    struct plumb_buffer *row = &file->row;
    plumb_buffer_printf(row, "%d,%lld,", record->rank, (long long)record->step);
    plumb_csv_field(row, record->label);
    plumb_buffer_printf(row, ",%s,", plumb_phase_name(record->phase));
    plumb_csv_field(row, record->slot);
    plumb_buffer_printf(row, ",%s,", plumb_dtype_name(record->dtype));
    for (int i = 0; i < record->dims; i++)
        plumb_buffer_printf(row, i ? "x%lld" : "%lld", (long long)record->shape[i]);
    if (record->fingerprint_kind == PLUMB_FINGERPRINT_NONE)
        plumb_buffer_text(row, ",");
    else
        plumb_buffer_printf(row, ",%016llx", (unsigned long long)record->fingerprint);
    plumb_buffer_printf(row, ",%lld", (long long)record->element);
    put_stats(row, record);
    plumb_buffer_printf(row, ",%s,%d,", plumb_fingerprint_kind_name(record->fingerprint_kind),
                        record->partial_stats);
    plumb_csv_field(row, record->origin ? record->origin : "");
    plumb_buffer_text(row, "\n");
    return plumb_export_file_row(file);
}

static bool csv_span(void *context, const struct plumb_span *span)
{
    struct plumb_export_file *file = context;
    plumb_buffer_printf(&file->row, "%d,%lld,", span->rank, (long long)span->step);
    plumb_csv_field(&file->row, span->track);
    plumb_buffer_text(&file->row, ",");
    plumb_csv_field(&file->row, span->name);
    plumb_buffer_printf(&file->row, ",%lld,%lld\n", (long long)span->begin_ns,
                        (long long)span->end_ns);
    return plumb_export_file_row(file);
}

static bool csv_counter(void *context, const struct plumb_counter *counter)
{
    struct plumb_export_file *file = context;
    plumb_buffer_printf(&file->row, "%d,%lld,", counter->rank, (long long)counter->step);
    plumb_csv_field(&file->row, counter->name);
    plumb_buffer_printf(&file->row, ",%lld", (long long)counter->time_ns);
    put_number(&file->row, counter->value);
    plumb_buffer_text(&file->row, "\n");
    return plumb_export_file_row(file);
}

static bool csv_collective(void *context, const struct plumb_rank_collective *row)
{
    struct plumb_export_file *file = context;
    const struct plumb_collective *collective = &row->collective;
    plumb_buffer_printf(&file->row, "%d,%lld,", row->rank, (long long)row->step);
    plumb_csv_field(&file->row, collective->group);
    plumb_buffer_text(&file->row, ",");
    plumb_csv_field(&file->row, collective->name);
    plumb_buffer_printf(&file->row, ",%lld,%llu,%lld,%lld\n", (long long)collective->sequence,
                        (unsigned long long)collective->bytes, (long long)collective->begin_ns,
                        (long long)collective->end_ns);
    return plumb_export_file_row(file);
}

static bool csv_step(void *context, const struct plumb_run_step *step)
{
    struct plumb_export_file *file = context;
    plumb_buffer_printf(&file->row, "%d,%lld,%lld,%lld\n", step->rank, (long long)step->step,
                        (long long)step->begin_ns, (long long)step->end_ns);
    return plumb_export_file_row(file);
}

static bool csv_point(struct plumb_export_file *file, const struct plumb_series *series,
                      size_t i)
{
    plumb_buffer_printf(&file->row, "%d,", series->rank);
    plumb_csv_field(&file->row, series->name);
    plumb_buffer_printf(&file->row, ",%lld", (long long)series->steps[i]);
    put_number(&file->row, series->values[i]);
    plumb_buffer_text(&file->row, "\n");
    return plumb_export_file_row(file);
}

static bool csv_config(struct plumb_export_file *file, const struct plumb_run_config *config)
{
    plumb_buffer_printf(&file->row, "%d,", config->rank);
    plumb_csv_field(&file->row, config->key);
    plumb_buffer_text(&file->row, ",");
    plumb_csv_field(&file->row, config->json);
    plumb_buffer_text(&file->row, "\n");
    return plumb_export_file_row(file);
}

/* ---- one file a table ---------------------------------------------------------------------------- */

static enum plumb_status fill_series(struct plumb_run *run, struct plumb_export_file *file)
{
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        for (size_t k = 0; k < series->count && csv_point(file, series, k); k++)
            continue;
    }
    return file->status;
}

static enum plumb_status fill_config(struct plumb_run *run, struct plumb_export_file *file)
{
    for (size_t i = 0; i < plumb_run_config_count(run); i++)
        if (!csv_config(file, plumb_run_config(run, i)))
            break;
    return file->status;
}

static enum plumb_status fill_steps(struct plumb_run *run, struct plumb_export_file *file)
{
    return plumb_run_visit_steps(run, NULL, csv_step, file, file->err);
}

static enum plumb_status fill_tensors(struct plumb_run *run, struct plumb_export_file *file)
{
    return plumb_run_visit_records(run, NULL, csv_record, file, file->err);
}

static enum plumb_status fill_spans(struct plumb_run *run, struct plumb_export_file *file)
{
    return plumb_run_visit_spans(run, NULL, csv_span, file, file->err);
}

static enum plumb_status fill_counters(struct plumb_run *run, struct plumb_export_file *file)
{
    return plumb_run_visit_counters(run, NULL, csv_counter, file, file->err);
}

static enum plumb_status fill_collectives(struct plumb_run *run, struct plumb_export_file *file)
{
    return plumb_run_visit_collectives(run, NULL, csv_collective, file, file->err);
}

static const struct table {
    const char *name, *titles;
    enum plumb_status (*fill)(struct plumb_run *run, struct plumb_export_file *file);
} tables[] = {
    {"series", "rank,name,step,value\n", fill_series},
    {"config", "rank,key,value\n", fill_config},
    {"steps", "rank,step,begin_ns,end_ns\n", fill_steps},
    {"tensors",
     "rank,step,op,phase,slot,dtype,shape,fingerprint,element,count,nan,pos_inf,neg_inf,zero,"
     "subnormal,at_max,min,max,mean,std,l2,abs_mean,fingerprint_kind,partial,origin\n",
     fill_tensors},
    {"spans", "rank,step,track,name,begin_ns,end_ns\n", fill_spans},
    {"counters", "rank,step,name,time_ns,value\n", fill_counters},
    {"collectives", "rank,step,group,name,sequence,bytes,begin_ns,end_ns\n", fill_collectives},
};

static enum plumb_status export_table(struct plumb_run *run, const struct table *table,
                                      const char *directory, struct plumb_error *err)
{
    struct plumb_export_file file;
    char path[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s/%s.csv", directory, table->name) >= (int)sizeof path)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", directory);
    enum plumb_status status = plumb_export_file_open(&file, path, err);
    plumb_buffer_text(&file.row, table->titles);
    if (status == PLUMB_OK && plumb_export_file_row(&file))
        status = table->fill(run, &file);
    return plumb_export_file_close(&file, status);
}

enum plumb_status plumb_export_csv(struct plumb_run *run, const char *directory,
                                   struct plumb_error *err)
{
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return plumb_fail_errno(err, "make the directory", directory);
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && status == PLUMB_OK; i++)
        status = export_table(run, &tables[i], directory, err);
    return status;
}
