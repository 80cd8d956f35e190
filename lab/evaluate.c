/*
 * evaluate.c - runs the held-out records through the network without changing it.
 */
#include "evaluate.h"

#include <stdlib.h>

#include "trouble.h"

static void fill(struct lab_batch *batch, const struct lab_dataset *dataset,
                 const struct lab_settings *settings, int64_t first)
{
    const struct lab_net_kind *kind = dataset->kind;
    struct lab_sample sample = {
        .features = lab_allocate(lab_dataset_features(kind), sizeof(real)),
        .tokens = lab_allocate(lab_dataset_tokens(kind), sizeof(int32_t)),
        .labels = lab_allocate(lab_dataset_labels(kind), sizeof(int32_t)),
    };
    for (int i = 0; i < batch->samples; i++) {
        sample.record = LAB_TRAIN_RECORDS + (int)((first + i) % LAB_EVAL_RECORDS);
        lab_sample_decode(dataset, settings, &sample);
        lab_sample_centre(dataset, settings, &sample);
        lab_batch_set(batch, kind, i, &sample);
    }
    batch->first_sample = first;
    free(sample.features);
    free(sample.tokens);
    free(sample.labels);
}

struct lab_evaluation lab_evaluate(const struct lab_plan *plan,
                                   const struct lab_settings *settings,
                                   const struct lab_dataset *dataset, struct lab_net *net,
                                   struct lab_group *group, int rank, int64_t step)
{
    /* Same preparation of the values as in training, but the labels of an evaluation are right. */
    struct lab_settings clean = *settings;
    clean.data.shuffled_labels = clean.data.shifted_labels = 0;
    clean.data.lost_tail = 0;
    clean.data.poisons = false;
    struct lab_batch batch;
    lab_batch_allocate(&batch, plan->kind, plan->local_batch);
    struct lab_pass pass = {.dropout = settings->model.dropout_in_eval,
                            .seed = plan->seed,
                            .random_step = step,
                            .batch = &batch};
    int64_t global = (int64_t)plan->local_batch * plan->ranks;
    int64_t rounds = (LAB_EVAL_RECORDS + global - 1) / global;
    double loss = 0;
    int correct = 0;
    for (int64_t i = 0; i < rounds; i++) {
        fill(&batch, dataset, &clean, i * global + (int64_t)rank * plan->local_batch);
        lab_net_forward(net, &pass, NULL);
        loss += (double)net->loss->value[0];
        correct += lab_net_correct(net, &batch);
    }
    real sums[2] = {(real)loss, (real)correct};
    lab_all_reduce(group, rank, sums, 2);
    double labels = (double)(rounds * global * batch.labels_per_sample);
    lab_batch_release(&batch);
    return (struct lab_evaluation){(double)sums[0] / (double)(rounds * plan->ranks),
                                   (double)sums[1] / labels};
}
