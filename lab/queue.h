/*
 * queue.h - a bounded queue between threads.
 */
#ifndef LAB_QUEUE_H
#define LAB_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct lab_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    void **items;
    size_t capacity, first, length;
    bool closed;
};

void lab_queue_start(struct lab_queue *queue, size_t capacity);
void lab_queue_release(struct lab_queue *queue);
/* Waits for room; false once the queue is closed. */
bool lab_queue_push(struct lab_queue *queue, void *item);
/* Waits for an item; NULL once the queue is closed. */
void *lab_queue_pop(struct lab_queue *queue);
void lab_queue_close(struct lab_queue *queue);
size_t lab_queue_length(struct lab_queue *queue);

#endif
