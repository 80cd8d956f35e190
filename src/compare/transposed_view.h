/* transposed_view.h - are matrices of shapes (m, n) and (n, m) each other's transpose? */
#ifndef PLUMB_COMPARE_TRANSPOSED_VIEW_H
#define PLUMB_COMPARE_TRANSPOSED_VIEW_H

#include "plumb.h"

/* Judges the pair against a transposed view of B where the shapes allow it. Where they do, and
 * the values then agree, `transposed` is true and the pair holds the judgement. */
enum plumb_status plumb_judge_transposed(struct plumb_pair *pair,
                                         const struct plumb_compare_options *options,
                                         bool *transposed, struct plumb_error *err);

#endif
