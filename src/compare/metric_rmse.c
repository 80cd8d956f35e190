/* metric_rmse.c - the length of the difference per element. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->rmse;
}

const struct plumb_metric plumb_metric_rmse = {
    .entry =
        {.name = "rmse",
         .summary = "root of the mean squared difference",
         .detail =
             "sqrt(mean (b - a)^2) over finite pairs. From 0 up, in the unit of the values."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
