/*
 * evaluate.h - loss and accuracy on records that are not trained on.
 */
#ifndef LAB_EVALUATE_H
#define LAB_EVALUATE_H

#include "dataset.h"
#include "ranks.h"

struct lab_evaluation {
    double loss, accuracy;
};

/* All ranks take part, each with its share. */
struct lab_evaluation lab_evaluate(const struct lab_plan *plan,
                                   const struct lab_settings *settings,
                                   const struct lab_dataset *dataset, struct lab_net *net,
                                   struct lab_group *group, int rank, int64_t step);

#endif
