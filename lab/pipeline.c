/*
 * pipeline.c - stages as threads.
 *
 *   free samples -> read -> [read] -> decode x W -> [decode] -> augment x W -> [augment]
 *     -> batch (puts samples back in sequence) -> [batch] -> send (copies) -> [send] -> training
 *
 * Samples and batches come from fixed pools, so memory is bounded; and as only POOL samples are
 * under way at once, one that overtook others waits at its sequence modulo POOL.
 */
#include "pipeline.h"

#include <pthread.h>
#include <stdlib.h>

#include "queue.h"
#include "random.h"
#include "trouble.h"

enum { POOL = 64, BATCHES = 3, QUEUE = 16, MAX_WORKERS = 8, MAX_THREADS = 3 + 2 * MAX_WORKERS };

struct lab_pipeline {
    const struct lab_plan *plan;
    struct lab_dataset *dataset;
    int rank;
    int64_t first_step;
    struct lab_queue free_samples, free_batches, free_sent; /* what may be filled */
    struct lab_queue read, decoded, augmented, batched, sent;
    struct lab_sample samples[POOL];
    struct lab_batch batches[BATCHES], devices[BATCHES];
    pthread_t threads[MAX_THREADS];
    int thread_count;
};

static const struct lab_settings *settings_of(const struct lab_pipeline *pipeline, int64_t step)
{
    return lab_plan_at(pipeline->plan, step, pipeline->rank);
}

/* Where the sample stands in the whole job. */
static int64_t place_of(const struct lab_pipeline *pipeline, int64_t step, int64_t i)
{
    const struct lab_plan *plan = pipeline->plan;
    const struct lab_data_settings *data = &settings_of(pipeline, step)->data;
    int64_t rank = data->same_shard ? 0 : pipeline->rank;
    int64_t since = data->restarted ? step - plan->change_step : step;
    return (since * plan->ranks + rank) * plan->local_batch + i;
}

static void *read_samples(void *context)
{
    struct lab_pipeline *pipeline = context;
    int *order = lab_allocate(LAB_TRAIN_RECORDS, sizeof *order);
    const struct lab_settings *ordered_for = NULL;
    int64_t epoch = -1;
    struct lab_sample *sample;
    for (int64_t sequence = 0; (sample = lab_queue_pop(&pipeline->free_samples)); sequence++) {
        int64_t batch = pipeline->plan->local_batch;
        sample->sequence = sequence;
        sample->step = pipeline->first_step + sequence / batch;
        sample->place = place_of(pipeline, sample->step, sequence % batch);
        const struct lab_settings *settings = settings_of(pipeline, sample->step);
        if (sample->place / LAB_TRAIN_RECORDS != epoch || settings != ordered_for) {
            epoch = sample->place / LAB_TRAIN_RECORDS;
            ordered_for = settings;
            lab_dataset_order(pipeline->dataset, settings, epoch, order);
        }
        sample->record = lab_dataset_pick(pipeline->dataset, settings, sample->place, order);
        if (!lab_queue_push(&pipeline->read, sample))
            break;
    }
    free(order);
    return NULL;
}

static void *decode_samples(void *context)
{
    struct lab_pipeline *pipeline = context;
    struct lab_sample *sample;
    while ((sample = lab_queue_pop(&pipeline->read))) {
        lab_sample_decode(pipeline->dataset, settings_of(pipeline, sample->step), sample);
        if (!lab_queue_push(&pipeline->decoded, sample))
            break;
    }
    return NULL;
}

static void *augment_samples(void *context)
{
    struct lab_pipeline *pipeline = context;
    struct lab_sample *sample;
    while ((sample = lab_queue_pop(&pipeline->decoded))) {
        const struct lab_settings *settings = settings_of(pipeline, sample->step);
        uint64_t draw = (uint64_t)sample->place;
        if (settings->data.shared_draws > 1)
            draw /= (uint64_t)settings->data.shared_draws;
        lab_sample_augment(pipeline->dataset, settings, sample, draw);
        if (!lab_queue_push(&pipeline->augmented, sample))
            break;
    }
    return NULL;
}

static bool fill_batch(struct lab_pipeline *pipeline, struct lab_batch *batch,
                       struct lab_sample **early, int64_t *next)
{
    for (int i = 0; i < batch->samples; i++, (*next)++) {
        struct lab_sample **slot = &early[*next % POOL];
        while (!*slot) {
            struct lab_sample *sample = lab_queue_pop(&pipeline->augmented);
            if (!sample)
                return false;
            early[sample->sequence % POOL] = sample;
        }
        lab_batch_set(batch, pipeline->dataset->kind, i, *slot);
        if (i == 0)
            batch->first_sample = (int64_t)pipeline->rank * batch->samples;
        if (!lab_queue_push(&pipeline->free_samples, *slot))
            return false;
        *slot = NULL;
    }
    return true;
}

static void *batch_samples(void *context)
{
    struct lab_pipeline *pipeline = context;
    struct lab_sample *early[POOL] = {NULL};
    int64_t next = 0;
    struct lab_batch *batch;
    while ((batch = lab_queue_pop(&pipeline->free_batches)))
        if (!fill_batch(pipeline, batch, early, &next) ||
            !lab_queue_push(&pipeline->batched, batch))
            break;
    return NULL;
}

