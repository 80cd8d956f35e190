/*
 * dataset.h - the lab's own data: records of bytes, as they would lie in files, made from the
 * seed; and what turns a record into a sample.
 *
 *   mlp: 32 features around one of two centres of each of 10 classes
 *   cnn: 12 x 12 images of stripes in one of 8 directions, with noise
 *   gpt: token sequences in which a token is followed by a fixed other one 85 % of the time
 */
#ifndef LAB_DATASET_H
#define LAB_DATASET_H

#include "plan.h"

enum { LAB_TRAIN_RECORDS = 2048, LAB_EVAL_RECORDS = 64, LAB_CROP = 4 };

struct lab_dataset {
    const struct lab_net_kind *kind;
    uint64_t seed;
    size_t record_size;
    uint8_t *records; /* LAB_TRAIN_RECORDS, then LAB_EVAL_RECORDS */
    uint8_t *classes;
};

struct lab_sample {
    int64_t sequence; /* on this rank */
    int64_t step;
    int64_t place; /* in the whole job: step * global batch + place in the batch */
    int record;
    real *features;
    int32_t *tokens; /* of the record, before the crop */
    int32_t *labels;
};

struct lab_dataset *lab_dataset_new(const struct lab_net_kind *kind, uint64_t seed);
void lab_dataset_free(struct lab_dataset *dataset);
size_t lab_dataset_features(const struct lab_net_kind *kind);
size_t lab_dataset_labels(const struct lab_net_kind *kind);
size_t lab_dataset_tokens(const struct lab_net_kind *kind); /* of a record */

/* Bytes to numbers. */
void lab_sample_decode(const struct lab_dataset *dataset, const struct lab_settings *settings,
                       struct lab_sample *sample);
/* Random changes that leave the class as it is; `draw` decides which. */
void lab_sample_augment(const struct lab_dataset *dataset, const struct lab_settings *settings,
                        struct lab_sample *sample, uint64_t draw);
/* The same without chance: what evaluation looks at. */
void lab_sample_centre(const struct lab_dataset *dataset, const struct lab_settings *settings,
                       struct lab_sample *sample);
/* Which record is at `place` of the job. */
int lab_dataset_pick(const struct lab_dataset *dataset, const struct lab_settings *settings,
                     int64_t place, const int *order);
/* The order of an epoch. */
void lab_dataset_order(const struct lab_dataset *dataset, const struct lab_settings *settings,
                       int64_t epoch, int *order);

void lab_batch_allocate(struct lab_batch *batch, const struct lab_net_kind *kind, int samples);
void lab_batch_release(struct lab_batch *batch);
void lab_batch_set(struct lab_batch *batch, const struct lab_net_kind *kind, int i,
                   const struct lab_sample *sample);

#endif
