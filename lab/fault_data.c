/*
 * fault_data.c - what can be wrong with samples, labels, order and shards.
 */
#include "fault.h"
#include "dataset.h"

typedef struct lab_settings settings;
typedef const struct lab_fault_request request;

static void unscaled(settings *s, request *r)
{
    s->data.raw_values = r->severe;
    s->data.uncentred = !r->severe;
}

static void double_scaled(settings *s, request *r)
{
    s->data.scaled_twice = r->severe;
    s->data.squeezed = !r->severe;
}

static void constant_feature(settings *s, request *r)
{
    s->data.constant_features = r->severe ? 1 : 0.5;
}

static void shuffled_labels(settings *s, request *r)
{
    s->data.shuffled_labels = r->severe ? 1 : 0.2;
}

static void label_off_by_one(settings *s, request *r)
{
    s->data.shifted_labels = r->severe ? 1 : 0.25;
}

static void sorted_order(settings *s, request *r)
{
    s->data.sorted_run = r->severe ? LAB_TRAIN_RECORDS : 8 * s->global_batch;
}

static void duplicate_shards(settings *s, request *r)
{
    (void)r;
    s->data.same_shard = true;
}

static void same_worker_seed(settings *s, request *r)
{
    s->data.shared_draws = r->severe ? s->global_batch : s->data.workers;
}

static void imbalance(settings *s, request *r)
{
    s->data.imbalance = r->severe ? 100 : 10;
}

static void nan_sample(settings *s, request *r)
{
    s->data.poisons = true;
    s->data.poison_step = r->step;
    s->data.poison_always = r->severe;
}

static void truncated_tail(settings *s, request *r)
{
    s->data.lost_tail = r->severe ? 8 : 2;
}

static const struct lab_fault faults[] = {
    {.name = "unscaled",
     .sentence = "inputs are not centred (severe: left as bytes from 0 to 255)",
     .apply = unscaled,
     .nets = LAB_ON_MLP | LAB_ON_CNN},
    {.name = "double-scaled",
     .sentence = "inputs are divided (severe: standardised) twice",
     .apply = double_scaled,
     .nets = LAB_ON_MLP | LAB_ON_CNN},
    {.name = "constant-feature",
     .sentence = "half of the inputs (severe: all) are constant",
     .apply = constant_feature,
     .nets = LAB_ON_MLP | LAB_ON_CNN},
    {.name = "shuffled-labels",
     .sentence = "20 % of the samples (severe: all) have random labels",
     .apply = shuffled_labels},
    {.name = "label-off-by-one",
     .sentence = "a quarter of the labels (severe: all) are those of the next class or token",
     .apply = label_off_by_one},
    {.name = "sorted-order",
     .sentence = "samples come in the order of their classes (mild: within 8 batches)",
     .apply = sorted_order},
    {.name = "duplicate-shards",
     .sentence = "a rank (severe: every rank) reads the first rank's samples",
     .apply = duplicate_shards,
     .ranks = 2,
     .mild_one_rank = true},
    {.name = "same-worker-seed",
     .sentence = "loader workers (severe: all samples of a batch) get the same random numbers",
     .apply = same_worker_seed},
    {.name = "imbalance",
     .sentence = "one class has 10 (severe: 100) times the samples of any other",
     .apply = imbalance},
    {.name = "nan-sample",
     .sentence = "one sample (severe: one of every batch) holds a NaN",
     .apply = nan_sample,
     .nets = LAB_ON_MLP | LAB_ON_CNN,
     .midway = true},
    {.name = "truncated-tail",
     .sentence = "the last 2 (severe: 8) tokens of every sequence are lost",
     .apply = truncated_tail,
     .nets = LAB_ON_GPT},
};

const struct lab_fault_family lab_faults_data = {"data", faults,
                                                 sizeof faults / sizeof faults[0]};
