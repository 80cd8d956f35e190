/* metric_mean_rel.c - the average relative difference. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->mean_rel;
}

const struct plumb_metric plumb_metric_mean_rel = {
    .entry = {.name = "mean_rel",
              .summary = "mean relative difference",
              .detail = "mean |b - a| / |a| over finite pairs with a != 0. From 0 up."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
