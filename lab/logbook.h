/*
 * logbook.h - a line a step in a tab-separated file, for spreadsheets and tests.
 */
#ifndef LAB_LOGBOOK_H
#define LAB_LOGBOOK_H

#include <stdint.h>
#include <stdio.h>

struct lab_step_result {
    int64_t step;
    double loss, rate, gradient_norm, update_norm, loss_scale;
    int skipped;
    double eval_loss, eval_accuracy; /* NaN at steps without an evaluation */
    int replicas;                    /* how many different sets of weights the ranks hold */
    uint64_t batch, weights;         /* fingerprints */
    double seconds;
};

FILE *lab_logbook_open(const char *path);
void lab_logbook_write(FILE *file, const struct lab_step_result *result);

#endif
