/* run_report.h - the parts of a report about a run. */
#ifndef PLUMB_REPORT_RUN_REPORT_H
#define PLUMB_REPORT_RUN_REPORT_H

#include "base/json_write.h"

/* Overview. */
enum plumb_status plumb_run_text(struct plumb_run *run,
                                 const struct plumb_run_report_options *options,
                                 struct plumb_buffer *to, struct plumb_error *err);
void plumb_run_json(const struct plumb_run *run, struct plumb_buffer *to);
/* run_config_text.c: the settings in the order they matter; one JSON value in words. */
void plumb_run_config_text(const struct plumb_run *run, struct plumb_buffer *to);
void plumb_setting_text(const char *json, struct plumb_buffer *to);
/* One series. */
void plumb_series_chart(const struct plumb_series *series, int width, struct plumb_buffer *to);
void plumb_series_json(struct plumb_json_writer *json, const struct plumb_series *series);
/* Tensor records: one as JSON (without its closing brace, for more keys), all that were asked for as
 * a table. */
void plumb_record_json_open(struct plumb_json_writer *json,
                            const struct plumb_tensor_record *record);
void plumb_record_json(struct plumb_json_writer *json,
                       const struct plumb_tensor_record *record);
enum plumb_status plumb_records_text(struct plumb_run *run, const struct plumb_run_query *query,
                                     size_t most, int width, struct plumb_buffer *to,
                                     struct plumb_error *err);
/* run_values.c: the saved values of these records, into `json` if that is not NULL. */
enum plumb_status plumb_values_report(struct plumb_run *run,
                                      const struct plumb_run_query *query,
                                      struct plumb_json_writer *json, struct plumb_buffer *to,
                                      struct plumb_error *err);
/* no_records.c: PLUMB_NOT_FOUND and why, for a query that matched nothing. */
enum plumb_status plumb_explain_no_records(struct plumb_run *run,
                                           const struct plumb_run_query *query,
                                           struct plumb_error *err);
/* The first and last step of all ranks; false if there is none. */
bool plumb_run_steps(const struct plumb_run *run, int64_t *first, int64_t *last);
/* Lines for people; the key "warnings" and its array. */
void plumb_run_warnings_text(const struct plumb_run *run, struct plumb_buffer *to);
void plumb_run_warnings_json(struct plumb_json_writer *json, const struct plumb_run *run);

#endif
