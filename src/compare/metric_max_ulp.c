/* metric_max_ulp.c - the worst element counted in steps of its own type. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return (double)comparison->max_ulp;
}

const struct plumb_metric plumb_metric_max_ulp = {
    .entry = {.name = "max_ulp",
              .summary = "largest distance in last places",
              .detail = "representable values of the coarser type between a and b, at most. 0 "
                        "is equal, 1 is one\n"
                        "rounding apart. Near zero it gets huge without harm. 0 for integers."},
    .better = PLUMB_BETTER_LOW,
    .value = value,
};
