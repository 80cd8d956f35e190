/* metric_equal.c - the share of elements that did not change at all. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return plumb_metric_share(comparison->equal, comparison);
}

const struct plumb_metric plumb_metric_equal = {
    .entry = {.name = "equal",
              .summary = "share of equal elements",
              .detail = "elements of equal value over all; -0 equals 0, NaN equals NaN, "
                        "infinities of one sign are\n"
                        "equal. From 0 to 1; 1 is identical."},
    .better = PLUMB_BETTER_HIGH,
    .value = value,
};
