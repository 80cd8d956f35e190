/* metric_bias.c - how far B lies above or below A on average. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->bias;
}

const struct plumb_metric plumb_metric_bias = {
    .entry = {.name = "bias",
              .summary = "mean signed difference",
              .detail = "mean (b - a) over finite pairs, in the unit of the values. Near 0 "
                        "when errors are random;\n"
                        "its sign shows a shift."},
    .better = PLUMB_BETTER_NEITHER,
    .value = value,
};
