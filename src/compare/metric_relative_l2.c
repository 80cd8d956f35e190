/* metric_relative_l2.c - the best single number: one scale for all tensors, not upset by zeros. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->relative_l2;
}

const struct plumb_metric plumb_metric_relative_l2 = {
    .entry = {.name = "relative_l2",
              .summary = "length of the difference over the length of A",
              .detail = "|b - a|_2 / |a|_2 over finite pairs. 0 is equal, 1 is as wrong as all "
                        "zeros. Rounding alone\n"
                        "gives about 1e-8 to 1e-5 in fp32, 2e-4 in fp16 and 2e-3 in bf16."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
