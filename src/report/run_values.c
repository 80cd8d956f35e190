/*
 * run_values.c - the saved values of tensor records: for people as `plumb show FILE NAME` shows a
 * tensor, for programs as arrays of numbers.
 *
 * A record says whether its values were saved and under which name; the step's npz has them.
 */
#include "report/run_report.h"

#include "base/error.h"
#include "report/show.h"

#include <string.h>

enum { MOST_SHOWN = 16, CHUNK = 1024, MOST_VALUES = 1 << 16 };

struct values_report {
    struct plumb_run *run;
    struct plumb_buffer *to;
    struct plumb_json_writer *json; /* NULL: text */
    struct plumb_file *file; /* of the step and rank looked at last; NULL: none, or bad */
    int64_t file_step;
    int file_rank;
    bool opened;
    size_t shown, not_shown, not_saved, lost;
    struct plumb_error reason; /* of the first that was lost */
    enum plumb_status status;
    struct plumb_error *err;
};

static struct plumb_file *values_of_step(struct values_report *report,
                                         const struct plumb_tensor_record *record)
{
    if (report->opened && report->file_step == record->step &&
        report->file_rank == record->rank)
        return report->file;
    plumb_file_close(report->file);
    report->file = NULL;
    report->opened = true;
    report->file_step = record->step;
    report->file_rank = record->rank;
    struct plumb_error error;
    const enum plumb_status status =
        plumb_run_open_values(report->run, record->rank, record->step, &report->file, &error);
    if (status == PLUMB_NO_MEMORY)
        report->status = plumb_fail_memory(report->err);
    if (status && !report->lost)
        report->reason = error;
    return report->file;
}

/* The saved tensor; false if it is not where it should be. The recorder's files have no names for
 * some types: there the record has the type. Other tools' files know better than their records. */
