/*
 * run_near.h - do two records hold the same values as far as statistics tell, up to rounding or to
 * the order of the elements?
 *
 * Two frameworks compute the same tensor to within rounding and call it differently: its size, norm
 * and extremes are what identifies it. The limits are wider than rounding, because here a tensor is
 * recognised, not judged.
 */
#ifndef PLUMB_COMPARE_RUN_NEAR_H
#define PLUMB_COMPARE_RUN_NEAR_H

#include "compare/run_rows.h"

/* Nothing but one value says nothing about who made it. */
bool plumb_row_is_telling(const struct plumb_row *row);
bool plumb_row_is_near(const struct plumb_row *a, const struct plumb_row *b);
/* The same values of one run in another order, or another view of them. */
bool plumb_row_is_reordered(const struct plumb_row *a, const struct plumb_row *b);
/* How far norms may be apart, relatively, for two rows to be near. */
double plumb_row_nearness(const struct plumb_row *a, const struct plumb_row *b);

#endif
