/* metric_mean_abs.c - the average size of a difference. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->mean_abs;
}

const struct plumb_metric plumb_metric_mean_abs = {
    .entry = {.name = "mean_abs",
              .summary = "mean absolute difference",
              .detail =
                  "mean |b - a| over finite pairs. From 0 up, in the unit of the values."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
