/* finding.c - names of the severities. */
#include "model/finding.h"

const char *plumb_severity_name(enum plumb_severity severity)
{
    static const char *const names[] = {"error", "warning", "note"};
    return names[severity];
}
