/*
 * torch_team.c - see torch_team.h.
 *
 * torch's threads wait for its next operator by spinning, so a thread of our own would only compete with them.
 * They are asked through OpenMP, as torch does, and as many as torch asks for: another number
 * would make OpenMP end and start threads.
 */
#include "torch_team.h"

#include "torch_symbols.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WORTH_SHARING = 128 << 10 }; /* bytes of a tensor from which a second thread is asked */

static struct plumb_torch_threads torch;
static pthread_once_t searched = PTHREAD_ONCE_INIT;
static atomic_bool usable;

struct work {
    void (*task)(void *context, int member);
    void *context;
    int members;
};

/* In each thread of the team. */
static void take_part(void *data)
{
    const struct work *work = data;
    const int step = torch.team_size();
    for (int member = torch.number(); member < work->members; member += step)
        work->task(work->context, member);
}

static void run(const struct plumb_team *team, void (*task)(void *context, int member),
                void *context)
{
    struct work work = {task, context, team->members};
    torch.parallel(take_part, &work, (unsigned)team->members, 0);
}

/* In a child of fork() there are no such threads. */
static void give_up(void)
{
    atomic_store(&usable, false);
}

static void search(void)
{
    atomic_store(&usable,
                 plumb_torch_threads_load(&torch) && pthread_atfork(NULL, NULL, give_up) == 0);
}

const struct plumb_team *plumb_torch_team(size_t bytes)
{
    static _Thread_local struct plumb_team team = {.run = run};
    if (bytes < WORTH_SHARING)
        return NULL;
    (void)pthread_once(&searched, search);
    if (!atomic_load_explicit(&usable, memory_order_relaxed) || torch.in_parallel())
        return NULL;
    team.members = torch.count();
    return team.members > 1 ? &team : NULL;
}
