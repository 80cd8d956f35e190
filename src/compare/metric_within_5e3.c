/* metric_within_5e3.c - the share of elements that agree to five parts in a thousand. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return plumb_metric_share(comparison->within_5e3, comparison);
}

const struct plumb_metric plumb_metric_within_5e3 = {
    .entry = {.name = "within_5e3",
              .summary = "share of elements within 0.5 %",
              .detail = "elements with |b - a| < 5e-3 |a| or equal, over all. From 0 to 1."},
    .better = PLUMB_BETTER_HIGH,
    .value = value,
};