static void copy_batch(const struct lab_net_kind *kind, const struct lab_batch *from,
                       struct lab_batch *to)
{
    size_t features = lab_dataset_features(kind), labels = lab_dataset_labels(kind);
    size_t tokens = (size_t)kind->tokens;
    to->first_sample = from->first_sample;
    for (int i = 0; i < from->samples; i++) {
        size_t at = (size_t)i;
        struct lab_sample sample = {.features = from->features + at * features,
                                    .tokens = from->tokens + at * tokens,
                                    .labels = from->labels + at * labels};
        lab_batch_set(to, kind, i, &sample);
    }
}

static void *send_batches(void *context)
{
    struct lab_pipeline *pipeline = context;
    struct lab_batch *batch, *device;
    while ((batch = lab_queue_pop(&pipeline->batched))) {
        if (!(device = lab_queue_pop(&pipeline->free_sent)))
            break;
        copy_batch(pipeline->dataset->kind, batch, device);
        if (!lab_queue_push(&pipeline->free_batches, batch) ||
            !lab_queue_push(&pipeline->sent, device))
            break;
    }
    return NULL;
}

static void start_thread(struct lab_pipeline *pipeline, void *(*stage)(void *))
{
    if (pthread_create(&pipeline->threads[pipeline->thread_count], NULL, stage, pipeline) != 0)
        lab_give_up("cannot start a thread of the data pipeline");
    pipeline->thread_count++;
}

static void prepare_pools(struct lab_pipeline *pipeline)
{
    const struct lab_net_kind *kind = pipeline->dataset->kind;
    for (int i = 0; i < POOL; i++) {
        struct lab_sample *sample = &pipeline->samples[i];
        sample->features = lab_allocate(lab_dataset_features(kind), sizeof(real));
        sample->tokens = lab_allocate(lab_dataset_tokens(kind), sizeof(int32_t));
        sample->labels = lab_allocate(lab_dataset_labels(kind), sizeof(int32_t));
        lab_queue_push(&pipeline->free_samples, sample);
    }
    for (int i = 0; i < BATCHES; i++) {
        lab_batch_allocate(&pipeline->batches[i], kind, pipeline->plan->local_batch);
        lab_batch_allocate(&pipeline->devices[i], kind, pipeline->plan->local_batch);
        lab_queue_push(&pipeline->free_batches, &pipeline->batches[i]);
        lab_queue_push(&pipeline->free_sent, &pipeline->devices[i]);
    }
}

struct lab_pipeline *lab_pipeline_start(const struct lab_plan *plan,
                                        struct lab_dataset *dataset, int rank,
                                        int64_t first_step)
{
    struct lab_pipeline *pipeline = lab_allocate(1, sizeof *pipeline);
    pipeline->plan = plan;
    pipeline->dataset = dataset;
    pipeline->rank = rank;
    pipeline->first_step = first_step;
    lab_queue_start(&pipeline->free_samples, POOL);
    lab_queue_start(&pipeline->free_batches, BATCHES);
    lab_queue_start(&pipeline->free_sent, BATCHES);
    lab_queue_start(&pipeline->read, QUEUE);
    lab_queue_start(&pipeline->decoded, QUEUE);
    lab_queue_start(&pipeline->augmented, QUEUE);
    lab_queue_start(&pipeline->batched, BATCHES);
    lab_queue_start(&pipeline->sent, BATCHES);
    prepare_pools(pipeline);
    start_thread(pipeline, read_samples);
    start_thread(pipeline, batch_samples);
    start_thread(pipeline, send_batches);
    int workers = plan->usual.data.workers;
    for (int i = 0; i < workers && i < MAX_WORKERS; i++) {
        start_thread(pipeline, decode_samples);
        start_thread(pipeline, augment_samples);
    }
    return pipeline;
}

struct lab_batch *lab_pipeline_next(struct lab_pipeline *pipeline)
{
    return lab_queue_pop(&pipeline->sent);
}

void lab_pipeline_return(struct lab_pipeline *pipeline, struct lab_batch *batch)
{
    lab_queue_push(&pipeline->free_sent, batch);
}

void lab_pipeline_stop(struct lab_pipeline *pipeline)
{
    struct lab_queue *queues[] = {&pipeline->free_samples, &pipeline->free_batches,
                                  &pipeline->free_sent,    &pipeline->read,
                                  &pipeline->decoded,      &pipeline->augmented,
                                  &pipeline->batched,      &pipeline->sent};
    size_t count = sizeof queues / sizeof queues[0];
    for (size_t i = 0; i < count; i++)
        lab_queue_close(queues[i]);
    for (int i = 0; i < pipeline->thread_count; i++)
        pthread_join(pipeline->threads[i], NULL);
    for (size_t i = 0; i < count; i++)
        lab_queue_release(queues[i]);
    for (int i = 0; i < POOL; i++) {
        free(pipeline->samples[i].features);
        free(pipeline->samples[i].tokens);
        free(pipeline->samples[i].labels);
    }
    for (int i = 0; i < BATCHES; i++) {
        lab_batch_release(&pipeline->batches[i]);
        lab_batch_release(&pipeline->devices[i]);
    }
    free(pipeline);
}

bool lab_pipeline_queue(struct lab_pipeline *pipeline, int i, const char **name, size_t *length,
                        size_t *capacity)
{
    struct {
        const char *name;
        struct lab_queue *queue;
    } const shown[] = {{"read", &pipeline->read},
                       {"decode", &pipeline->decoded},
                       {"augment", &pipeline->augmented},
                       {"batch", &pipeline->batched},
                       {"send", &pipeline->sent}};
    if (i < 0 || (size_t)i >= sizeof shown / sizeof shown[0])
        return false;
    *name = shown[i].name;
    *length = lab_queue_length(shown[i].queue);
    *capacity = shown[i].queue->capacity;
    return true;
}
