/*
 * logbook.c - see the header; columns are named in the first line.
 */
#include "logbook.h"

#include <inttypes.h>

#include "trouble.h"

FILE *lab_logbook_open(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        lab_give_up("%s: cannot be written: choose another place for --log", path);
    fputs("step\tloss\tlr\tgrad_norm\tupdate_norm\tloss_scale\tskipped\teval_loss\teval_"
          "accuracy\t"
          "replicas\tbatch\tweights\tseconds\n",
          file);
    return file;
}

void lab_logbook_write(FILE *file, const struct lab_step_result *r)
{
    fprintf(file, "%" PRId64 "\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%d\t%.9g\t%.9g\t%d\t", r->step,
            r->loss, r->rate, r->gradient_norm, r->update_norm, r->loss_scale, r->skipped,
            r->eval_loss, r->eval_accuracy, r->replicas);
    fprintf(file, "%016" PRIx64 "\t%016" PRIx64 "\t%.6f\n", r->batch, r->weights, r->seconds);
}
