/*
 * torch_team.c - see torch_team.h.
 *
 * torch's threads wait for its next operator by spinning, so a thread of our own would only compete with them.
 * They are asked through OpenMP, as torch does, and as many as torch asks for: another number
 * would make OpenMP end and start threads.
 */
#include "torch_team.h"

#include "torch_ops.h"

#include <stdatomic.h>

static atomic_bool forked;

struct work {
    void (*task)(void *context, int member);
    void *context;
    int members;
};

/* In each thread of the team. */
static void take_part(void *data)
{
    const struct plumb_torch_symbols *torch = plumb_torch_ops_symbols();
    const struct work *work = data;
    const int step = torch->team_size();
    for (int member = torch->thread_number(); member < work->members; member += step)
        work->task(work->context, member);
}

static void run(const struct plumb_team *team, void (*task)(void *context, int member),
                void *context)
{
    struct work work = {task, context, team->members};
    plumb_torch_ops_symbols()->parallel(take_part, &work, (unsigned)team->members, 0);
}

const struct plumb_team *plumb_torch_team(void)
{
    static _Thread_local struct plumb_team team = {.run = run};
    const struct plumb_torch_symbols *torch = plumb_torch_ops_symbols();
    if (!torch->parallel || !torch->thread_number || !torch->team_size ||
        atomic_load(&forked) || torch->in_parallel())
        return NULL;
    team.members = torch->thread_count();
    return team.members > 1 ? &team : NULL;
}

void plumb_torch_team_after_fork(void)
{
    atomic_store(&forked, true);
}
