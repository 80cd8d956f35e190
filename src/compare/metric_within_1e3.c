/* metric_within_1e3.c - the share of elements that agree to one part in a thousand. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return plumb_metric_share(comparison->within_1e3, comparison);
}

const struct plumb_metric plumb_metric_within_1e3 = {
    .entry = {.name = "within_1e3",
              .summary = "share of elements within 0.1 %",
              .detail = "elements with |b - a| < 1e-3 |a| or equal, over all. From 0 to 1. "
                        "bf16 rounding alone can\n"
                        "take it to 0.5: one bf16 step is 0.4 to 0.8 %."},
    .better = PLUMB_BETTER_HIGH,
    .value = value,
};