static bool find_values(struct values_report *report, const struct plumb_tensor_record *record,
                        struct plumb_tensor *tensor)
{
    const struct plumb_file *file = values_of_step(report, record);
    if (!file)
        return false;
    const struct plumb_tensor *found = plumb_file_find(file, record->value_name);
    const bool typed = !record->origin;
    if (!found ||
        (typed && plumb_dtype_size(found->dtype) != plumb_dtype_size(record->dtype))) {
        if (!report->lost)
            (void)plumb_fail(&report->reason, PLUMB_NOT_FOUND, -1,
                             "%s: no values of %s are in it, though they were recorded",
                             plumb_file_path(file), record->value_name);
        return false;
    }
    *tensor = *found;
    if (typed)
        tensor->dtype = record->dtype;
    return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Where it first went wrong, as an index a dimension. */
static void write_element(const struct plumb_tensor_record *record,
                          const struct plumb_tensor *tensor, struct plumb_buffer *to)
{
    const struct plumb_stats *stats = &record->stats;
    const bool finite = record->has_stats && !(stats->nan + stats->pos_inf + stats->neg_inf);
    int64_t below = tensor->count, rest = record->element;
    if (record->element < 0)
        return;
    plumb_buffer_printf(to, "; element %lld [", (long long)record->element);
    for (int i = 0; i < tensor->rank && below > 0; i++) {
        below /= tensor->shape[i];
        plumb_buffer_printf(to, i ? ", %lld" : "%lld", (long long)(rest / below));
        rest %= below;
    }
    plumb_buffer_printf(to, "] is the first %s",
                        finite ? "at the type's largest value" : "that is not finite");
}

static enum plumb_status write_text(struct values_report *report,
                                    const struct plumb_tensor_record *record,
                                    const struct plumb_tensor *tensor)
{
    struct plumb_summary summary;
    const struct plumb_tensor *tensors[] = {tensor};
    const struct plumb_show show = {.tensors = tensors, .count = 1, .summaries = &summary};
    enum plumb_status status = plumb_tensor_summarize(
        tensor, PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_FINGERPRINT, NULL, &summary, report->err);
    if (status)
        return status;
    plumb_buffer_printf(report->to, "%sstep %lld, rank %d", report->shown ? "\n" : "",
                        (long long)record->step, record->rank);
    if (record->origin) /* the file's name for the tensor says little of the op */
        plumb_buffer_printf(report->to, ", %s %s %s", record->label,
                            plumb_phase_name(record->phase), record->slot);
    write_element(record, tensor, report->to);
    plumb_buffer_text(report->to, "\n");
    status = plumb_show_one(&show, report->to, report->err);
    if (record->fingerprint_kind == PLUMB_FINGERPRINT_OWN &&
        summary.fingerprint != record->fingerprint)
        plumb_buffer_printf(report->to,
                            "  warning: fingerprint %016llx was recorded; the saved values "
                            "have changed since\n",
                            (unsigned long long)record->fingerprint);
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Numbers that hold every value of the type. */
static enum plumb_dtype wide_type(enum plumb_dtype dtype)
{
    if (plumb_dtype_is_complex(dtype))
        return PLUMB_C128;
    if (plumb_dtype_is_float(dtype))
        return PLUMB_F64;
    return dtype == PLUMB_U64 ? PLUMB_U64 : PLUMB_I64;
}

union wide {
    double number[2]; /* the second one of complex values alone */
    int64_t integer;
    uint64_t natural;
};

static void put_value(struct plumb_json_writer *json, enum plumb_dtype wide,
                      const union wide *value)
{
    if (wide == PLUMB_C128) {
        plumb_json_open_array(json);
        plumb_json_put_double(json, value->number[0]);
        plumb_json_put_double(json, value->number[1]);
        plumb_json_close_array(json);
    } else if (wide == PLUMB_F64) {
        plumb_json_put_double(json, value->number[0]);
    } else if (wide == PLUMB_U64) {
        plumb_json_put_uint(json, value->natural);
    } else {
        plumb_json_put_int(json, value->integer);
    }
}

static enum plumb_status put_values(struct plumb_json_writer *json,
                                    const struct plumb_tensor *tensor, struct plumb_error *err)
{
    unsigned char raw[CHUNK * 16], converted[CHUNK * 16];
    const enum plumb_dtype wide = wide_type(tensor->dtype);
    const size_t size = plumb_dtype_size(wide);
    const int64_t count = tensor->count < MOST_VALUES ? tensor->count : MOST_VALUES;
    enum plumb_status status = PLUMB_OK;
    plumb_json_put_key(json, "values");
    plumb_json_open_array(json);
    for (int64_t at = 0; at < count && status == PLUMB_OK; at += CHUNK) {
        const int64_t part = count - at < CHUNK ? count - at : CHUNK;
        status = plumb_tensor_read(tensor, at, part, raw, err);
        if (status == PLUMB_OK)
            status = plumb_convert_values(tensor->dtype, raw, wide, converted, (size_t)part,
                                          PLUMB_ROUND_NEAREST_EVEN, err);
        for (int64_t i = 0; i < part && status == PLUMB_OK; i++) {
            union wide value = {.natural = 0};
            memcpy(&value, converted + (size_t)i * size, size);
            put_value(json, wide, &value);
        }
    }
    plumb_json_close_array(json);
    if (tensor->count > count) {
        plumb_json_put_key(json, "values_left_out");
        plumb_json_put_int(json, tensor->count - count);
    }
    return status;
}

static enum plumb_status write_json(struct values_report *report,
                                    const struct plumb_tensor_record *record,
                                    const struct plumb_tensor *tensor)
{
    plumb_json_new_line(report->json);
    plumb_record_json_open(report->json, record);
    const enum plumb_status status = put_values(report->json, tensor, report->err);
    plumb_json_close_object(report->json);
    return status;
}

/* ---- all that were asked for ------------------------------------------------------------------- */

static bool show_values(void *context, const struct plumb_tensor_record *record)
{
    struct values_report *report = context;
    struct plumb_tensor tensor;
    if (!record->value_name) {
        report->not_saved++;
        return true;
    }
    if (report->shown == MOST_SHOWN && !report->json) {
        report->not_shown++;
        return true;
    }
    if (!find_values(report, record, &tensor)) {
        report->lost++;
        return report->status == PLUMB_OK;
    }
    report->status = report->json ? write_json(report, record, &tensor)
                                  : write_text(report, record, &tensor);
    report->shown++;
    return report->status == PLUMB_OK && !plumb_buffer_failed(report->to);
}

static enum plumb_status explain_none(const struct values_report *report,
                                      const struct plumb_run_query *query)
{
    uint64_t dropped = 0;
    if (report->lost)
        return plumb_fail(report->err, report->reason.status, report->reason.offset, "%s",
                          report->reason.message);
    if (!report->not_saved)
        return plumb_explain_no_records(report->run, query, report->err);
    for (size_t i = 0; i < plumb_run_rank_count(report->run); i++)
        dropped += plumb_run_rank(report->run, i)->dropped.values;
    return plumb_fail(report->err, PLUMB_NOT_FOUND, -1,
                      "%s: %zu tensor record%s, but no values were saved%s; record again with "
                      "PLUMB_SAVE_TENSORS (in the lab: --save tensors), for these steps alone "
                      "if it is too much",
                      plumb_run_path(report->run), report->not_saved,
                      report->not_saved == 1 ? " matches" : "s match",
                      dropped ? " (some were dropped: the disk was too slow for all of them)"
                              : "");
}

static void write_rest(const struct values_report *report)
{
    const struct {
        size_t count;
        const char *why;
    } rest[] = {{report->not_shown, "more; name an op, slot and step, or --json"},
                {report->not_saved, "without saved values"},
                {report->lost, "whose values are lost"}};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (rest[i].count)
            plumb_buffer_printf(report->to, "%s  and %zu %s\n", i ? "" : "\n", rest[i].count,
                                rest[i].why);
    if (report->lost)
        plumb_buffer_printf(report->to, "  %s\n", report->reason.message);
}

enum plumb_status plumb_values_report(struct plumb_run *run,
                                      const struct plumb_run_query *query,
                                      struct plumb_json_writer *json, struct plumb_buffer *to,
                                      struct plumb_error *err)
{
    struct values_report report = {.run = run, .to = to, .json = json, .err = err};
    enum plumb_status status = plumb_run_visit_records(run, query, show_values, &report, err);
    plumb_file_close(report.file);
    if (status == PLUMB_OK)
        status = report.status;
    if (status == PLUMB_OK && !report.shown)
        status = explain_none(&report, query);
    if (status == PLUMB_OK && !json)
        write_rest(&report);
    return status;
}
