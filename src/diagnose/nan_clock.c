/* nan_clock.c - see nan_clock.h. */
#include "diagnose/nan_clock.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum { MOST_COLLECTIVES = 64 << 20, NONE = -1 };

/* One collective as one rank took part in it. */
struct part {
    uint64_t key; /* of group and sequence */
    int64_t step;
    uint64_t time;
    int32_t rank; /* index */
    uint32_t id;  /* of the collective */
};

struct plumb_nan_clock {
    struct part *parts; /* rank after rank, in the order of each */
    size_t count, capacity;
    int *ranks;    /* by index */
    size_t *first; /* part of each rank, and the end */
    size_t rank_count;
    bool failed, too_many;
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

static bool see(void *context, const struct plumb_rank_collective *row)
{
    struct plumb_nan_clock *clock = context;
    if (clock->count == clock->capacity) {
        const size_t capacity = clock->capacity ? 2 * clock->capacity : 1024;
        clock->too_many = clock->count >= MOST_COLLECTIVES;
        struct part *parts =
            clock->too_many ? NULL : plumb_realloc_array(clock->parts, capacity, sizeof *parts);
        clock->failed = !parts;
        if (!parts)
            return false;
        clock->parts = parts;
        clock->capacity = capacity;
    }
    clock->parts[clock->count++] = (struct part){
        .key = key_of(&row->collective), .step = row->step, .rank = (int32_t)clock->rank_count};
    return true;
}

static enum plumb_status read_ranks(struct plumb_nan_clock *clock, struct plumb_run *run,
                                    struct plumb_error *err)
{
    const size_t count = plumb_run_rank_count(run);
    clock->ranks = plumb_alloc_array(count + 1, sizeof *clock->ranks);
    clock->first = plumb_alloc_array(count + 1, sizeof *clock->first);
    if (!clock->ranks || !clock->first)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct plumb_run_query query = {.rank = plumb_run_rank(run, i)->rank};
        clock->ranks[i] = query.rank;
        clock->first[i] = clock->count;
        const enum plumb_status status =
            plumb_run_visit_collectives(run, &query, see, clock, err);
        if (status)
            return status;
        if (clock->too_many)
            return plumb_fail(err, PLUMB_LIMIT, -1, "%s: more than %d collectives",
                              plumb_run_path(run), MOST_COLLECTIVES);
        if (clock->failed)
            return plumb_fail_memory(err);
        clock->rank_count++;
    }
    clock->first[count] = clock->count;
    return PLUMB_OK;
}

/* ---- which parts are the same collective ---------------------------------------------------------- */

static int by_key_and_rank(const void *x, const void *y)
{
    const struct part *a = *(struct part *const *)x, *b = *(struct part *const *)y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a > b) - (a < b);
}

/* Numbers the collectives; a rank that names one twice is alone in the second. */
static bool number_collectives(struct plumb_nan_clock *clock, uint32_t *members)
{
    struct part **sorted = plumb_alloc_array(clock->count + 1, sizeof(struct part *));
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

enum plumb_status plumb_nan_clock_new(struct plumb_run *run, struct plumb_nan_clock **out,
                                      struct plumb_error *err)
{
    struct plumb_nan_clock *clock = plumb_alloc_array(1, sizeof *clock);
    enum plumb_status status = clock ? read_ranks(clock, run, err) : plumb_fail_memory(err);
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
