/* metric_inf_mismatch.c - infinity that the other side does not have, or has with the other sign. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return (double)comparison->inf_mismatch;
}

const struct plumb_metric plumb_metric_inf_mismatch = {
    .entry = {.name = "inf_mismatch",
              .summary = "elements that are infinite on one side only",
              .detail = "a count from 0 up: infinite on one side and finite on the other, or "
                        "infinities of opposite\n"
                        "sign."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
