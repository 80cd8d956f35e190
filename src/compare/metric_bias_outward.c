/* metric_bias_outward.c - whether B shrinks or grows: how truncation gives itself away. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->bias_outward;
}

const struct plumb_metric plumb_metric_bias_outward = {
    .entry = {.name = "bias_outward",
              .summary = "mean difference away from zero",
              .detail = "mean (b - a) sign(a) over finite pairs, in the unit of the values. "
                        "Negative when B lies\n"
                        "closer to zero, as after truncation or a scale below 1."},
    .better = PLUMB_BETTER_NEITHER,
    .value = value,
};
