/* run_data.c - see run_data.h. Batches are known by their fingerprints, over all ranks and steps. */
#include "compare/run_data.h"

#include "base/memory.h"
#include "base/text.h"
#include "model/dtype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BATCHES = 1 << 20, MOST_SHIFT = 1 << 20 };

struct batch {
    uint64_t fingerprint;
    int64_t step;
    int rank;
};

struct batches {
    struct batch *items; /* by fingerprint, then step and rank */
    size_t count, capacity;
    bool failed;
};

static int by_fingerprint(const void *x, const void *y)
{
    const struct batch *a = x, *b = y;
    if (a->fingerprint != b->fingerprint)
        return a->fingerprint < b->fingerprint ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool see(void *context, const struct plumb_tensor_record *record)
{
    struct batches *batches = context;
    if (!record->fingerprint || batches->count == MOST_BATCHES)
        return batches->count < MOST_BATCHES;
    if (batches->count == batches->capacity) {
        const size_t larger = batches->capacity ? 2 * batches->capacity : 256;
        void *items = plumb_realloc_array(batches->items, larger, sizeof *batches->items);
        batches->failed = !items;
        if (!items)
            return false;
        batches->items = items;
        batches->capacity = larger;
    }
    batches->items[batches->count++] =
        (struct batch){record->fingerprint, record->step, record->rank};
    return true;
}

/* All batches of a run, of the tensor that the event is about; false if they cannot be had. */
static bool load(struct batches *batches, struct plumb_run *run, const char *op,
                 const char *slot)
{
    const struct plumb_run_query query = {.rank = -1, .op = op, .slot = slot};
    if (plumb_run_visit_records(run, &query, see, batches, NULL) || batches->failed)
        return false;
    if (batches->count)
        qsort(batches->items, batches->count, sizeof *batches->items, by_fingerprint);
    return true;
}

/* The first with this fingerprint, NULL if there is none; those that follow it are alike. */
static const struct batch *find(const struct batches *batches, uint64_t fingerprint)
{
    size_t low = 0, high = batches->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (batches->items[middle].fingerprint < fingerprint)
            low = middle + 1;
        else
            high = middle;
    }
    return low < batches->count && batches->items[low].fingerprint == fingerprint
               ? &batches->items[low]
               : NULL;
}

/* The one of them at a rank and step, NULL if there is none. */
static const struct batch *find_at(const struct batches *batches, uint64_t fingerprint,
                                   int rank, int64_t step)
{
    const struct batch *end = batches->items + batches->count;
    for (const struct batch *at = find(batches, fingerprint);
         at && at < end && at->fingerprint == fingerprint; at++)
        if (at->rank == rank && at->step == step)
            return at;
    return NULL;
}

/* ---- classes ------------------------------------------------------------------------------------- */

struct parted {
    struct batches a, b;
    const struct batch *from; /* A's batch at the event's place */
    struct batch here;        /* B's */
};

/* Does another rank of B read the same at this step? Then it should have read something else. */
static const struct batch *find_twin(const struct parted *parted)
{
    const struct batch *end = parted->b.items + parted->b.count;
    for (const struct batch *at = find(&parted->b, parted->here.fingerprint);
         at && at < end && at->fingerprint == parted->here.fingerprint; at++)
        if (at->step == parted->here.step && at->rank != parted->here.rank)
            return at;
    return NULL;
}

/* The last earlier step at which this rank of B read the same. */
static const struct batch *find_repeat(const struct parted *parted, const struct batch *here)
{
    const struct batch *end = parted->b.items + parted->b.count, *last = NULL;
    for (const struct batch *at = find(&parted->b, here->fingerprint);
         at && at < end && at->fingerprint == here->fingerprint; at++)
        if (at->rank == here->rank && at->step < here->step)
            last = at;
    return last;
}

/* One batch comes twice where a loader falls behind; most of them where an order is not drawn anew. */
static bool most_repeat(const struct parted *parted)
{
    size_t later = 0, again = 0;
    for (size_t i = 0; i < parted->b.count; i++) {
        const struct batch *b = &parted->b.items[i];
        if (b->rank != parted->here.rank || b->step < parted->here.step)
            continue;
        later++;
        again += find_repeat(parted, b) != NULL;
    }
    return 2 * again >= later;
}

/* The rank of A that reads at this step what B reads here. */
static const struct batch *find_other_rank(const struct parted *parted)
{
    const struct batch *end = parted->a.items + parted->a.count;
    for (const struct batch *at = find(&parted->a, parted->here.fingerprint);
         at && at < end && at->fingerprint == parted->here.fingerprint; at++)
        if (at->step == parted->here.step && at->rank != parted->here.rank)
            return at;
    return NULL;
}

/* B reads at every step from here on what A reads `shift` steps later: of so many, how many? */
static size_t count_shifted(const struct parted *parted, int64_t shift, size_t *of)
{
    size_t same = 0;
    *of = 0;
    for (size_t i = 0; i < parted->b.count; i++) {
        const struct batch *b = &parted->b.items[i];
        if (b->rank != parted->here.rank || b->step < parted->here.step)
            continue;
        ++*of;
        same += find_at(&parted->a, b->fingerprint, b->rank, b->step + shift) != NULL;
    }
    return same;
}

/* How many of B's batches from here on A reads at some step on this rank. */
static size_t count_known(const struct parted *parted, size_t *of)
{
    size_t known = 0;
    *of = 0;
    for (size_t i = 0; i < parted->b.count; i++) {
        const struct batch *b = &parted->b.items[i];
        if (b->rank != parted->here.rank || b->step < parted->here.step)
            continue;
        ++*of;
        known += find(&parted->a, b->fingerprint) != NULL;
    }
    return known;
}

