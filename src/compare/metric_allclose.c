/* metric_allclose.c - the share of elements that pass the tolerance the caller asked for. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return plumb_metric_share(comparison->close, comparison);
}

const struct plumb_metric plumb_metric_allclose = {
    .entry = {.name = "allclose",
              .summary = "share of elements that are close",
              .detail = "elements with |b - a| <= atol + rtol |a| or equal, over all; rtol and "
                        "atol are those of the\n"
                        "comparison (1e-5 and 1e-8 unless given). From 0 to 1; numpy.allclose "
                        "is this == 1."},
    .better = PLUMB_BETTER_HIGH,
    .value = value,
};
