/* metric_worst_index.c - where the two tensors are furthest apart. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return (double)comparison->worst_index;
}

const struct plumb_metric plumb_metric_worst_index = {
    .entry = {.name = "worst_index",
              .summary = "index of the largest absolute difference",
              .detail = "in logical (row-major) order; -1 if all are equal."},
    .better = PLUMB_BETTER_NEITHER,
    .value = value,
};
