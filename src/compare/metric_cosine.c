/* metric_cosine.c - the angle between two tensors seen as vectors: the usual first look, blind to scale. */
#include "compare/metric.h"

static double value(const struct plumb_comparison *comparison)
{
    return comparison->cosine;
}

const struct plumb_metric plumb_metric_cosine = {
    .entry = {.name = "cosine",
              .summary = "cosine of the angle between A and B",
              .detail = "a.b / (|a||b|) over pairs that are finite on both sides. From -1 to "
                        "1; 1 means the same\n"
                        "direction, whatever the length. NaN when one side is all zeros. Good: "
                        "above 0.99999 for\n"
                        "fp32, above 0.999 for 16-bit types. It does not see a scaled tensor."},
    .better = PLUMB_BETTER_HIGH,
    .value = value,
};
