/* metric_one_minus_cosine.c - what is left of the cosine when it rounds to one. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->one_minus_cosine;
}

const struct plumb_metric plumb_metric_one_minus_cosine = {
    .entry = {.name = "one_minus_cosine",
              .summary = "1 - cosine, without cancellation",
              .detail = "Computed from the differences, so that it still has digits where the "
                        "cosine prints as\n"
                        "1.000000. From 0 to 2; good: about (relative_l2)^2 / 2."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
