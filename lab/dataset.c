/*
 * dataset.c - makes the records, and turns them into samples.
 */
#include "dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "trouble.h"

static const double PI = 3.14159265358979323846;

size_t lab_dataset_features(const struct lab_net_kind *kind)
{
    return (size_t)(kind->features[0] * kind->features[1] * kind->features[2]);
}

size_t lab_dataset_labels(const struct lab_net_kind *kind)
{
    return kind->tokens ? (size_t)kind->tokens : 1;
}

size_t lab_dataset_tokens(const struct lab_net_kind *kind)
{
    return kind->tokens ? (size_t)kind->tokens + LAB_CROP + 2 : 0;
}

static uint8_t as_byte(double value)
{
    value = 128 + 40 * value;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void make_features(const struct lab_dataset *dataset, struct lab_random *random,
                          int class, uint8_t *record)
{
    uint64_t centre = lab_random_below(random, 2);
    struct lab_random at = lab_random_key(dataset->seed, 101, (uint64_t) class, centre);
    for (size_t i = 0; i < dataset->record_size; i++)
        record[i] = as_byte(0.9 * lab_random_normal(&at) + 0.7 * lab_random_normal(random));
}

static void make_stripes(const struct lab_dataset *dataset, struct lab_random *random,
                         int class, uint8_t *record)
{
    double angle = PI * class / dataset->kind->classes;
    double phase = 2 * PI * lab_random_uniform(random);
    int width = dataset->kind->features[1];
    for (size_t i = 0; i < dataset->record_size; i++) {
        double x = (double)((int)i % width), y = (double)((int)i / width);
        double wave = sin(1.6 * (x * cos(angle) + y * sin(angle)) + phase);
        record[i] = as_byte(wave + 0.6 * lab_random_normal(random));
    }
}

static void make_tokens(const struct lab_dataset *dataset, struct lab_random *random, int class,
                        uint8_t *record)
{
    uint64_t vocabulary = (uint64_t)dataset->kind->classes;
    record[0] = (uint8_t) class;
    for (size_t i = 1; i < dataset->record_size; i++) {
        /* 13 and 32 have no common factor: every token has its own follower */
        uint64_t next = (13u * record[i - 1] + 7 + dataset->seed) % vocabulary;
        if (lab_random_uniform(random) >= 0.85)
            next = lab_random_below(random, vocabulary);
        record[i] = (uint8_t)next;
    }
}

struct lab_dataset *lab_dataset_new(const struct lab_net_kind *kind, uint64_t seed)
{
    struct lab_dataset *dataset = lab_allocate(1, sizeof *dataset);
    size_t count = LAB_TRAIN_RECORDS + LAB_EVAL_RECORDS;
    dataset->kind = kind;
    dataset->seed = seed;
    dataset->record_size = kind->tokens ? lab_dataset_tokens(kind) : lab_dataset_features(kind);
    dataset->records = lab_allocate(count, dataset->record_size);
    dataset->classes = lab_allocate(count, 1);
    for (size_t i = 0; i < count; i++) {
        struct lab_random random = lab_random_key(seed, 102, i, 0);
        int class = (int)lab_random_below(&random, (uint64_t)kind->classes);
        uint8_t *record = dataset->records + i * dataset->record_size;
        dataset->classes[i] = (uint8_t) class;
        if (kind->tokens)
            make_tokens(dataset, &random, class, record);
        else if (kind->features[0] > 1)
            make_stripes(dataset, &random, class, record);
        else
            make_features(dataset, &random, class, record);
    }
    return dataset;
}

void lab_dataset_free(struct lab_dataset *dataset)
{
    if (!dataset)
        return;
    free(dataset->records);
    free(dataset->classes);
    free(dataset);
}

static double standardise(const struct lab_data_settings *data, double byte)
{
    if (data->raw_values)
        return byte;
    if (data->uncentred)
        return byte / 255;
    double value = (byte - 128) / 40;
    if (data->scaled_twice)
        return (value - 128) / 40;
    return data->squeezed ? value / 40 : value;
}

/* A number in [0, 1) that belongs to the sample and a purpose. */
static double chance(const struct lab_dataset *dataset, const struct lab_sample *sample,
                     uint64_t purpose)
{
    struct lab_random random =
        lab_random_key(dataset->seed, purpose, (uint64_t)sample->record, 0);
    return lab_random_uniform(&random);
}

static void spoil_labels(const struct lab_dataset *dataset,
                         const struct lab_data_settings *data, struct lab_sample *sample)
{
    int classes = dataset->kind->classes;
    bool shuffled = chance(dataset, sample, 103) < data->shuffled_labels;
    bool shifted = chance(dataset, sample, 104) < data->shifted_labels;
    struct lab_random random = lab_random_key(dataset->seed, 105, (uint64_t)sample->record, 0);
    for (size_t i = 0; i < lab_dataset_labels(dataset->kind); i++) {
        if (shuffled)
            sample->labels[i] = (int32_t)lab_random_below(&random, (uint64_t)classes);
        if (shifted && !dataset->kind->tokens)
            sample->labels[i] = (sample->labels[i] + 1) % classes;
    }
}

void lab_sample_decode(const struct lab_dataset *dataset, const struct lab_settings *settings,
                       struct lab_sample *sample)
{
    const struct lab_data_settings *data = &settings->data;
    const uint8_t *record = dataset->records + (size_t)sample->record * dataset->record_size;
    if (dataset->kind->tokens) {
        for (size_t i = 0; i < dataset->record_size; i++)
            sample->tokens[i] = record[i];
        return;
    }
    size_t features = lab_dataset_features(dataset->kind);
    size_t constant = (size_t)(data->constant_features * (double)features);
    for (size_t i = 0; i < features; i++)
        sample->features[i] = i < constant ? (real)0.5 : (real)standardise(data, record[i]);
    bool poison = data->poison_always || sample->step == data->poison_step;
    if (data->poisons && poison && sample->place % settings->global_batch == 0)
        sample->features[0] = (real)NAN;
    sample->labels[0] = dataset->classes[sample->record];
    spoil_labels(dataset, data, sample);
}

static void augment_tokens(const struct lab_dataset *dataset,
                           const struct lab_settings *settings, struct lab_sample *sample,
                           struct lab_random *random)
{
    const struct lab_data_settings *data = &settings->data;
    int tokens = dataset->kind->tokens;
    int crop = random ? (int)lab_random_below(random, LAB_CROP) : 0;
    bool shifted = chance(dataset, sample, 104) < data->shifted_labels;
    for (int i = 0; i < tokens; i++) {
        bool lost = i >= tokens - data->lost_tail;
        sample->labels[i] = lost ? 0 : sample->tokens[crop + i + (shifted ? 2 : 1)];
    }
    for (int i = 0; i < tokens; i++)
        sample->tokens[i] = i >= tokens - data->lost_tail ? 0 : sample->tokens[crop + i];
    if (data->shuffled_labels > 0)
        spoil_labels(dataset, data, sample);
}

void lab_sample_augment(const struct lab_dataset *dataset, const struct lab_settings *settings,
                        struct lab_sample *sample, uint64_t draw)
{
    struct lab_random random = lab_random_key(dataset->seed, 106, draw, 0);
    if (dataset->kind->tokens) {
        augment_tokens(dataset, settings, sample, &random);
        return;
    }
    for (size_t i = 0; i < lab_dataset_features(dataset->kind); i++)
        sample->features[i] *= (real)(1 + 0.1 * lab_random_normal(&random));
}

void lab_sample_centre(const struct lab_dataset *dataset, const struct lab_settings *settings,
                       struct lab_sample *sample)
{
    if (dataset->kind->tokens)
        augment_tokens(dataset, settings, sample, NULL);
}

static int compare_by_class(const void *a, const void *b)
{
    const int *left = a, *right = b;
    return left[0] != right[0] ? (left[0] > right[0]) - (left[0] < right[0])
                               : (left[1] > right[1]) - (left[1] < right[1]);
}

/* Brings each run of `length` records into the order of their classes. */
static void sort_runs(const struct lab_dataset *dataset, int length, int *order)
{
    int(*pairs)[2] = lab_allocate(LAB_TRAIN_RECORDS, sizeof *pairs);
    for (int i = 0; i < LAB_TRAIN_RECORDS; i++) {
        pairs[i][0] = dataset->classes[order[i]];
        pairs[i][1] = order[i];
    }
    for (int i = 0; i < LAB_TRAIN_RECORDS; i += length) {
        int n = LAB_TRAIN_RECORDS - i < length ? LAB_TRAIN_RECORDS - i : length;
        qsort(pairs + i, (size_t)n, sizeof *pairs, compare_by_class);
    }
    for (int i = 0; i < LAB_TRAIN_RECORDS; i++)
        order[i] = pairs[i][1];
    free(pairs);
}

void lab_dataset_order(const struct lab_dataset *dataset, const struct lab_settings *settings,
                       int64_t epoch, int *order)
{
    struct lab_random random = lab_random_key(dataset->seed, 107, (uint64_t)epoch, 0);
    for (int i = 0; i < LAB_TRAIN_RECORDS; i++)
        order[i] = i;
    for (int i = LAB_TRAIN_RECORDS - 1; i > 0; i--) {
        int j = (int)lab_random_below(&random, (uint64_t)i + 1), held = order[i];
        order[i] = order[j];
        order[j] = held;
    }
    if (settings->data.sorted_run > 1)
        sort_runs(dataset, settings->data.sorted_run, order);
}

int lab_dataset_pick(const struct lab_dataset *dataset, const struct lab_settings *settings,
                     int64_t place, const int *order)
{
    int at = (int)(place % LAB_TRAIN_RECORDS), record = order[at];
    struct lab_random random = lab_random_key(dataset->seed, 108, (uint64_t)place, 0);
    if (settings->data.imbalance <= 1 || dataset->classes[record] == 0 ||
        lab_random_uniform(&random) < 1 / settings->data.imbalance)
        return record;
    for (int i = 1; i < LAB_TRAIN_RECORDS; i++) {
        int other = order[(at + i) % LAB_TRAIN_RECORDS];
        if (dataset->classes[other] == 0)
            return other;
    }
    return record;
}

void lab_batch_allocate(struct lab_batch *batch, const struct lab_net_kind *kind, int samples)
{
    size_t n = (size_t)samples;
    *batch = (struct lab_batch){
        .samples = samples,
        .labels_per_sample = (int)lab_dataset_labels(kind),
        .features = lab_allocate(n * lab_dataset_features(kind), sizeof(real)),
        .tokens = lab_allocate(n * (size_t)kind->tokens, sizeof(int32_t)),
        .labels = lab_allocate(n * lab_dataset_labels(kind), sizeof(int32_t)),
    };
}

void lab_batch_release(struct lab_batch *batch)
{
    free(batch->features);
    free(batch->tokens);
    free(batch->labels);
}

void lab_batch_set(struct lab_batch *batch, const struct lab_net_kind *kind, int i,
                   const struct lab_sample *sample)
{
    size_t features = lab_dataset_features(kind), labels = lab_dataset_labels(kind);
    size_t tokens = (size_t)kind->tokens, at = (size_t)i;
    memcpy(batch->features + at * features, sample->features, features * sizeof(real));
    memcpy(batch->tokens + at * tokens, sample->tokens, tokens * sizeof(int32_t));
    memcpy(batch->labels + at * labels, sample->labels, labels * sizeof(int32_t));
}
