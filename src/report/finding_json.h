/* finding_json.h - findings as every command's JSON shows them. */
#ifndef PLUMB_REPORT_FINDING_JSON_H
#define PLUMB_REPORT_FINDING_JSON_H

#include "base/json_write.h"
#include "model/finding.h"

/* The key "findings" and its array. */
void plumb_findings_json(struct plumb_json_writer *json, const struct plumb_finding *findings,
                         size_t count);

#endif
