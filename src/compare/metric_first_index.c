/* metric_first_index.c - where the two tensors part. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return (double)comparison->first_index;
}

const struct plumb_metric plumb_metric_first_index = {
    .entry = {.name = "first_index",
              .summary = "index of the first unequal element",
              .detail = "in logical (row-major) order; -1 if all are equal."},
    .better = PLUMB_BETTER_NEITHER,
    .value = value,
};
