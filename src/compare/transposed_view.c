/* transposed_view.c - a transposed matrix is the same bytes with other strides: nothing moves. */
#include "compare/transposed_view.h"

#include <stdio.h>

enum plumb_status plumb_judge_transposed(struct plumb_pair *pair,
                                         const struct plumb_compare_options *options,
                                         bool *transposed, struct plumb_error *err)
{
    const struct plumb_tensor *a = pair->a, *b = pair->b;
    *transposed = false;
    if (a->rank != 2 || b->rank != 2 || a->shape[0] != b->shape[1] ||
        a->shape[1] != b->shape[0])
        return PLUMB_OK;
    struct plumb_tensor view = *b;
    const int64_t strides[] = {b->strides[1], b->strides[0]};
    view.shape = a->shape;
    view.strides = strides;
    struct plumb_comparison comparison;
    struct plumb_judgement judgement;
    enum plumb_status status =
        plumb_tensor_judge(a, &view, options, &comparison, &judgement, err);
    if (status || judgement.verdict > PLUMB_ROUNDING)
        return status;
    *transposed = true;
    pair->comparison = comparison;
    pair->judgement.verdict = PLUMB_DIFFERENT;
    pair->judgement.pattern = PLUMB_PATTERN_TRANSPOSED;
    (void)snprintf(pair->judgement.reason, sizeof pair->judgement.reason,
                   "B is A transposed: with its axes swapped the values are %s",
                   judgement.verdict == PLUMB_IDENTICAL ? "identical" : "equal up to rounding");
    return PLUMB_OK;
}
