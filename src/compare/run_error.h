/*
 * run_error.h - how far apart two tensor records are, from what is recorded of them.
 *
 * Equal fingerprints are equal values. Statistics give a lower bound that always holds: norms,
 * means and deviations cannot differ by more than the tensors do, and an extreme value is an element.
 */
#ifndef PLUMB_COMPARE_RUN_ERROR_H
#define PLUMB_COMPARE_RUN_ERROR_H

#include "compare/run_rows.h"

struct plumb_row_error {
    bool same;
    bool unknown;     /* nothing is recorded of both that could be compared; counts as same */
    bool values_lost; /* saved, but not there or not readable */
    bool reordered;   /* the same values in another order, as far as the statistics tell */
    bool shape_differs;
    enum plumb_basis basis;
    double error; /* |B - A| / |A| at least; infinite: not finite on one side; NaN: not known */
    double distance; /* |B - A| at least */
    double allowed;  /* relative: what another order of summation and one rounding may leave */
};

void plumb_row_compare(const struct plumb_row *a, const struct plumb_row *b,
                       struct plumb_row_error *error);
/* What rounding may leave in `count` elements of the coarser of the two types. */
double plumb_row_allowance(enum plumb_dtype a, enum plumb_dtype b, int64_t count);
/* Is B = s A + t, as far as the statistics tell, with another s or t than 1 and 0? */
bool plumb_row_is_affine(const struct plumb_row *a, const struct plumb_row *b, double *s,
                         double *t);

#endif
