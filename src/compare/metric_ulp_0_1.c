/* metric_ulp_0_1.c - the share of elements that one rounding explains. */
#include "compare/metric.h"

static double share_of_small_steps(const struct plumb_comparison *comparison)
{
    const double finite = (double)comparison->finite;
    return finite > 0 ? (double)(comparison->ulp[0] + comparison->ulp[1]) / finite : 1;
}

const struct plumb_metric plumb_metric_ulp_0_1 = {
    .entry = {.name = "ulp_0_1",
              .summary = "share of elements at most one last place apart",
              .detail =
                  "finite pairs 0 or 1 representable values of the coarser type apart, over "
                  "all finite pairs.\n"
                  "From 0 to 1; a change of summation order keeps a 16-bit tensor above 0.99."},
    .better = PLUMB_BETTER_HIGH,
    .value = share_of_small_steps,
};
