/* run_gradients.h - how the gradients that the optimizer was given differ. */
#ifndef PLUMB_COMPARE_RUN_GRADIENTS_H
#define PLUMB_COMPARE_RUN_GRADIENTS_H

#include "compare/run_blame.h"

/* The event says that a gradient is not the one A's optimizer was given, while all that was computed
 * before agrees. One factor for all gradients is clipping or scaling. If they have none in common,
 * the event is moved to the first that stands out, and blamed on the reduction if there is one. */
void plumb_gradients_examine(struct plumb_event *event, const struct plumb_step_pair *pair);

/* The norm of A's largest gradient of a step: it says how large rounding in a gradient may be that is
 * nothing else. 0 within one framework, where gradients may agree to the last bit. */
double plumb_gradients_norm(const struct plumb_step_pair *pair);
/* The error of what an optimizer is given, judged against that norm. */
double plumb_gradients_error(const struct plumb_row *row, double norm,
                             const struct plumb_row_error *error);

#endif
