/* run_diff_json.c - a comparison of two runs for programs; the keys are a promise (DESIGN, section 6). */
#include "report/run_diff_report.h"

#include "report/called_at.h"
#include "report/finding_json.h"

static void put_string(struct plumb_json_writer *json, const char *key, const char *text)
{
    plumb_json_put_key(json, key);
    plumb_json_put_string(json, text);
}

static void put_int(struct plumb_json_writer *json, const char *key, int64_t value)
{
    plumb_json_put_key(json, key);
    plumb_json_put_int(json, value);
}

static void put_double(struct plumb_json_writer *json, const char *key, double value)
{
    plumb_json_put_key(json, key);
    plumb_json_put_double(json, value);
}

/* `stack` may be NULL. */
static void put_root(struct plumb_json_writer *json, const struct plumb_run_root *root,
                     const char *stack)
{
    plumb_json_open_object(json);
    put_string(json, "phase", plumb_stage_name(root->stage));
    put_int(json, "rank", root->rank);
    put_int(json, "step", root->step);
    put_string(json, "op", root->op);
    put_string(json, "slot", root->slot);
    put_string(json, "verdict", plumb_verdict_name(root->verdict));
    put_string(json, "basis", plumb_basis_name(root->basis));
    put_double(json, "error", root->error);
    put_double(json, "error_in", root->before);
    put_double(json, "allowed", root->allowed);
    put_int(json, "similar", (int64_t)root->similar);
    put_string(json, "reason", root->reason);
    plumb_stack_json(json, stack);
    plumb_json_close_object(json);
}

