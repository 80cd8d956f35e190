/* nan_clock.c - see nan_clock.h. */
#include "diagnose/nan_clock.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum { MOST_COLLECTIVES = 64 << 20, NONE = -1 };

/* One collective as one rank took part in it. */
struct plumb_nan_part {
    uint64_t key; /* of group and sequence */
    int64_t step;
    uint64_t time;
    int32_t rank; /* index */
    uint32_t id;  /* of the collective */
};

struct plumb_nan_clock {
    struct plumb_nan_part *parts; /* rank after rank, in the order of each */
    size_t count;
    int *ranks;    /* by index */
    size_t *first; /* part of each rank, and the end */
    size_t rank_count;
};

/* ---- reading ------------------------------------------------------------------------------------ */

static uint64_t key_of(const struct plumb_collective *collective)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *text = collective->group; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    hash = (hash ^ (uint64_t)collective->sequence) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

bool plumb_nan_parts_add(struct plumb_nan_parts *parts, const struct plumb_rank_collective *row)
{
    if (parts->count == parts->capacity) {
        const size_t capacity = parts->capacity ? 2 * parts->capacity : 256;
        struct plumb_nan_part *items =
            parts->count < MOST_COLLECTIVES
                ? plumb_realloc_array(parts->items, capacity, sizeof *items)
                : NULL;
        parts->failed = !items;
        if (!items)
            return false;
        parts->items = items;
        parts->capacity = capacity;
    }
    parts->items[parts->count++] =
        (struct plumb_nan_part){.key = key_of(&row->collective), .step = row->step};
    return true;
}

void plumb_nan_parts_release(struct plumb_nan_parts *parts)
{
    plumb_free(parts->items);
    *parts = (struct plumb_nan_parts){0};
}

static enum plumb_status join_ranks(struct plumb_nan_clock *clock, const struct plumb_run *run,
                                    const struct plumb_nan_parts *parts,
                                    struct plumb_error *err)
{
    const size_t count = plumb_run_rank_count(run);
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += parts[i].count;
    if (total > MOST_COLLECTIVES)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: more than %d collectives",
                          plumb_run_path(run), MOST_COLLECTIVES);
    clock->ranks = plumb_alloc_array(count + 1, sizeof *clock->ranks);
    clock->first = plumb_alloc_array(count + 1, sizeof *clock->first);
    clock->parts = plumb_alloc_array(total + 1, sizeof *clock->parts);
    if (!clock->ranks || !clock->first || !clock->parts)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        clock->ranks[i] = plumb_run_rank(run, i)->rank;
        clock->first[i] = clock->count;
        for (size_t k = 0; k < parts[i].count; k++) {
            clock->parts[clock->count] = parts[i].items[k];
            clock->parts[clock->count++].rank = (int32_t)i;
        }
    }
    clock->rank_count = count;
    clock->first[count] = clock->count;
    return PLUMB_OK;
}

/* ---- which parts are the same collective ---------------------------------------------------------- */

static int by_key_and_rank(const void *x, const void *y)
{
    const struct plumb_nan_part *a = *(struct plumb_nan_part *const *)x,
                                *b = *(struct plumb_nan_part *const *)y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a > b) - (a < b);
}

/* Numbers the collectives; a rank that names one twice is alone in the second. */
static bool number_collectives(struct plumb_nan_clock *clock, uint32_t *members)
{
    struct plumb_nan_part **sorted =
        plumb_alloc_array(clock->count + 1, sizeof(struct plumb_nan_part *));
    uint32_t id = 0;
    if (!sorted)
        return false;
    for (size_t i = 0; i < clock->count; i++)
        sorted[i] = &clock->parts[i];
    qsort(sorted, clock->count, sizeof *sorted, by_key_and_rank);
    uint32_t shared = 0;
    for (size_t i = 0; i < clock->count; i++) {
        const bool same_key = i && sorted[i]->key == sorted[i - 1]->key;
        const bool twice = same_key && sorted[i]->rank == sorted[i - 1]->rank;
        if (!same_key)
            shared = id++;
        sorted[i]->id = twice ? id++ : shared;
        members[sorted[i]->id]++;
    }
    plumb_free(sorted);
    return true;
}

/* ---- time ------------------------------------------------------------------------------------------ */

struct meeting {
    uint64_t time;   /* the latest of those who wait */
    int32_t waiting; /* the last rank that came, or NONE */
    uint32_t came;
};

struct simulation {
    struct plumb_nan_clock *clock;
    uint32_t *members;
    struct meeting *meetings;
    size_t *at;     /* next part of each rank */
    uint64_t *now;  /* of each rank */
    int32_t *next;  /* who waits beside it */
    int32_t *ready; /* ranks that can go on */
    size_t ready_count;
};

