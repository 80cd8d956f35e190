/* registry.c - every list that `plumb list` and `plumb explain` walk. */
#include "compare/judge.h"
#include "compare/metric.h"
#include "format/record_format.h"

/* Formats of tensors first, then those of records. */
static const struct plumb_entry *format_entry(size_t i)
{
    const struct plumb_format *format;
    size_t tensors = 0;
    for (; (format = plumb_format_at(tensors)); tensors++)
        if (tensors == i)
            return &format->entry;
    const struct plumb_record_format *records = plumb_record_format_at(i - tensors);
    return records ? &records->entry : NULL;
}

static const struct {
    const char *name;
    const struct plumb_entry *(*entry)(size_t i);
} lists[PLUMB_LIST_COUNT] = {
    [PLUMB_LIST_FORMATS] = {"formats", format_entry},
    [PLUMB_LIST_METRICS] = {"metrics", plumb_metric_entry},
    [PLUMB_LIST_VERDICTS] = {"verdicts", plumb_verdict_entry},
    [PLUMB_LIST_PATTERNS] = {"patterns", plumb_pattern_entry},
};

const char *plumb_list_name(enum plumb_list list)
{
    return (size_t)list < PLUMB_LIST_COUNT ? lists[list].name : "";
}

const struct plumb_entry *plumb_list_entry(enum plumb_list list, size_t i)
{
    return (size_t)list < PLUMB_LIST_COUNT ? lists[list].entry(i) : NULL;
}
