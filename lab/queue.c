/*
 * queue.c - a ring with a lock and two conditions.
 */
#include "queue.h"

#include <stdlib.h>

#include "trouble.h"

void lab_queue_start(struct lab_queue *queue, size_t capacity)
{
    *queue = (struct lab_queue){.capacity = capacity};
    queue->items = lab_allocate(capacity, sizeof *queue->items);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    pthread_cond_init(&queue->not_full, NULL);
}

void lab_queue_release(struct lab_queue *queue)
{
    pthread_cond_destroy(&queue->not_full);
    pthread_cond_destroy(&queue->not_empty);
    pthread_mutex_destroy(&queue->lock);
    free(queue->items);
}

bool lab_queue_push(struct lab_queue *queue, void *item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->length == queue->capacity && !queue->closed)
        pthread_cond_wait(&queue->not_full, &queue->lock);
    bool open = !queue->closed;
    if (open) {
        queue->items[(queue->first + queue->length++) % queue->capacity] = item;
        pthread_cond_signal(&queue->not_empty);
    }
    pthread_mutex_unlock(&queue->lock);
    return open;
}

void *lab_queue_pop(struct lab_queue *queue)
{
    void *item = NULL;
    pthread_mutex_lock(&queue->lock);
    while (queue->length == 0 && !queue->closed)
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    if (!queue->closed) {
        item = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->length--;
        pthread_cond_signal(&queue->not_full);
    }
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void lab_queue_close(struct lab_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->not_empty);
    pthread_cond_broadcast(&queue->not_full);
    pthread_mutex_unlock(&queue->lock);
}

size_t lab_queue_length(struct lab_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t length = queue->length;
    pthread_mutex_unlock(&queue->lock);
    return length;
}
