/* metric_max_abs.c - the worst element in absolute terms; worst_index says where it is. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->max_abs;
}

const struct plumb_metric plumb_metric_max_abs = {
    .entry = {.name = "max_abs",
              .summary = "largest absolute difference",
              .detail = "max |b - a| over finite pairs. From 0 up, in the unit of the values: "
                        "judge it against the\n"
                        "scale of the tensor, never against a fixed limit."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
