/* run_overlap.c - see run_overlap.h. */
#include "compare/run_overlap.h"

#include <stdio.h>

static const struct plumb_run_rank *find_rank(const struct plumb_run *run, int rank)
{
    for (size_t i = 0; i < plumb_run_rank_count(run); i++)
        if (plumb_run_rank(run, i)->rank == rank)
            return plumb_run_rank(run, i);
    return NULL;
}

static bool has_steps(const struct plumb_run_rank *rank)
{
    return rank->records && rank->first_step <= rank->last_step;
}

static struct plumb_step_range join(struct plumb_step_range range,
                                    const struct plumb_run_rank *rank)
{
    if (range.last < range.first)
        return (struct plumb_step_range){rank->first_step, rank->last_step};
    range.first = rank->first_step < range.first ? rank->first_step : range.first;
    range.last = rank->last_step > range.last ? rank->last_step : range.last;
    return range;
}

const struct plumb_run_rank *plumb_overlap_partner(const struct plumb_overlap *overlap,
                                                   const struct plumb_run *b,
                                                   const struct plumb_run_rank *rank)
{
    const struct plumb_run_rank *partner =
        find_rank(b, overlap->other_rank ? overlap->rank_b : rank->rank);
    return partner && has_steps(rank) && has_steps(partner) ? partner : NULL;
}

/* One step each, with another number. */
static void shift_single_steps(struct plumb_overlap *overlap)
{
    if (overlap->both.first <= overlap->both.last || overlap->a.first != overlap->a.last ||
        overlap->b.first != overlap->b.last)
        return;
    overlap->shift = overlap->b.first - overlap->a.first;
    overlap->both = overlap->a;
}

void plumb_overlap_find(struct plumb_overlap *overlap, const struct plumb_run *a,
                        const struct plumb_run *b)
{
    const size_t count = plumb_run_rank_count(a);
    *overlap = (struct plumb_overlap){
        .a = {0, -1}, .b = {0, -1}, .both = {INT64_MAX, INT64_MIN}, .most_records = 1};
    if (count == 1 && plumb_run_rank_count(b) == 1) {
        overlap->rank_a = plumb_run_rank(a, 0)->rank;
        overlap->rank_b = plumb_run_rank(b, 0)->rank;
        overlap->other_rank = overlap->rank_a != overlap->rank_b;
    }
    for (size_t i = 0; i < count; i++) {
        const struct plumb_run_rank *x = plumb_run_rank(a, i);
        const bool paired = overlap->other_rank || find_rank(b, x->rank);
        overlap->ranks += paired;
        overlap->only_a += !paired;
        const struct plumb_run_rank *y = plumb_overlap_partner(overlap, b, x);
        if (!y)
            continue;
        overlap->a = join(overlap->a, x);
        overlap->b = join(overlap->b, y);
        const int64_t first = x->first_step > y->first_step ? x->first_step : y->first_step;
        const int64_t last = x->last_step < y->last_step ? x->last_step : y->last_step;
        overlap->both.first = first < overlap->both.first ? first : overlap->both.first;
        overlap->both.last = last > overlap->both.last ? last : overlap->both.last;
        const uint64_t records = x->records > y->records ? x->records : y->records;
        overlap->most_records =
            records > overlap->most_records ? records : overlap->most_records;
    }
    overlap->only_b = plumb_run_rank_count(b) - overlap->ranks;
    if (overlap->a.first <= overlap->a.last)
        shift_single_steps(overlap);
}

static uint64_t count_records(const struct plumb_run *run)
{
    uint64_t count = 0;
    for (size_t i = 0; i < plumb_run_rank_count(run); i++)
        count += plumb_run_rank(run, i)->records;
    return count;
}

void plumb_overlap_explain(const struct plumb_overlap *overlap, const struct plumb_run *a,
                           const struct plumb_run *b, char *text, size_t size)
{
    const uint64_t in_a = count_records(a), in_b = count_records(b);
    if (!in_a || !in_b)
        (void)snprintf(
            text, size,
            "%s has no tensor records and no series that the other has; `plumb show` "
            "of it tells what was recorded",
            plumb_run_path(in_a ? b : a));
    else if (!overlap->ranks)
        (void)snprintf(text, size,
                       "they have no rank in common: %zu ranks in A, the first is %d, and %zu "
                       "in B, the first is %d; name one rank's directory of each",
                       plumb_run_rank_count(a), plumb_run_rank(a, 0)->rank,
                       plumb_run_rank_count(b), plumb_run_rank(b, 0)->rank);
    else if (overlap->both.last < overlap->both.first)
        (void)snprintf(text, size,
                       "they have no step in common: A has steps %lld to %lld, B %lld to %lld; "
                       "name one step's directory of each",
                       (long long)overlap->a.first, (long long)overlap->a.last,
                       (long long)overlap->b.first, (long long)overlap->b.last);
    else
        (void)snprintf(text, size,
                       "what A and B recorded of the ops that both have is not of one kind "
                       "(statistics, hashes, hashes of another tool), or they share no op; "
                       "record both with the same task");
}
