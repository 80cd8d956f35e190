/* metric_nan_mismatch.c - NaN that the other side does not have. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return (double)comparison->nan_mismatch;
}

const struct plumb_metric plumb_metric_nan_mismatch = {
    .entry = {.name = "nan_mismatch",
              .summary = "elements that are NaN on one side only",
              .detail = "a count from 0 up; anything but 0 is a fault of one side."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