/* All who wait go on. */
static void finish_meeting(struct simulation *s, struct meeting *meeting)
{
    for (int32_t rank = meeting->waiting; rank != NONE; rank = s->next[rank]) {
        s->now[rank] = meeting->time + 1;
        s->clock->parts[s->at[rank]++].time = s->now[rank];
        s->ready[s->ready_count++] = rank;
    }
    meeting->waiting = NONE;
}

static void arrive(struct simulation *s, int32_t rank)
{
    if (s->at[rank] == s->clock->first[rank + 1])
        return;
    const uint32_t id = s->clock->parts[s->at[rank]].id;
    struct meeting *meeting = &s->meetings[id];
    if (s->now[rank] > meeting->time)
        meeting->time = s->now[rank];
    s->next[rank] = meeting->waiting;
    meeting->waiting = rank;
    if (++meeting->came >= s->members[id])
        finish_meeting(s, meeting);
}

/* Some wait for ever, as in a run that hung: the earliest meeting takes place without the others. */
static bool release_one(struct simulation *s)
{
    struct meeting *earliest = NULL;
    for (size_t i = 0; i < s->clock->rank_count; i++) {
        if (s->at[i] == s->clock->first[i + 1])
            continue;
        struct meeting *meeting = &s->meetings[s->clock->parts[s->at[i]].id];
        if (!earliest || meeting->time < earliest->time)
            earliest = meeting;
    }
    if (earliest)
        finish_meeting(s, earliest);
    return earliest != NULL;
}

static void simulate(struct simulation *s)
{
    for (size_t i = 0; i < s->clock->count; i++)
        s->meetings[i].waiting = NONE;
    for (size_t i = 0; i < s->clock->rank_count; i++) {
        s->at[i] = s->clock->first[i];
        s->ready[s->ready_count++] = (int32_t)i;
    }
    do {
        while (s->ready_count)
            arrive(s, s->ready[--s->ready_count]);
    } while (release_one(s));
}

static bool run_clock(struct plumb_nan_clock *clock)
{
    const size_t ranks = clock->rank_count + 1;
    struct simulation s = {
        .clock = clock,
        .members = plumb_alloc_array(clock->count + 1, sizeof *s.members),
        .meetings = plumb_alloc_array(clock->count + 1, sizeof *s.meetings),
        .at = plumb_alloc_array(ranks, sizeof *s.at),
        .now = plumb_alloc_array(ranks, sizeof *s.now),
        .next = plumb_alloc_array(ranks, sizeof *s.next),
        .ready = plumb_alloc_array(ranks, sizeof *s.ready),
    };
    const bool whole = s.members && s.meetings && s.at && s.now && s.next && s.ready &&
                       number_collectives(clock, s.members);
    if (whole)
        simulate(&s);
    plumb_free(s.ready);
    plumb_free(s.next);
    plumb_free(s.now);
    plumb_free(s.at);
    plumb_free(s.meetings);
    plumb_free(s.members);
    return whole;
}

enum plumb_status plumb_nan_clock_new(const struct plumb_run *run,
                                      const struct plumb_nan_parts *parts,
                                      struct plumb_nan_clock **out, struct plumb_error *err)
{
    struct plumb_nan_clock *clock = plumb_alloc_array(1, sizeof *clock);
    enum plumb_status status =
        clock ? join_ranks(clock, run, parts, err) : plumb_fail_memory(err);
    if (!status && !run_clock(clock))
        status = plumb_fail_memory(err);
    if (status)
        plumb_nan_clock_free(clock);
    else
        *out = clock;
    return status;
}

void plumb_nan_clock_free(struct plumb_nan_clock *clock)
{
    if (!clock)
        return;
    plumb_free(clock->first);
    plumb_free(clock->ranks);
    plumb_free(clock->parts);
    plumb_free(clock);
}

uint64_t plumb_nan_clock_time(const struct plumb_nan_clock *clock, int rank, int64_t step,
                              uint64_t passed)
{
    size_t index = 0;
    while (index < clock->rank_count && clock->ranks[index] != rank)
        index++;
    if (index == clock->rank_count || clock->first[index] == clock->first[index + 1])
        return passed; /* no collectives are recorded: their records alone count */
    /* The first part of the step, or of a later one. */
    size_t low = clock->first[index], high = clock->first[index + 1];
    const size_t begin = low;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (clock->parts[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    const size_t after = low + passed;
    const size_t end = clock->first[index + 1];
    if (after == begin)
        return 0;
    return clock->parts[(after < end ? after : end) - 1].time;
}
