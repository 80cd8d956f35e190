/* json_row.h - an object of numbers as a row of a log: what JSON lines and HF's log_history hold. */
#ifndef PLUMB_FORMAT_JSON_ROW_H
#define PLUMB_FORMAT_JSON_ROW_H

#include "base/json_pull.h"
#include "format/log_rows.h"

/* Reads the object that was just opened; objects inside give names like train.loss, numbers in
 * strings count, everything else is passed over. False where the text is broken. */
bool plumb_json_row_read(struct plumb_json_pull *pull, struct plumb_log_row *row);

#endif