static void describe_steps(const struct parted *parted, char *text, size_t size)
{
    const struct batch *in_a = find(&parted->a, parted->here.fingerprint);
    const struct batch *end = parted->a.items + parted->a.count;
    size_t of = 0;
    for (; in_a && in_a < end && in_a->fingerprint == parted->here.fingerprint; in_a++) {
        const int64_t shift = in_a->step - parted->here.step;
        if (in_a->rank != parted->here.rank || llabs(shift) > MOST_SHIFT)
            continue;
        const size_t same = count_shifted(parted, shift, &of);
        /* A's last batches have no partner when B is ahead. */
        if (same >= 2 && same + (size_t)llabs(shift) >= of) {
            (void)snprintf(
                text, size, "; B's batches are A's of %lld step%s %s: shifted from here on",
                llabs(shift), llabs(shift) == 1 ? "" : "s", shift > 0 ? "later" : "earlier");
            return;
        }
    }
    const size_t known = count_known(parted, &of);
    if (known)
        (void)snprintf(text, size,
                       "; %zu of B's %zu batches from here on are A's of other steps: another "
                       "order of batches",
                       known, of);
}

static void describe_batches(const struct parted *parted, char *text, size_t size)
{
    const struct batch *twin = find_twin(parted);
    const struct batch *repeat = find_repeat(parted, &parted->here);
    const struct batch *other = find_other_rank(parted);
    const bool taken_back =
        other && find_at(&parted->b, parted->from->fingerprint, other->rank, other->step);
    if (twin)
        (void)snprintf(text, size,
                       "; ranks %d and %d of B read the same batch: the data are not split",
                       twin->rank < parted->here.rank ? twin->rank : parted->here.rank,
                       twin->rank < parted->here.rank ? parted->here.rank : twin->rank);
    else if (taken_back)
        (void)snprintf(text, size, "; ranks %d and %d of B read each other's batches",
                       parted->here.rank, other->rank);
    else if (other)
        (void)snprintf(text, size, "; B's rank %d reads what rank %d reads in A",
                       parted->here.rank, other->rank);
    else if (repeat && most_repeat(parted))
        (void)snprintf(text, size,
                       "; it is B's own batch of step %lld again: batches repeat, the order is "
                       "not drawn anew",
                       (long long)repeat->step);
    else
        describe_steps(parted, text, size);
}

/* ---- normalisation ---------------------------------------------------------------------------------- */

static bool is_close(double a, double b)
{
    return fabs(a - b) <= 1e-4 * fabs(b);
}

/* B = s A + t. */
static void describe_affine(double s, double t, double spread, char *text, size_t size)
{
    const bool shifted = fabs(t) > 1e-5 * spread;
    const char *habit = is_close(s, 255) && !shifted         ? "B is not divided by 255"
                        : is_close(s, 1.0 / 255) && !shifted ? "B is divided by 255 once more"
                        : is_close(s, 1)                     ? "another mean is subtracted"
                        : !shifted                           ? "another scale"
                                                             : "another mean and deviation";
    (void)snprintf(text, size, "; B is A times %.6g plus %.6g: another normalisation (%s)", s,
                   shifted ? t : 0, habit);
}

/* What the statistics of the two batches tell. */
static void describe_values(const struct plumb_event *event, char *text, size_t size)
{
    double s, t;
    const struct plumb_stats *a = &event->a.stats, *b = &event->b.stats;
    if (event->error.basis == PLUMB_BASIS_BITS)
        return;
    if (event->error.reordered)
        (void)snprintf(text, size, "; the samples are the same, in another order");
    else if (b->min == b->max && a->min < a->max)
        (void)snprintf(text, size, "; all values of B are %.6g", b->min);
    else if (plumb_dtype_is_float((enum plumb_dtype)event->a.dtype) &&
             plumb_row_is_affine(&event->a, &event->b, &s, &t))
        describe_affine(s, t, b->max - b->min, text, size);
    else if (a->min < 0 && b->min >= 0 && (b->max <= 1 || (b->max > 100 && b->max <= 255)))
        (void)snprintf(text, size,
                       "; B's values lie between 0 and %d: another normalisation (B is not %s)",
                       b->max <= 1 ? 1 : 255, b->max <= 1 ? "centred" : "normalised");
}

void plumb_data_describe(struct plumb_run_diff *diff, const struct plumb_event *event,
                         char *text, size_t size)
{
    struct parted parted = {.here = {event->b.fingerprint, event->b.step, event->rank}};
    const struct batch from = {event->a.fingerprint, event->a.step, event->rank};
    const char *const *names = diff->names.texts;
    text[0] = '\0';
    parted.from = &from;
    const bool comparable = event->a.fingerprint && event->b.fingerprint &&
                            event->a.fingerprint_kind == event->b.fingerprint_kind;
    if (comparable && load(&parted.a, diff->a, names[event->a.label], names[event->a.slot]) &&
        load(&parted.b, diff->b, names[event->b.label], names[event->b.slot]))
        describe_batches(&parted, text, size);
    plumb_free(parted.a.items);
    plumb_free(parted.b.items);
    if (!text[0])
        describe_values(event, text, size);
    const char *slot = names[event->slot];
    if (!text[0] && plumb_text_starts(slot, "output") && strcmp(slot, "output0") != 0)
        (void)snprintf(text, size,
                       "; output0 is the same: only this part of the batch differs, the labels "
                       "as a rule");
}
