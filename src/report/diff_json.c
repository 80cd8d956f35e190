/* diff_json.c - a comparison of two files as JSON; the keys are a promise (DESIGN, section 6). */
#include "report/diff_report.h"

#include "base/json_write.h"
#include "report/finding_json.h"

static void put_string(struct plumb_json_writer *json, const char *key, const char *text)
{
    plumb_json_put_key(json, key);
    plumb_json_put_string(json, text);
}

static void put_shape(struct plumb_json_writer *json, const char *key,
                      const struct plumb_tensor *tensor)
{
    plumb_json_put_key(json, key);
    plumb_json_open_array(json);
    for (int i = 0; i < tensor->rank; i++)
        plumb_json_put_int(json, tensor->shape[i]);
    plumb_json_close_array(json);
}

static void put_metrics(struct plumb_json_writer *json, const struct plumb_pair *pair,
                        const struct plumb_diff_report_options *options)
{
    const char *metric;
    plumb_json_put_key(json, "metrics");
    plumb_json_open_object(json);
    for (size_t i = 0; !pair->shape_differs && (metric = plumb_diff_metric(options, i)); i++) {
        double value = 0;
        if (!plumb_metric_value(metric, &pair->comparison, &value))
            continue;
        plumb_json_put_key(json, metric);
        plumb_json_put_double(json, value);
    }
    plumb_json_close_object(json);
}

static void put_pair(struct plumb_json_writer *json, const struct plumb_pair *pair,
                     const struct plumb_diff_report_options *options)
{
    plumb_json_new_line(json);
    plumb_json_open_object(json);
    put_string(json, "a", pair->a->name);
    put_string(json, "b", pair->b->name);
    put_shape(json, "shape", pair->a);
    if (pair->shape_differs || pair->reshaped ||
        pair->judgement.pattern == PLUMB_PATTERN_TRANSPOSED)
        put_shape(json, "shape_b", pair->b);
    put_string(json, "dtype_a", plumb_dtype_name(pair->a->dtype));
    put_string(json, "dtype_b", plumb_dtype_name(pair->b->dtype));
    put_string(json, "matched_by", plumb_match_name(pair->matched_by));
    put_string(json, "verdict", plumb_verdict_name(pair->judgement.verdict));
    put_string(json, "pattern", plumb_pattern_name(pair->judgement.pattern));
    put_string(json, "reason", pair->judgement.reason);
    put_metrics(json, pair, options);
    plumb_json_close_object(json);
}

static void put_names(struct plumb_json_writer *json, const char *key,
                      const struct plumb_tensor *const *tensors, size_t count)
{
    plumb_json_put_key(json, key);
    plumb_json_open_array(json);
    for (size_t i = 0; i < count; i++)
        plumb_json_put_string(json, tensors[i]->name);
    plumb_json_close_array(json);
}

static void put_ties(struct plumb_json_writer *json, const struct plumb_diff *diff)
{
    plumb_json_put_key(json, "tied_on_one_side");
    plumb_json_open_array(json);
    for (size_t i = 0; i < diff->tie_count; i++) {
        plumb_json_open_object(json);
        put_string(json, "side", diff->ties[i].in_a ? "a" : "b");
        put_string(json, "first", diff->ties[i].first);
        put_string(json, "second", diff->ties[i].second);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
}

static void put_warnings(struct plumb_json_writer *json, const struct plumb_diff *diff)
{
    const struct plumb_file *const files[] = {diff->a, diff->b};
    plumb_json_put_key(json, "warnings");
    plumb_json_open_array(json);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < files[side]->warning_count; i++)
            plumb_json_put_string(json, files[side]->warnings[i]);
    plumb_json_close_array(json);
}

void plumb_diff_json(const struct plumb_diff *diff,
                     const struct plumb_diff_report_options *options, struct plumb_buffer *to)
{
    struct plumb_json_writer writer = plumb_json_writer_of(to), *json = &writer;
    plumb_json_open_object(json);
    put_string(json, "verdict", plumb_verdict_name(diff->verdict));
    put_string(json, "summary", diff->summary);
    put_string(json, "path_a", diff->a->path);
    put_string(json, "path_b", diff->b->path);
    plumb_json_put_key(json, "pairs");
    plumb_json_open_array(json);
    for (size_t i = 0; i < diff->pair_count; i++)
        put_pair(json, &diff->pairs[i], options);
    plumb_json_close_array(json);
    put_names(json, "only_a", diff->only_a, diff->only_a_count);
    put_names(json, "only_b", diff->only_b, diff->only_b_count);
    put_names(json, "ignored", diff->ignored, diff->ignored_count);
    put_ties(json, diff);
    plumb_findings_json(json, diff->findings, diff->finding_count);
    put_warnings(json, diff);
    plumb_json_close_object(json);
    plumb_buffer_text(to, "\n");
}
