/* run_value_pair.c - see run_value_pair.h. */
#include "compare/run_value_pair.h"

void plumb_value_pair_open(struct plumb_value_pair *pair, struct plumb_run *a, int rank_a,
                           int64_t step_a, struct plumb_run *b, int rank_b, int64_t step_b)
{
    pair->a = pair->b = NULL;
    if (plumb_run_open_values(a, rank_a, step_a, &pair->a, NULL) != PLUMB_OK)
        pair->a = NULL;
    else if (plumb_run_open_values(b, rank_b, step_b, &pair->b, NULL) != PLUMB_OK)
        pair->b = NULL;
    if (!pair->b)
        plumb_value_pair_close(pair);
}

void plumb_value_pair_close(struct plumb_value_pair *pair)
{
    plumb_file_close(pair->a);
    plumb_file_close(pair->b);
    pair->a = pair->b = NULL;
}

static const struct plumb_tensor *find(const struct plumb_value_pair *pair,
                                       const struct plumb_file *file,
                                       const struct plumb_row *row)
{
    return row->value_name == PLUMB_NO_NAME
               ? NULL
               : plumb_file_find(file, pair->names->texts[row->value_name]);
}

bool plumb_value_pair_judge(const struct plumb_value_pair *pair, const struct plumb_row *a,
                            const struct plumb_row *b, struct plumb_comparison *comparison,
                            struct plumb_judgement *judgement)
{
    if (!pair->a || !a->has_values || !b->has_values)
        return false;
    const struct plumb_tensor *x = find(pair, pair->a, a), *y = find(pair, pair->b, b);
    const struct plumb_compare_options options = {.brief = true};
    return x && y && x->count == y->count &&
           plumb_tensor_judge(x, y, &options, comparison, judgement, NULL) == PLUMB_OK;
}
