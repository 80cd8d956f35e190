/* metric_ulp_over_16.c - the share of elements that a few roundings do not explain. */
#include "compare/metric.h"

/* Buckets 5, 6 and 7 of plumb_comparison.ulp hold what is above 16. */
static double share_of_large_steps(const struct plumb_comparison *comparison)
{
    const double finite = (double)comparison->finite;
    const uint64_t large = comparison->ulp[5] + comparison->ulp[6] + comparison->ulp[7];
    return finite > 0 ? (double)large / finite : 0;
}

const struct plumb_metric plumb_metric_ulp_over_16 = {
    .entry = {.name = "ulp_over_16",
              .summary = "share of elements more than 16 last places apart",
              .detail = "finite pairs more than 16 representable values of the coarser type "
                        "apart, over all finite\n"
                        "pairs. From 0 to 1; in fp32 sums of some thousand terms give up to a "
                        "few percent."},
    .better = PLUMB_BETTER_LOW,
    .value = share_of_large_steps,
};
