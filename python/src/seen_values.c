/* seen_values.c - see seen_values.h. One table for all threads: a gradient is made by one and used by another. */
#include "seen_values.h"

#include <pthread.h>
#include <string.h>

enum {
    HEADS = 1 << 12,
    MOST = 1 << 14, /* further ones are not remembered */
    SAMPLES = 8,
    MORE_SAMPLES = 256, /* of values that are nearly all alike */
    LIVELY = 4,         /* samples unlike the one before them, of those that are not */
};

struct entry {
    int next;   /* of the same head; -1: none */
    bool lasts; /* beyond the step */
    uintptr_t storage, begin, end;
    enum plumb_dtype dtype;
    enum plumb_op_order order;
    int64_t count;
    uint64_t shape; /* a hash of shape and strides */
    uint64_t samples;
    bool empty;
    struct plumb_known known;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[MOST];
static int used, spare = -1; /* entries given back, linked by `next` */
static int heads[HEADS];     /* index + 1; 0: none */
static bool started, lasting;

static size_t head_of(uintptr_t storage)
{
    return ((uint64_t)storage >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ (h >> 32);
}

static uint64_t hash_shape(const struct plumb_op_tensor *tensor)
{
    uint64_t h = (uint64_t)tensor->rank;
    for (int i = 0; i < tensor->rank; i++)
        h = mix(mix(h, (uint64_t)tensor->shape[i]), (uint64_t)tensor->strides[i]);
    return h;
}

/* `count` words spread over the memory from its first to its last; tells how often they changed. */
static uint64_t hash_words(const unsigned char *data, size_t bytes, size_t count, int *changes)
{
    const size_t step = (bytes - sizeof(uint64_t)) / (count - 1);
    uint64_t h = bytes, word = 0, before;
    for (size_t i = 0; i < count; i++) {
        before = word;
        memcpy(&word, data + i * step, sizeof word);
        *changes += i && word != before;
        h = mix(h, word);
    }
    return h;
}

/* A few words spread over its memory. Numbers that were changed nearly always show in one of them, unless most
 * are alike, as in masks, padding or the black of an image: then it takes more. */
static uint64_t hash_samples(const struct plumb_op_tensor *tensor)
{
    const size_t bytes = tensor->end - (uintptr_t)tensor->data;
    int changes = 0;
    if (bytes < 2 * sizeof(uint64_t)) {
        uint64_t words[2] = {0, 0};
        memcpy(words, tensor->data, bytes);
        return mix(mix(bytes, words[0]), words[1]);
    }
    const size_t all = bytes / sizeof(uint64_t);
    const size_t few = all < SAMPLES ? all : (size_t)SAMPLES;
    const uint64_t h = hash_words(tensor->data, bytes, few, &changes);
    if (changes >= LIVELY || few == all)
        return h;
    return mix(h, hash_words(tensor->data, bytes,
                             all < MORE_SAMPLES ? all : (size_t)MORE_SAMPLES, &changes));
}

static void forget_all(void)
{
    memset(heads, 0, sizeof heads);
    used = 0;
    spare = -1;
    started = true;
}

void plumb_seen_forget_all(void)
{
    (void)pthread_mutex_lock(&lock);
    forget_all();
    (void)pthread_mutex_unlock(&lock);
}

void plumb_seen_lasts(bool lasts)
{
    (void)pthread_mutex_lock(&lock);
    lasting = lasts;
    (void)pthread_mutex_unlock(&lock);
}

/* Takes the entry that `link` leads to out of its list. */
static void give_back(int *link)
{
    const int index = *link - 1;
    *link = entries[index].next;
    entries[index].next = spare;
    spare = index;
}

void plumb_seen_next_step(void)
{
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < HEADS; i++) {
        int *link = &heads[i];
        while (*link) {
            struct entry *entry = &entries[*link - 1];
            if (entry->lasts) {
                entry->lasts = false;
                link = &entry->next;
            } else {
                give_back(link);
            }
        }
    }
    lasting = false;
    (void)pthread_mutex_unlock(&lock);
}

static void forget_range(uintptr_t storage, uintptr_t begin, uintptr_t end)
{
    int *link = &heads[head_of(storage)];
    while (*link) {
        struct entry *entry = &entries[*link - 1];
        if (entry->storage == storage && entry->begin < end && begin < entry->end)
            give_back(link);
        else
            link = &entry->next;
    }
}

void plumb_seen_forget(const struct plumb_op_tensor *tensor)
{
    (void)pthread_mutex_lock(&lock);
    forget_range(tensor->storage, (uintptr_t)tensor->data, tensor->end);
    (void)pthread_mutex_unlock(&lock);
}

static int take_entry(void)
{
    if (spare < 0)
        return used < MOST ? used++ : -1;
    const int index = spare;
    spare = entries[index].next;
    return index;
}

/* With the lock held. */
static void keep(const struct plumb_op_tensor *tensor, uint64_t shape, uint64_t samples,
                 const struct plumb_known *known)
{
    const int index = take_entry();
    if (index < 0)
        return;
    int *head = &heads[head_of(tensor->storage)];
    struct entry *entry = &entries[index];
    entry->next = *head;
    entry->lasts = lasting;
    entry->storage = tensor->storage;
    entry->begin = (uintptr_t)tensor->data;
    entry->end = tensor->end;
    entry->dtype = tensor->dtype;
    entry->order = tensor->order;
    entry->count = tensor->count;
    entry->shape = shape;
    entry->samples = samples;
    entry->empty = !known;
    if (known)
        entry->known = *known;
    *head = index + 1;
}

static void remember(const struct plumb_op_tensor *tensor, bool forgets,
                     const struct plumb_known *known)
{
    const uint64_t samples = hash_samples(tensor), shape = hash_shape(tensor);
    (void)pthread_mutex_lock(&lock);
    if (!started)
        forget_all();
    if (forgets)
        forget_range(tensor->storage, (uintptr_t)tensor->data, tensor->end);
    keep(tensor, shape, samples, known);
    (void)pthread_mutex_unlock(&lock);
}

void plumb_seen_remember(const struct plumb_op_tensor *tensor, const struct plumb_known *known)
{
    remember(tensor, false, known);
}

void plumb_seen_replace(const struct plumb_op_tensor *tensor, const struct plumb_known *known)
{
    remember(tensor, true, known);
}

/* The same elements: equal bounds, and either the same strides or no holes on either side. */
static enum plumb_seen_match match(const struct entry *entry,
                                   const struct plumb_op_tensor *tensor, uint64_t shape)
{
    if (entry->storage != tensor->storage || entry->begin != (uintptr_t)tensor->data ||
        entry->end != tensor->end || entry->dtype != tensor->dtype ||
        entry->count != tensor->count)
        return PLUMB_SEEN_NOT;
    if (entry->empty)
        return PLUMB_SEEN_EMPTY;
    if (entry->shape == shape ||
        (entry->order == PLUMB_ORDER_PLAIN && tensor->order == PLUMB_ORDER_PLAIN))
        return PLUMB_SEEN_ALL;
    return entry->order != PLUMB_ORDER_SCATTERED && tensor->order != PLUMB_ORDER_SCATTERED
               ? PLUMB_SEEN_STATS
               : PLUMB_SEEN_NOT;
}

enum plumb_seen_match plumb_seen_find(const struct plumb_op_tensor *tensor,
                                      struct plumb_known *known)
{
    enum plumb_seen_match best = PLUMB_SEEN_NOT;
    uint64_t samples = 0;
    const uint64_t shape = hash_shape(tensor);
    (void)pthread_mutex_lock(&lock);
    for (int at = heads[head_of(tensor->storage)]; at; at = entries[at - 1].next) {
        const struct entry *entry = &entries[at - 1];
        const enum plumb_seen_match found = match(entry, tensor, shape);
        if (found > best) {
            best = found;
            samples = entry->samples;
            *known = entry->known;
        }
    }
    if (best != PLUMB_SEEN_NOT && samples != hash_samples(tensor)) {
        forget_range(tensor->storage, (uintptr_t)tensor->data, tensor->end);
        best = PLUMB_SEEN_NOT;
    }
    (void)pthread_mutex_unlock(&lock);
    return best;
}
