/*
 * series_class.h - two curves over the same steps: how do they part?
 *
 * Without repeated runs of the reference, what is normal is told from the curves themselves: noise
 * has no sign that stays, and its size does not jump. With them it is what they differ by.
 */
#ifndef PLUMB_COMPARE_SERIES_CLASS_H
#define PLUMB_COMPARE_SERIES_CLASS_H

#include "plumb.h"

struct plumb_curves {
    const int64_t *steps;
    const double *a, *b;
    size_t count;
    /* Further runs of A's program, NaN where one has no such step. */
    const double *const *repeats;
    size_t repeat_count;
};

/* Fills everything of `diff` but its name and rank; false when out of memory. */
bool plumb_curves_classify(const struct plumb_curves *curves, struct plumb_series_diff *diff);

#endif
