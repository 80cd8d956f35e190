/* error.h - how a library function reports failure. */
#ifndef PLUMB_BASE_ERROR_H
#define PLUMB_BASE_ERROR_H

#include "plumb.h"

/* Fills `err` (if any) and returns `status`, so that a failure is one statement:
 *     return plumb_fail(err, PLUMB_DAMAGED, at, "%s: header ends at byte ...", path);
 * The sentence names the file, what was expected, what was found and what to try. */
enum plumb_status plumb_fail(struct plumb_error *err, enum plumb_status status, int64_t offset,
                             const char *format, ...) PLUMB_PRINTF(4, 5);
enum plumb_status plumb_fail_memory(struct plumb_error *err);
/* PLUMB_IO with errno's text appended. */
enum plumb_status plumb_fail_errno(struct plumb_error *err, const char *doing,
                                   const char *path);

#endif
