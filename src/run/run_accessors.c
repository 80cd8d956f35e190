/* run_accessors.c - what a run that was opened knows by itself. */
#include "run/run.h"

#include <string.h>

static const char *const ended_names[PLUMB_ENDED_COUNT] = {
    [PLUMB_ENDED_CLOSED] = "closed",
    [PLUMB_ENDED_RUNNING] = "running",
    [PLUMB_ENDED_STOPPED] = "stopped",
    [PLUMB_ENDED_KILLED] = "killed",
};

const char *plumb_ended_name(enum plumb_ended ended)
{
    return (unsigned)ended < PLUMB_ENDED_COUNT ? ended_names[ended] : "unknown";
}

const char *plumb_run_path(const struct plumb_run *run)
{
    return run->path;
}

size_t plumb_run_warning_count(const struct plumb_run *run)
{
    return run->warning_count;
}

const char *plumb_run_warning(const struct plumb_run *run, size_t i)
{
    return i < run->warning_count ? run->warnings[i] : NULL;
}

size_t plumb_run_note_count(const struct plumb_run *run)
{
    return run->note_count;
}

const struct plumb_note *plumb_run_note(const struct plumb_run *run, size_t i)
{
    return i < run->note_count ? &run->notes[i] : NULL;
}

size_t plumb_run_rank_count(const struct plumb_run *run)
{
    return run->rank_count;
}

const struct plumb_run_rank *plumb_run_rank(const struct plumb_run *run, size_t i)
{
    return i < run->rank_count ? &run->ranks[i].facts : NULL;
}

enum plumb_ended plumb_run_ended(const struct plumb_run *run)
{
    enum plumb_ended worst = run->rank_count ? PLUMB_ENDED_CLOSED : PLUMB_ENDED_KILLED;
    for (size_t i = 0; i < run->rank_count; i++)
        if (run->ranks[i].facts.ended > worst)
            worst = run->ranks[i].facts.ended;
    return worst;
}

size_t plumb_run_series_count(const struct plumb_run *run)
{
    return run->series_count;
}

const struct plumb_series *plumb_run_series(const struct plumb_run *run, size_t i)
{
    return i < run->series_count ? &run->series[i].series : NULL;
}

const struct plumb_series *plumb_run_find_series(const struct plumb_run *run, const char *name,
                                                 int rank)
{
    const struct plumb_series *found = NULL;
    for (size_t i = 0; i < run->series_count; i++) {
        const struct plumb_series *series = &run->series[i].series;
        if (strcmp(series->name, name) == 0 && (rank < 0 || series->rank == rank) &&
            (!found || series->rank < found->rank))
            found = series;
    }
    return found;
}

size_t plumb_run_config_count(const struct plumb_run *run)
{
    return run->config_count;
}

const struct plumb_run_config *plumb_run_config(const struct plumb_run *run, size_t i)
{
    return i < run->config_count ? &run->configs[i] : NULL;
}
