/* nan_report.c - where values stopped being finite, as text and JSON. */
#include "report/nan_report.h"

#include "base/error.h"
#include "base/utf8.h"
#include "report/called_at.h"
#include "report/finding_json.h"
#include "report/run_report.h"
#include "report/show.h"

enum { TEXT_CHAIN = 12 };

static void put_place(struct plumb_json_writer *json, const struct plumb_nan_place *place)
{
    const struct {
        const char *key, *text;
    } texts[] = {
        {"op", place->op},     {"phase", plumb_phase_name(place->phase)},
        {"slot", place->slot}, {"dtype", plumb_dtype_name(place->dtype)},
        {"kind", place->kind}, {"severity", place->severity ? place->severity : "critical"}};
    plumb_json_open_object(json);
    plumb_json_put_key(json, "rank");
    plumb_json_put_int(json, place->rank);
    plumb_json_put_key(json, "step");
    plumb_json_put_int(json, place->step);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        plumb_json_put_key(json, texts[i].key);
        plumb_json_put_string(json, texts[i].text);
    }
    plumb_json_put_key(json, "element");
    if (place->element >= 0)
        plumb_json_put_int(json, place->element);
    else
        plumb_json_put_null(json);
    plumb_stack_json(json, place->stack);
    plumb_json_close_object(json);
}

static void write_json(const struct plumb_nan *nan, struct plumb_buffer *to)
{
    struct plumb_json_writer writer = plumb_json_writer_of(to), *json = &writer;
    plumb_json_open_object(json);
    plumb_json_put_key(json, "found");
    plumb_json_put_bool(json, nan->found);
    plumb_json_put_key(json, "origin");
    if (nan->found)
        put_place(json, &nan->origin);
    else
        plumb_json_put_null(json);
    plumb_json_put_key(json, "chain");
    plumb_json_open_array(json);
    for (size_t i = 0; i < nan->chain_count; i++) {
        plumb_json_new_line(json);
        put_place(json, &nan->chain[i]);
    }
    plumb_json_close_array(json);
    plumb_json_put_key(json, "chain_total");
    plumb_json_put_uint(json, nan->chain_total);
    plumb_json_put_key(json, "in_data");
    plumb_json_put_bool(json, nan->in_data);
    plumb_json_put_key(json, "sample");
    if (nan->in_data && nan->sample >= 0)
        plumb_json_put_int(json, nan->sample);
    else
        plumb_json_put_null(json);
    plumb_json_put_key(json, "recovered_steps");
    plumb_json_put_uint(json, nan->recovered);
    plumb_run_warnings_json(json, nan->run);
    plumb_findings_json(json, &nan->finding, nan->found ? 1 : 0);
    plumb_json_close_object(json);
    plumb_buffer_text(to, "\n");
}

static void write_place(const struct plumb_nan_place *place, struct plumb_buffer *to)
{
    plumb_buffer_printf(to, "rank %d  step %lld  %s  %s  %s  %s  %s", place->rank,
                        (long long)place->step, place->op, plumb_phase_name(place->phase),
                        place->slot, plumb_dtype_name(place->dtype), place->kind);
    if (place->element >= 0)
        plumb_buffer_printf(to, " at element %lld", (long long)place->element);
    if (place->severity)
        plumb_buffer_printf(to, "  (%s)", place->severity);
    plumb_buffer_text(to, "\n");
}

static void write_called_at(const struct plumb_nan_place *place, struct plumb_buffer *to)
{
    size_t length = 0;
    const char *line = place->stack ? plumb_stack_line(place->stack, &length) : NULL;
    if (line)
        plumb_buffer_printf(to, "          called at %.*s\n", (int)length, line);
}

static void write_text(const struct plumb_nan *nan, struct plumb_buffer *to)
{
    const struct plumb_finding *finding = &nan->finding;
    if (nan->recovered)
        plumb_buffer_printf(to,
                            "gradients overflowed at %zu step%s and the loss scale took "
                            "care of it\n",
                            nan->recovered, nan->recovered == 1 ? "" : "s");
    if (!nan->found) {
        plumb_buffer_text(to, "every recorded value is finite\n");
        plumb_run_warnings_text(nan->run, to);
        return;
    }
    plumb_buffer_printf(to, "%s (rank %d)\n\n  origin  ", finding->title, nan->origin.rank);
    write_place(&nan->origin, to);
    write_called_at(&nan->origin, to);
    for (size_t i = 0; i < finding->evidence_count; i++)
        plumb_buffer_printf(to, "          %s: %s\n", finding->evidence[i].what,
                            finding->evidence[i].observed);
    for (size_t i = 0; i < nan->chain_count && i < TEXT_CHAIN; i++) {
        plumb_buffer_text(to, "  then    ");
        write_place(&nan->chain[i], to);
    }
    const size_t shown = nan->chain_count < TEXT_CHAIN ? nan->chain_count : TEXT_CHAIN;
    if (nan->chain_total > shown)
        plumb_buffer_printf(to, "  and %zu more\n", nan->chain_total - shown);
    plumb_buffer_printf(to, "\nlikely cause: %s\nwhat to do:   %s\nnext test:    %s\n",
                        finding->cause, finding->fix, finding->next_test);
    plumb_run_warnings_text(nan->run, to);
}

enum plumb_status plumb_report_nan(const struct plumb_nan *nan, enum plumb_report_form form,
                                   const struct plumb_sink *sink, struct plumb_error *err)
{
    struct plumb_buffer report;
    if (form == PLUMB_REPORT_CSV)
        return plumb_fail(err, PLUMB_UNSUPPORTED, -1,
                          "this report has no CSV form; ask for JSON");
    plumb_buffer_init(&report, REPORT_LIMIT);
    if (form == PLUMB_REPORT_JSON)
        write_json(nan, &report);
    else if (form == PLUMB_REPORT_HTML)
        plumb_nan_html(nan, &report);
    else
        write_text(nan, &report);
    if (form != PLUMB_REPORT_JSON && report.data)
        plumb_utf8_make_printable(report.data, true);
    const enum plumb_status status = plumb_report_send(&report, sink, err);
    plumb_buffer_release(&report);
    return status;
}
