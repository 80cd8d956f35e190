/* error.c - the one place where a failure becomes a sentence. */
#include "base/error.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
    [PLUMB_OK] = "ok",
    [PLUMB_NO_MEMORY] = "out of memory",
    [PLUMB_IO] = "input or output failed",
    [PLUMB_DAMAGED] = "damaged",
    [PLUMB_UNSUPPORTED] = "not supported",
    [PLUMB_LIMIT] = "above a limit",
    [PLUMB_NOT_FOUND] = "not found",
    [PLUMB_INVALID] = "invalid argument",
    [PLUMB_STOPPED] = "stopped",
};

const char *plumb_status_name(enum plumb_status status)
{
    size_t i = (size_t)status;
    return i < sizeof status_names / sizeof *status_names ? status_names[i] : "unknown status";
}

const char *plumb_version(void)
{
    return PLUMB_VERSION;
}

enum plumb_status plumb_fail(struct plumb_error *err, enum plumb_status status, int64_t offset,
                             const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        err->offset = offset;
        (void)vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        plumb_utf8_make_printable(err->message, false);
    }
    return status;
}

enum plumb_status plumb_fail_memory(struct plumb_error *err)
{
    return plumb_fail(err, PLUMB_NO_MEMORY, -1,
                      "out of memory; close other programs or use a machine with more");
}

enum plumb_status plumb_fail_errno(struct plumb_error *err, const char *doing, const char *path)
{
    const int code = errno;
    return plumb_fail(err, PLUMB_IO, -1, "%s: cannot %s: %s", path, doing, strerror(code));
}
