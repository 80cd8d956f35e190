/* metric_max_rel.c - the worst element in relative terms, for what that is worth near zero. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->max_rel;
}

const struct plumb_metric plumb_metric_max_rel = {
    .entry = {.name = "max_rel",
              .summary = "largest relative difference",
              .detail = "max |b - a| / |a| over finite pairs with a != 0. From 0 up. Cancelled "
                        "results (a close to\n"
                        "0) make it large without harm; look at relative_l2 beside it."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
