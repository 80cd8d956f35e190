/* run_diff_csv.c - roots, settings and series that differ as one table for spreadsheets (RFC 4180). */
#include "report/run_diff_report.h"

#include "report/csv_field.h"

static void put_root(struct plumb_buffer *to, const struct plumb_run_root *root)
{
    plumb_buffer_printf(to, "root,%s,%d,%lld,", plumb_stage_name(root->stage), root->rank,
                        (long long)root->step);
    plumb_csv_field(to, root->op);
    plumb_buffer_text(to, ",");
    plumb_csv_field(to, root->slot);
    plumb_buffer_printf(to, ",%s,%s,,,%.9g,%.9g,%.9g,", plumb_verdict_name(root->verdict),
                        plumb_basis_name(root->basis), root->error, root->before,
                        root->allowed);
    plumb_csv_field(to, root->reason);
    plumb_buffer_text(to, "\r\n");
}

static void put_setting(struct plumb_buffer *to, const struct plumb_setting_diff *setting)
{
    plumb_buffer_printf(to, "setting,%s,%d,,", plumb_stage_name(setting->acts), setting->rank);
    plumb_csv_field(to, setting->name);
    plumb_buffer_printf(to, ",,%s,setting,", setting->numeric ? "different" : "");
    plumb_csv_field(to, setting->a ? setting->a : "");
    plumb_buffer_text(to, ",");
    plumb_csv_field(to, setting->b ? setting->b : "");
    plumb_buffer_text(to, ",,,,\r\n");
}

static void put_series(struct plumb_buffer *to, const struct plumb_series_diff *series)
{
    plumb_buffer_printf(to, "series,,%d,", series->rank);
    if (series->differs)
        plumb_buffer_printf(to, "%lld", (long long)series->step);
    plumb_buffer_text(to, ",");
    plumb_csv_field(to, series->name);
    plumb_buffer_text(to, ",series,,series,");
    if (series->differs)
        plumb_buffer_printf(to, "%.17g,%.17g", series->a, series->b);
    else
        plumb_buffer_text(to, ",");
    plumb_buffer_printf(to, ",%.9g,,%.9g,", series->worst, series->band);
    plumb_csv_field(to, plumb_series_class_name(series->series_class));
    plumb_buffer_text(to, "\r\n");
}

void plumb_run_diff_csv(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    plumb_buffer_text(
        to, "kind,phase,rank,step,name,slot,verdict,basis,a,b,error,before,allowed,reason\r\n");
    for (size_t i = 0; i < diff->root_count; i++)
        put_root(to, &diff->roots[i]);
    for (size_t i = 0; i < diff->config.count; i++)
        put_setting(to, &diff->config.settings[i]);
    for (size_t i = 0; i < diff->series.count; i++)
        put_series(to, &diff->series.items[i]);
}
