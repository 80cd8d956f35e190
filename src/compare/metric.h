/*
 * metric.h - one number about two tensors, and the list of all such numbers.
 *
 * A metric is one file metric_<name>.c that ends in one `const struct plumb_metric`, plus one
 * line in metrics.def. It only reads what the comparison pass has counted already: no metric
 * looks at the values again.
 */
#ifndef PLUMB_COMPARE_METRIC_H
#define PLUMB_COMPARE_METRIC_H

#include "plumb.h"

/* Which way is good, so that a report can sort and colour. */
enum plumb_better {
    PLUMB_BETTER_LOW,
    PLUMB_BETTER_HIGH,
    PLUMB_BETTER_NEITHER, /* a place, not a quality */
};

struct plumb_metric {
    struct plumb_entry entry; /* detail: the formula, its range, and what is good */
    enum plumb_better better;
    double (*value)(const struct plumb_comparison *comparison);
};

#define METRIC(name) extern const struct plumb_metric plumb_metric_##name;
#include "compare/metrics.def"
#undef METRIC

/* NULL past the end. */
const struct plumb_metric *plumb_metric_at(size_t i);
const struct plumb_entry *plumb_metric_entry(size_t i);

/* The share of a count among all compared elements; 1 when there are none. */
double plumb_metric_share(uint64_t part, const struct plumb_comparison *comparison);

#endif
