/* run_grow.c - the growing parts of a run: ranks, series, configuration, notes, warnings. */
#include "run/run.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The array with room for one more element; NULL when out of memory, and the array stays. */
static void *with_room(void *elements, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return elements;
    const size_t larger = *capacity ? *capacity * 2 : 16;
    void *grown = plumb_realloc_array(elements, larger, size);
    *capacity = grown ? larger : *capacity;
    return grown;
}

bool plumb_run_warn(struct plumb_run *run, const char *format, ...)
{
    if (run->warning_count == PLUMB_RUN_MOST_WARNINGS) {
        run->warnings_left_out++;
        return true;
    }
    void *warnings = with_room(run->warnings, run->warning_count, &run->warning_capacity,
                               sizeof *run->warnings);
    if (!warnings)
        return false;
    run->warnings = warnings;
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *copy = plumb_arena_text(&run->arena, text, strlen(text));
    if (copy)
        run->warnings[run->warning_count++] = copy;
    return copy != NULL;
}

/* ---- series ------------------------------------------------------------------------------ */

struct plumb_series_growing *plumb_run_grow_series(struct plumb_run *run, int rank,
                                                   const char *name)
{
    size_t index = 0;
    char known[512];
    if (snprintf(known, sizeof known, "%d %s", rank, name) < (int)sizeof known &&
        plumb_table_get(&run->series_names, known, &index))
        return &run->series[index];
    char *key = plumb_arena_printf(&run->arena, "%d %s", rank, name);
    if (!key)
        return NULL;
    if (plumb_table_get(&run->series_names, key, &index))
        return &run->series[index];
    void *series =
        with_room(run->series, run->series_count, &run->series_capacity, sizeof *run->series);
    if (!series)
        return NULL;
    run->series = series;
    char *copy = plumb_arena_text(&run->arena, name, strlen(name));
    if (!copy || !plumb_table_put(&run->series_names, key, run->series_count))
        return NULL;
    struct plumb_series_growing *growing = &run->series[run->series_count++];
    *growing = (struct plumb_series_growing){.series = {.name = copy, .rank = rank}};
    return growing;
}

bool plumb_series_add_point(struct plumb_series_growing *growing, int64_t step, double value)
{
    struct plumb_series *series = &growing->series;
    if (series->count == growing->capacity) {
        const size_t larger = growing->capacity ? growing->capacity * 2 : 64;
        int64_t *steps = plumb_realloc_array(growing->steps, larger, sizeof *steps);
        if (!steps)
            return false;
        growing->steps = steps;
        double *values = plumb_realloc_array(growing->values, larger, sizeof *values);
        if (!values)
            return false;
        growing->values = values;
        growing->capacity = larger;
    }
    growing->steps[series->count] = step;
    growing->values[series->count++] = value;
    series->steps = growing->steps;
    series->values = growing->values;
    return true;
}

/* ---- configuration and notes ---------------------------------------------------------------- */

bool plumb_run_add_config(struct plumb_run *run, int rank, const char *key, const char *json)
{
    void *configs =
        with_room(run->configs, run->config_count, &run->config_capacity, sizeof *run->configs);
    if (!configs)
        return false;
    run->configs = configs;
    struct plumb_run_config *config = &run->configs[run->config_count];
    config->rank = rank;
    config->key = plumb_arena_text(&run->arena, key, strlen(key));
    config->json = plumb_arena_text(&run->arena, json, strlen(json));
    if (!config->key || !config->json)
        return false;
    run->config_count++;
    return true;
}

bool plumb_run_add_note(struct plumb_run *run, const char *key, const char *json)
{
    void *notes =
        with_room(run->notes, run->note_count, &run->note_capacity, sizeof *run->notes);
    if (!notes)
        return false;
    run->notes = notes;
    struct plumb_note *note = &run->notes[run->note_count];
    note->key = plumb_arena_text(&run->arena, key, strlen(key));
    note->json = plumb_arena_text(&run->arena, json, strlen(json));
    if (!note->key || !note->json)
        return false;
    run->note_count++;
    return true;
}

/* ---- ranks ------------------------------------------------------------------------------------ */

struct plumb_rank_file *plumb_run_find_rank(const struct plumb_run *run, int rank)
{
    for (size_t i = 0; i < run->rank_count; i++)
        if (run->ranks[i].facts.rank == rank)
            return &run->ranks[i];
    return NULL;
}

struct plumb_rank_file *plumb_run_add_rank(struct plumb_run *run, int rank)
{
    void *ranks =
        with_room(run->ranks, run->rank_count, &run->rank_capacity, sizeof *run->ranks);
    if (!ranks)
        return NULL;
    run->ranks = ranks;
    struct plumb_rank_file *file = &run->ranks[run->rank_count++];
    *file = (struct plumb_rank_file){.facts = {.rank = rank,
                                               .how = "",
                                               .level = "",
                                               .save = "",
                                               .first_step = 0,
                                               .last_step = -1},
                                     .fd = -1};
    return file;
}

static int by_rank(const void *left, const void *right)
{
    const struct plumb_rank_file *a = left, *b = right;
    return a->facts.rank < b->facts.rank ? -1 : a->facts.rank > b->facts.rank;
}

void plumb_run_sort_ranks(struct plumb_run *run)
{
    if (run->rank_count > 1)
        qsort(run->ranks, run->rank_count, sizeof *run->ranks, by_rank);
}

void plumb_rank_take_step(struct plumb_run_rank *facts, int64_t step)
{
    const bool none = facts->first_step > facts->last_step;
    facts->first_step = none || step < facts->first_step ? step : facts->first_step;
    facts->last_step = none || step > facts->last_step ? step : facts->last_step;
}
