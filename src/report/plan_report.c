/* plan_report.c - what to record next, as text and JSON. */
#include "base/utf8.h"
#include "compare/plan_capture.h"
#include "report/finding_json.h"
#include "report/show.h"
#include "report/words.h"

static void put_string(struct plumb_json_writer *json, const char *key, const char *text)
{
    plumb_json_put_key(json, key);
    plumb_json_put_string(json, text);
}

static void put_number(struct plumb_json_writer *json, const char *key, bool known,
                       uint64_t value)
{
    plumb_json_put_key(json, key);
    if (known)
        plumb_json_put_uint(json, value);
    else
        plumb_json_put_null(json);
}

static void put_capture(struct plumb_json_writer *json, const struct plumb_plan *plan)
{
    plumb_json_put_key(json, "capture");
    if (plan->clear) {
        plumb_json_put_null(json);
        return;
    }
    plumb_json_open_object(json);
    put_string(json, "level", plan->level);
    put_string(json, "save", plan->save);
    put_string(json, "steps", plan->steps);
    put_string(json, "ops", plan->ops);
    put_string(json, "ranks", plan->ranks);
    put_number(json, "bytes", plan->knows_bytes, plan->bytes);
    put_number(json, "time_ns", plan->knows_time, (uint64_t)plan->time_ns);
    plumb_json_close_object(json);
}

static void write_json(const struct plumb_plan *plan, struct plumb_buffer *to)
{
    struct plumb_json_writer writer = plumb_json_writer_of(to), *json = &writer;
    plumb_json_open_object(json);
    plumb_json_put_key(json, "clear");
    plumb_json_put_bool(json, plan->clear);
    put_string(json, "verdict", plumb_verdict_name(plumb_run_diff_verdict(plan->diff)));
    put_string(json, "answer", plan->answer);
    put_string(json, "why", plan->why);
    put_capture(json, plan);
    plumb_json_put_key(json, "commands");
    plumb_json_open_object(json);
    put_string(json, "a", plan->command_a);
    put_string(json, "b", plan->command_b);
    put_string(json, "then", plan->then);
    plumb_json_close_object(json);
    put_string(json, "remark", plan->remark);
    plumb_findings_json(json, plan->diff->findings, plan->diff->finding_count);
    plumb_json_close_object(json);
    plumb_buffer_text(to, "\n");
}

static void write_capture(const struct plumb_plan *plan, struct plumb_buffer *to)
{
    char text[WORD_SIZE];
    plumb_buffer_printf(to, "\nlevel  %s\nsave   %s\nsteps  %s\nops    %s\nranks  %s\n",
                        plan->level, plan->save, plan->steps, plan->ops ? plan->ops : "all",
                        plan->ranks ? plan->ranks : "all");
    plumb_buffer_printf(to, "size   %s%s\n", plan->knows_bytes ? "about " : "not known yet",
                        plan->knows_bytes ? plumb_word_bytes(plan->bytes, text) : "");
    if (plan->knows_time)
        plumb_buffer_printf(to,
                            "time   about %.3g s until step %lld is over, as fast as A was\n",
                            (double)plan->time_ns / 1e9, (long long)plan->last_step);
    plumb_buffer_printf(to, "\nA      %s\nB      %s\nthen   %s\n", plan->command_a,
                        plan->command_b, plan->then);
    if (plan->remark)
        plumb_buffer_printf(to, "       (%s)\n", plan->remark);
}

static void write_text(const struct plumb_plan *plan, struct plumb_buffer *to)
{
    const bool alike = plan->diff->verdict <= PLUMB_ROUNDING;
    const bool incomplete = plumb_run_diff_verdict(plan->diff) == PLUMB_INCOMPLETE;
    plumb_buffer_printf(to, "%s: %s\nwhy    %s\n",
                        !plan->clear ? "next"
                        : incomplete ? "not all could be read"
                        : alike      ? "nothing to hunt"
                                     : "the answer is clear",
                        plan->answer, plan->why);
    if (plan->clear && (!alike || incomplete))
        plumb_buffer_printf(to, "next   %s\n", plan->diff->next);
    if (!plan->clear)
        write_capture(plan, to);
}

enum plumb_status plumb_report_plan(const struct plumb_plan *plan, bool json,
                                    const struct plumb_sink *sink, struct plumb_error *err)
{
    struct plumb_buffer report;
    plumb_buffer_init(&report, REPORT_LIMIT);
    if (json)
        write_json(plan, &report);
    else
        write_text(plan, &report);
    if (!json && report.data)
        plumb_utf8_make_printable(report.data, true);
    const enum plumb_status status = plumb_report_send(&report, sink, err);
    plumb_buffer_release(&report);
    return status;
}
