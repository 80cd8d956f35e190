/*
 * trainer.h - one rank's training loop.
 */
#ifndef LAB_TRAINER_H
#define LAB_TRAINER_H

#include "ranks.h"
#include "recording.h"

struct lab_training {
    struct lab_plan plan;
    struct lab_recording_options recording;
    const char *log_path;        /* a line a step, tab-separated; NULL: none */
    const char *checkpoint_path; /* of the weights at the end; NULL: none */
    struct lab_group *group;
};

/* Prints "step K loss X" on rank 0. Returns the exit status. */
int lab_train_rank(void *training, int rank);

#endif
