/* run_losses.c - see run_losses.h. */
#include "run/run_losses.h"

#include "base/memory.h"
#include "run/run.h"

size_t plumb_run_loss_count(const struct plumb_run *run)
{
    return run->loss_count;
}

const struct plumb_run_loss *plumb_run_loss(const struct plumb_run *run, size_t i)
{
    return i < run->loss_count ? &run->losses[i] : NULL;
}

bool plumb_run_step_is_torn(const struct plumb_run *run, int rank, int64_t step)
{
    for (size_t i = 0; i < run->loss_count; i++) {
        const struct plumb_run_loss *loss = &run->losses[i];
        const bool head = loss->has_head && step == loss->first_step;
        if (loss->what == PLUMB_LOST_RECORDS && (rank < 0 || loss->rank == rank) &&
            step >= loss->first_step && step <= loss->last_step && !head)
            return true;
    }
    return false;
}

int64_t plumb_run_recorded_until(const struct plumb_run *run, int rank)
{
    const struct plumb_rank_file *file = plumb_run_find_rank(run, rank);
    if (!file)
        return -1;
    return run->foreign || !file->facts.records ? file->facts.last_step : file->recorded_until;
}

/* Losses beyond the most that are listed widen the last one: more is called lost than is. */
static bool widen(struct plumb_run_loss *known, const struct plumb_run_loss *loss)
{
    if (loss->last_step < loss->first_step)
        return true;
    if (loss->first_step < known->first_step)
        known->first_step = loss->first_step;
    if (loss->last_step > known->last_step)
        known->last_step = loss->last_step;
    known->what = PLUMB_LOST_RECORDS;
    known->has_head = false;
    return true;
}

bool plumb_run_lose(struct plumb_run *run, const struct plumb_run_loss *loss)
{
    if (run->loss_count >= PLUMB_RUN_MOST_LOSSES)
        for (size_t i = run->loss_count; i-- > 0;)
            if (run->losses[i].rank == loss->rank)
                return widen(&run->losses[i], loss);
    if (run->loss_count == run->loss_capacity) {
        const size_t larger = run->loss_capacity ? run->loss_capacity * 2 : 16;
        void *losses = plumb_realloc_array(run->losses, larger, sizeof *run->losses);
        if (!losses)
            return false;
        run->losses = losses;
        run->loss_capacity = larger;
    }
    run->losses[run->loss_count++] = *loss;
    return true;
}
