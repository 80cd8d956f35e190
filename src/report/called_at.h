/* called_at.h - where in the program an op was called, in reports. */
#ifndef PLUMB_REPORT_CALLED_AT_H
#define PLUMB_REPORT_CALLED_AT_H

#include "base/json_write.h"
#include "compare/run_diff.h"

/* The keys "called_at" and "stack"; nothing if it is NULL. */
void plumb_stack_json(struct plumb_json_writer *json, const char *stack);
/* After a table of records: their stacks, each once, with the ops that were called there. */
enum plumb_status plumb_stacks_text(struct plumb_run *run, const struct plumb_run_query *query,
                                    struct plumb_buffer *to, struct plumb_error *err);
/* Where the op of a root was called: in B, else in A; NULL: not known. */
const char *plumb_root_stack(const struct plumb_run_diff *diff,
                             const struct plumb_run_root *root);

#endif