static void put_roots(struct plumb_json_writer *json, const struct plumb_run_diff *diff)
{
    plumb_json_put_key(json, "first");
    if (diff->root_count)
        put_root(json, &diff->roots[0], plumb_root_stack(diff, &diff->roots[0]));
    else
        plumb_json_put_null(json);
    plumb_json_put_key(json, "phases");
    plumb_json_open_array(json);
    for (int i = 0; i < PLUMB_STAGE_COUNT; i++) {
        const struct plumb_run_stage *stage = &diff->stages[i];
        plumb_json_new_line(json);
        plumb_json_open_object(json);
        put_string(json, "phase", plumb_stage_name((enum plumb_stage)i));
        put_string(json, "verdict", stage->known ? plumb_verdict_name(stage->verdict) : NULL);
        put_string(json, "detail", stage->detail);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
    plumb_json_put_key(json, "roots");
    plumb_json_open_array(json);
    for (size_t i = 0; i < diff->root_count; i++) {
        plumb_json_new_line(json);
        put_root(json, &diff->roots[i], NULL);
    }
    plumb_json_close_array(json);
    plumb_json_put_key(json, "victims");
    plumb_json_put_uint(json, diff->victims);
}

static void put_settings(struct plumb_json_writer *json, const struct plumb_run_diff *diff)
{
    plumb_json_put_key(json, "settings");
    plumb_json_open_array(json);
    for (size_t i = 0; i < diff->config.count; i++) {
        const struct plumb_setting_diff *setting = &diff->config.settings[i];
        plumb_json_new_line(json);
        plumb_json_open_object(json);
        put_string(json, "name", setting->name);
        put_int(json, "rank", setting->rank);
        put_string(json, "key_a", setting->key_a);
        put_string(json, "key_b", setting->key_b);
        plumb_json_put_key(json, "a");
        plumb_json_put_raw(json, setting->a ? setting->a : "null");
        plumb_json_put_key(json, "b");
        plumb_json_put_raw(json, setting->b ? setting->b : "null");
        put_string(json, "acts_on", plumb_stage_name(setting->acts));
        plumb_json_put_key(json, "matters");
        plumb_json_put_bool(json, setting->numeric);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
}

static void put_series(struct plumb_json_writer *json, const struct plumb_run_diff *diff)
{
    plumb_json_put_key(json, "series");
    plumb_json_open_array(json);
    for (size_t i = 0; i < diff->series.count; i++) {
        const struct plumb_series_diff *series = &diff->series.items[i];
        plumb_json_new_line(json);
        plumb_json_open_object(json);
        put_string(json, "name", series->name);
        put_int(json, "rank", series->rank);
        put_string(json, "class", plumb_series_class_name(series->series_class));
        put_int(json, "steps", (int64_t)series->common);
        plumb_json_put_key(json, "first_unequal");
        if (series->differs)
            plumb_json_put_int(json, series->step);
        else
            plumb_json_put_null(json);
        plumb_json_put_key(json, "leaves_band");
        if (series->leaves)
            plumb_json_put_int(json, series->leaves_step);
        else
            plumb_json_put_null(json);
        put_double(json, "worst", series->worst);
        put_double(json, "band", series->band);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
}

static void put_only(struct plumb_json_writer *json, const struct plumb_run_diff *diff,
                     const char *key, bool in_a)
{
    plumb_json_put_key(json, key);
    plumb_json_open_array(json);
    for (size_t i = 0; i < diff->only_count; i++)
        if (diff->only[i].in_a == in_a)
            plumb_json_put_string(json, diff->only[i].op);
    plumb_json_close_array(json);
}

static void put_range(struct plumb_json_writer *json, const char *key,
                      const struct plumb_step_range *range)
{
    plumb_json_put_key(json, key);
    plumb_json_open_array(json);
    if (range->first <= range->last) {
        plumb_json_put_int(json, range->first);
        plumb_json_put_int(json, range->last);
    }
    plumb_json_close_array(json);
}

static void put_unread(struct plumb_json_writer *json, const struct plumb_unread_list *unread)
{
    plumb_json_put_key(json, "complete");
    plumb_json_put_bool(json, unread->total == 0);
    plumb_json_put_key(json, "unread");
    plumb_json_open_array(json);
    for (size_t i = 0; i < unread->count; i++) {
        const struct plumb_unread *item = &unread->items[i];
        plumb_json_open_object(json);
        put_string(json, "side", item->in_a ? "a" : "b");
        put_int(json, "rank", item->rank);
        plumb_json_put_key(json, "first_step");
        if (item->first_step <= item->last_step)
            plumb_json_put_int(json, item->first_step);
        else
            plumb_json_put_null(json);
        plumb_json_put_key(json, "last_step");
        if (item->first_step <= item->last_step && item->last_step < INT64_MAX)
            plumb_json_put_int(json, item->last_step);
        else
            plumb_json_put_null(json);
        put_string(json, "text", item->text);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
    put_int(json, "unread_total", (int64_t)unread->total);
}

/* What announces that a loss will spike, of both: the text tells B's only if A has none. */
static void put_spikes(struct plumb_json_writer *json, const struct plumb_run_diff *diff)
{
    const struct plumb_run *const runs[] = {diff->a, diff->b};
    plumb_json_put_key(json, "spikes");
    plumb_json_open_array(json);
    for (size_t side = 0; side < 2; side++) {
        struct plumb_spike spike;
        plumb_spike_find(runs[side], &spike);
        if (!spike.alarms)
            continue;
        plumb_json_open_object(json);
        put_string(json, "side", side ? "b" : "a");
        put_string(json, "series", spike.series);
        put_int(json, "step", spike.step);
        put_double(json, "times", spike.times);
        plumb_json_put_key(json, "loss_step");
        if (spike.loss_step >= 0)
            plumb_json_put_int(json, spike.loss_step);
        else
            plumb_json_put_null(json);
        plumb_json_close_object(json);
    }
    plumb_json_close_array(json);
}

/* Records that were put together from ranks, and those that could not be; null: rank by rank. */
static void put_layout(struct plumb_json_writer *json, const char *key,
                       const struct plumb_layout *layout,
                       const struct plumb_layout_report *report)
{
    plumb_json_put_key(json, key);
    if (!layout->ranks) {
        plumb_json_put_null(json);
        return;
    }
    plumb_json_open_object(json);
    put_int(json, "ranks", (int64_t)layout->ranks);
    put_int(json, "merged", (int64_t)report->merged);
    put_int(json, "unequal", (int64_t)report->unequal);
    put_int(json, "missing", (int64_t)report->missing);
    put_int(json, "unknown", (int64_t)report->unknown);
    const bool wrong = report->unequal + report->missing + report->unknown > 0;
    put_string(json, "first_problem", wrong ? report->first : NULL);
    plumb_json_close_object(json);
}

static void put_warnings(struct plumb_json_writer *json, const struct plumb_run_diff *diff)
{
    plumb_json_put_key(json, "warnings");
    plumb_json_open_array(json);
    for (size_t i = 0; i < diff->unread.count; i++)
        plumb_json_put_string(json, diff->unread.items[i].text);
    for (size_t i = 0; i < plumb_run_warning_count(diff->a); i++)
        plumb_json_put_string(json, plumb_run_warning(diff->a, i));
    for (size_t i = 0; i < plumb_run_warning_count(diff->b); i++)
        plumb_json_put_string(json, plumb_run_warning(diff->b, i));
    plumb_json_close_array(json);
}

/* What stands on one side only, and what was compared by weaker means. */
static void put_overlap(struct plumb_json_writer *json, const struct plumb_run_diff *diff)
{
    const struct plumb_overlap *overlap = &diff->overlap;
    put_int(json, "ranks_only_a", (int64_t)overlap->only_a);
    put_int(json, "ranks_only_b", (int64_t)overlap->only_b);
    put_range(json, "steps_a", &overlap->a);
    put_range(json, "steps_b", &overlap->b);
    put_int(json, "steps_only_a", (int64_t)overlap->steps_only_a);
    put_int(json, "steps_only_b", (int64_t)overlap->steps_only_b);
    put_int(json, "step_shift", overlap->shift);
    put_int(json, "steps_torn", (int64_t)diff->torn_steps);
    put_int(json, "same_by_statistics", (int64_t)diff->blame.by_statistics);
    put_int(json, "not_compared", (int64_t)diff->blame.unknown);
    put_int(json, "values_lost", (int64_t)diff->blame.values_lost);
    put_int(json, "other_types", (int64_t)diff->blame.other_types);
}

void plumb_run_diff_json(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    struct plumb_json_writer writer = plumb_json_writer_of(to), *json = &writer;
    plumb_json_open_object(json);
    put_string(json, "verdict", plumb_verdict_name(plumb_run_diff_verdict(diff)));
    put_string(json, "summary", diff->summary);
    put_roots(json, diff);
    plumb_findings_json(json, diff->findings, diff->finding_count);
    put_double(json, "confidence", diff->confidence);
    put_string(json, "how_sure", diff->sure);
    put_string(json, "next", diff->next);
    plumb_json_put_key(json, "steps");
    plumb_json_open_array(json);
    if (diff->steps) {
        plumb_json_put_int(json, diff->first_step);
        plumb_json_put_int(json, diff->last_step);
    }
    plumb_json_close_array(json);
    put_int(json, "ranks", (int64_t)diff->overlap.ranks);
    put_overlap(json, diff);
    plumb_json_put_key(json, "records");
    plumb_json_put_uint(json, diff->blame.rows);
    plumb_json_put_key(json, "stopped_early");
    plumb_json_put_bool(json, diff->stopped);
    put_settings(json, diff);
    put_series(json, diff);
    put_only(json, diff, "only_a", true);
    put_only(json, diff, "only_b", false);
    put_layout(json, "layout_a", &diff->layout_a, &diff->merged_a);
    put_layout(json, "layout_b", &diff->layout_b, &diff->merged_b);
    put_spikes(json, diff);
    put_unread(json, &diff->unread);
    put_warnings(json, diff);
    plumb_json_close_object(json);
    plumb_buffer_text(to, "\n");
}
