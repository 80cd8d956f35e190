/* metrics.c - the list of all metrics. */
#include "compare/metric.h"

#include <string.h>

static const struct plumb_metric *const metrics[] = {
#define METRIC(name) &plumb_metric_##name,
#include "compare/metrics.def"
#undef METRIC
};

const struct plumb_metric *plumb_metric_at(size_t i)
{
    return i < sizeof metrics / sizeof *metrics ? metrics[i] : NULL;
}

const struct plumb_entry *plumb_metric_entry(size_t i)
{
    const struct plumb_metric *metric = plumb_metric_at(i);
    return metric ? &metric->entry : NULL;
}

bool plumb_metric_value(const char *name, const struct plumb_comparison *comparison,
                        double *value)
{
    const struct plumb_metric *metric;
    for (size_t i = 0; (metric = plumb_metric_at(i)) != NULL; i++)
        if (strcmp(metric->entry.name, name) == 0) {
            *value = metric->value(comparison);
            return true;
        }
    return false;
}

double plumb_metric_share(uint64_t part, const struct plumb_comparison *comparison)
{
    return comparison->count ? (double)part / (double)comparison->count : 1;
}
