/* run_unread.c - see run_unread.h. */
#include "compare/run_unread.h"

#include "run/run_losses.h"

#include <stdio.h>

struct side {
    struct plumb_arena *arena;
    const struct plumb_run *run, *other;
    bool in_a;
    size_t ops_missing; /* that the other side has */
    struct plumb_unread_list *list;
};

static const struct plumb_run_rank *find_rank(const struct plumb_run *run, int rank)
{
    for (size_t i = 0; i < plumb_run_rank_count(run); i++)
        if (plumb_run_rank(run, i)->rank == rank)
            return plumb_run_rank(run, i);
    return plumb_run_rank_count(run) == 1 ? plumb_run_rank(run, 0) : NULL;
}

static bool add(const struct side *side, const struct plumb_unread *unread)
{
    struct plumb_unread_list *list = side->list;
    list->total++;
    if (list->count < PLUMB_UNREAD_LISTED)
        list->items[list->count++] = *unread;
    return unread->text != NULL;
}

static void say_steps(int64_t first, int64_t last, char *text, size_t size)
{
    if (last < first)
        (void)snprintf(text, size, "that belong to no step");
    else if (last == INT64_MAX)
        (void)snprintf(text, size, "from step %lld on", (long long)first);
    else if (first == last)
        (void)snprintf(text, size, "of step %lld", (long long)first);
    else
        (void)snprintf(text, size, "of steps %lld to %lld", (long long)first, (long long)last);
}

static const char *name_of(const struct side *side, bool other)
{
    return side->in_a != other ? "A" : "B";
}

static bool tail_is_lost(const struct plumb_run *run, int rank)
{
    for (size_t i = 0; i < plumb_run_loss_count(run); i++) {
        const struct plumb_run_loss *loss = plumb_run_loss(run, i);
        if (loss->rank == rank && loss->last_step == INT64_MAX)
            return true;
    }
    return false;
}

static bool add_loss(const struct side *side, const struct plumb_run_loss *loss)
{
    static const char *const what[] = {[PLUMB_LOST_RECORDS] = "records",
                                       [PLUMB_LOST_SERIES] = "series",
                                       [PLUMB_LOST_SETTINGS] = "settings"};
    const struct plumb_run_rank *partner = find_rank(side->other, loss->rank);
    char steps[80], goes_on[80] = "";
    if (loss->what == PLUMB_LOST_OTHER)
        return true; /* is not compared */
    say_steps(loss->first_step, loss->last_step, steps, sizeof steps);
    if (loss->last_step == INT64_MAX && partner && partner->last_step > loss->first_step &&
        !tail_is_lost(side->other, partner->rank))
        (void)snprintf(goes_on, sizeof goes_on, " (%s goes on to step %lld)",
                       name_of(side, true), (long long)partner->last_step);
    return add(side,
               &(struct plumb_unread){
                   .in_a = side->in_a,
                   .rank = loss->rank,
                   .first_step = loss->first_step,
                   .last_step = loss->last_step,
                   .text = plumb_arena_printf(
                       side->arena, "%s, rank %d: %s %s are damaged or cut off%s",
                       name_of(side, false), loss->rank, what[loss->what], steps, goes_on),
               });
}

/* A rank that nobody closed has nothing to hide if the other does not go further. */
static bool add_early_end(const struct side *side, const struct plumb_run_rank *rank)
{
    const struct plumb_run_rank *partner = find_rank(side->other, rank->rank);
    if (rank->ended == PLUMB_ENDED_CLOSED || !partner || tail_is_lost(side->run, rank->rank))
        return true;
    const int64_t until = plumb_run_recorded_until(side->run, rank->rank);
    const int64_t other = plumb_run_recorded_until(side->other, partner->rank);
    if (other <= until && partner->last_step <= rank->last_step && !side->ops_missing)
        return true;
    const char *how = rank->ended == PLUMB_ENDED_RUNNING   ? "is still being written"
                      : rank->ended == PLUMB_ENDED_STOPPED ? "its capture stopped early"
                                                           : "was killed";
    return add(side,
               &(struct plumb_unread){
                   .in_a = side->in_a,
                   .rank = rank->rank,
                   .first_step = until,
                   .last_step = INT64_MAX,
                   .text = plumb_arena_printf(
                       side->arena, "%s, rank %d: %s; it ends at step %lld, %s at step %lld",
                       name_of(side, false), rank->rank, how, (long long)until,
                       name_of(side, true), (long long)other),
               });
}

static bool look_at(const struct side *side)
{
    bool room = true;
    for (size_t i = 0; i < plumb_run_loss_count(side->run) && room; i++)
        room = add_loss(side, plumb_run_loss(side->run, i));
    for (size_t i = 0; i < plumb_run_rank_count(side->run) && room; i++)
        room = add_early_end(side, plumb_run_rank(side->run, i));
    return room;
}

bool plumb_unread_find(struct plumb_arena *arena, const struct plumb_run *a,
                       const struct plumb_run *b, size_t ops_only_a, size_t ops_only_b,
                       struct plumb_unread_list *list)
{
    const struct side of_a = {arena, a, b, true, ops_only_b, list};
    const struct side of_b = {arena, b, a, false, ops_only_a, list};
    return look_at(&of_a) && look_at(&of_b);
}

bool plumb_unread_before(const struct plumb_unread_list *list, int64_t step)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].first_step <= list->items[i].last_step &&
            list->items[i].first_step < step)
            return true;
    return list->total > list->count;
}
