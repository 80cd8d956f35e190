/* diff_csv.c - all pairs and metrics as a table for spreadsheets (RFC 4180). */
#include "report/csv_field.h"
#include "report/diff_report.h"

#include <string.h>

static void put_shape(struct plumb_buffer *to, const struct plumb_tensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++)
        plumb_buffer_printf(to, i ? "x%lld" : "%lld", (long long)tensor->shape[i]);
}

static void put_pair(struct plumb_buffer *to, const struct plumb_pair *pair,
                     const struct plumb_diff_report_options *options)
{
    plumb_csv_field(to, pair->a->name);
    plumb_buffer_text(to, ",");
    plumb_csv_field(to, pair->b->name);
    plumb_buffer_text(to, ",");
    put_shape(to, pair->a);
    plumb_buffer_printf(to, ",%s,%s,%s,%s,%s", plumb_dtype_name(pair->a->dtype),
                        plumb_dtype_name(pair->b->dtype), plumb_match_name(pair->matched_by),
                        plumb_verdict_name(pair->judgement.verdict),
                        plumb_pattern_name(pair->judgement.pattern));
    const char *metric;
    for (size_t i = 0; (metric = plumb_diff_metric(options, i)); i++) {
        double value = 0;
        plumb_buffer_text(to, ",");
        if (!pair->shape_differs && plumb_metric_value(metric, &pair->comparison, &value))
            plumb_buffer_printf(to, "%.17g", value);
    }
    plumb_buffer_text(to, ",");
    plumb_csv_field(to, pair->judgement.reason);
    plumb_buffer_text(to, "\r\n");
}

void plumb_diff_csv(const struct plumb_diff *diff,
                    const struct plumb_diff_report_options *options, struct plumb_buffer *to)
{
    const char *metric;
    plumb_buffer_text(to, "a,b,shape,dtype_a,dtype_b,matched_by,verdict,pattern");
    for (size_t i = 0; (metric = plumb_diff_metric(options, i)); i++)
        plumb_buffer_printf(to, ",%s", metric);
    plumb_buffer_text(to, ",reason\r\n");
    for (size_t i = 0; i < diff->pair_count; i++)
        put_pair(to, &diff->pairs[i], options);
}
