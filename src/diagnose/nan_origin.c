/*
 * nan_origin.c - walks the tensor records in the order they were made, op by op.
 *
 * Records of one call of an op follow each other: its inputs (and parameters), then its outputs
 * (and gradients). An op with finite inputs and an output that is not is where it began. Under a
 * loss scale, gradients that overflow and weights that stay finite are how the scale finds its
 * size: such steps are counted and passed over.
 *
 * Each rank is walked on its own. Of the first places of all ranks the earliest by the clock of the
 * collectives (nan_clock.h) is the origin; at the same time what was made comes before what came in,
 * and that before what a collective brought.
 */
#include "diagnose/nan_origin.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/threads.h"
#include "diagnose/nan_clock.h"
#include "model/dtype.h"
#include "run/run_share.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a value that is not finite came to a place. */
enum way { MADE, CAME_IN, BROUGHT };

/* When something was on a rank. */
struct moment {
    uint64_t passed; /* collectives of its step */
    uint64_t since;  /* records after the last of them */
};

/* The call of an op whose records are being seen. */
struct call {
    bool open;
    struct moment moment;
    char op[512];
    enum plumb_phase phase;
    int64_t step;
    bool bad_input, bad_output, full_input, full_output;
    struct plumb_nan_place input, output, full;
    double largest; /* of the inputs */
};

struct search {
    struct plumb_arena *arena;
    struct plumb_nan_parts parts;
    int rank;
    struct moment moment;
    struct moment origin_moment, full_moment;
    enum way way;
    bool has_scale;      /* a loss scale is at work */
    size_t streak, most; /* steps in a row whose gradients overflowed; how many are a fault */
    int64_t last_recovered;
    bool chronic; /* there were as many */
    struct plumb_nan_place streak_origin, chronic_origin;
    struct call call;
    bool found, settled, only_gradients, came_in;
    struct plumb_nan_place origin, full; /* full: the first op that saturated */
    bool has_full;
    double largest;
    struct plumb_nan_place chain[PLUMB_NAN_CHAIN];
    size_t chain_count, chain_total, recovered;
    bool failed; /* out of memory */
};

static const char *kind_of(const struct plumb_stats *stats)
{
    return stats->nan ? "nan" : stats->pos_inf ? "inf" : stats->neg_inf ? "-inf" : NULL;
}

/* A gradient is what backward makes and the optimizer takes; parameters are the other way. */
static bool is_input(const struct plumb_tensor_record *record)
{
    const bool optimizer = record->phase == PLUMB_PHASE_OPTIMIZER;
    if (plumb_text_starts(record->slot, "input"))
        return true;
    if (plumb_text_starts(record->slot, "param"))
        return !optimizer;
    return optimizer && plumb_text_starts(record->slot, "grad");
}

/* The largest value of its type, on the positive side: a mask fills with the negative one. */
static bool is_full(const struct plumb_tensor_record *record)
{
    return plumb_dtype_is_float(record->dtype) && record->stats.at_max &&
           record->stats.max == plumb_dtype_max(record->dtype);
}

/* Names are copied only as long as the chain has room: after the first, all may be bad. */
static struct plumb_nan_place
place_of(struct search *search, const struct plumb_tensor_record *record, const char *kind)
{
    if (search->found && search->chain_count == PLUMB_NAN_CHAIN)
        return (struct plumb_nan_place){.kind = kind};
    const struct plumb_nan_place place = {
        .rank = record->rank,
        .step = record->step,
        .op = plumb_arena_text(search->arena, record->label, strlen(record->label)),
        .slot = plumb_arena_text(search->arena, record->slot, strlen(record->slot)),
        .phase = record->phase,
        .dtype = record->dtype,
        .element = record->element,
        .kind = kind,
    };
    search->failed |= !place.op || !place.slot;
    return place;
}

/* ---- a call is over ------------------------------------------------------------------------- */

static void add_to_chain(struct search *search, const struct plumb_nan_place *place)
{
    if (search->chain_count < PLUMB_NAN_CHAIN)
        search->chain[search->chain_count++] = *place;
    search->chain_total++;
}

static void close_call(struct search *search)
{
    struct call *call = &search->call;
    if (!call->open)
        return;
    call->open = false;
    if (!search->has_full && !search->found && call->full_output && !call->full_input) {
        search->has_full = true;
        search->full = call->full;
        search->full_moment = call->moment;
    }
    if (!call->bad_input && !call->bad_output)
        return;
    const struct plumb_nan_place *place = call->bad_output ? &call->output : &call->input;
    call->output.severity = call->bad_input ? "high" : "critical";
    call->input.severity = call->bad_output ? "high" : "medium";
    if (!search->found) {
        search->found = true;
        search->origin_moment = call->moment;
        search->way = call->bad_input                         ? CAME_IN
                      : call->phase == PLUMB_PHASE_COLLECTIVE ? BROUGHT
                                                              : MADE;
        search->came_in = call->bad_input;
        search->origin = call->bad_input ? call->input : call->output;
        search->largest = call->largest;
        search->only_gradients = true;
        if (call->bad_input && call->bad_output)
            add_to_chain(search, &call->output);
    } else {
        add_to_chain(search, place);
    }
    const bool weights = call->phase == PLUMB_PHASE_OPTIMIZER && call->bad_output;
    if (call->phase == PLUMB_PHASE_FORWARD || weights)
        search->only_gradients = false;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The gradients overflowed and the weights did not: how a loss scale finds its size, unless it
 * never does. */
static void recover(struct search *search)
{
    const bool next = search->streak && search->origin.step == search->last_recovered + 1;
    search->streak = next ? search->streak + 1 : 1;
    if (!next)
        search->streak_origin = search->origin;
    if (!search->chronic && search->streak >= search->most) {
        search->chronic = true;
        search->chronic_origin = search->streak_origin;
    }
    search->last_recovered = search->origin.step;
    search->found = search->has_full = false;
    search->chain_count = search->chain_total = 0;
    search->recovered++;
}

/* Moves the rank's moment past the call that was just closed. */
static void pass_on(struct search *search, int64_t step)
{
    const struct call *before = &search->call;
    if (before->step != step)
        search->moment = (struct moment){0, 0};
    else if (before->phase == PLUMB_PHASE_COLLECTIVE)
        search->moment = (struct moment){search->moment.passed + 1, 0};
}

static void open_call(struct search *search, const struct plumb_tensor_record *record)
{
    struct call *call = &search->call;
    if (call->open && call->step == record->step && call->phase == record->phase &&
        strncmp(call->op, record->label, sizeof call->op - 1) == 0)
        return;
    close_call(search);
    pass_on(search, record->step);
    /* A later step: did the weights survive the gradients of that one? */
    if (search->found && !search->settled && record->step > search->origin.step) {
        if (search->only_gradients && search->has_scale)
            recover(search);
        else
            search->settled = true;
    }
    *call = (struct call){
        .open = true, .moment = search->moment, .phase = record->phase, .step = record->step};
    (void)snprintf(call->op, sizeof call->op, "%s", record->label);
}

static bool see(void *context, const struct plumb_tensor_record *record)
{
    struct search *search = context;
    struct call *call = &search->call;
    if (!record->has_stats)
        return true;
    open_call(search, record);
    search->moment.since++;
    const char *kind = kind_of(&record->stats);
    const bool input = is_input(record);
    const double largest = fmax(fabs(record->stats.min), fabs(record->stats.max));
    if (input && largest > call->largest)
        call->largest = largest;
    if (kind && input && !call->bad_input) {
        call->bad_input = true;
        call->input = place_of(search, record, kind);
    } else if (kind && !input && !call->bad_output) {
        call->bad_output = true;
        call->output = place_of(search, record, kind);
    } else if (!kind && is_full(record)) {
        call->full_input |= input;
        if (!input && !call->full_output && !search->has_full && !search->found)
            call->full = place_of(search, record, "saturated");
        call->full_output |= !input;
    }
    return !search->failed;
}

/* ---- ranks and series ------------------------------------------------------------------------- */

enum { MOST_STATIC = 3, MOST_ADAPTING = 24 };

/* A scale that adapts halves until it fits, from 2^24 at most; a fixed one stays too large. */
static void look_for_scale(struct search *search, const struct plumb_run *run)
{
    search->most = MOST_STATIC;
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        if (!plumb_text_matches("*scale*", series->name) || series->rank != search->rank)
            continue;
        search->has_scale = true;
        for (size_t k = 1; k < series->count; k++)
            if (series->values[k] != series->values[0])
                search->most = MOST_ADAPTING;
    }
}

/* The same at the end of the records, and what never recovered for good. */
static void finish(struct search *search)
{
    close_call(search);
    if (search->found && !search->settled && search->only_gradients && search->has_scale)
        recover(search);
    if (!search->chronic ||
        (search->found && search->origin.step <= search->chronic_origin.step))
        return;
    search->found = true;
    search->came_in = false;
    search->largest = 0;
    search->origin = search->chronic_origin;
    search->chain_count = 0;
    search->chain_total = search->recovered - 1;
    search->recovered = 0;
}

/* What saturated earlier in the same step is where it began. */
static void begin_with_full(struct search *search)
{
    if (search->found && search->has_full && search->full.step == search->origin.step) {
        if (search->chain_count == PLUMB_NAN_CHAIN)
            search->chain_count--;
        memmove(&search->chain[1], &search->chain[0],
                search->chain_count * sizeof *search->chain);
        search->chain[0] = search->origin;
        search->chain_count++;
        search->chain_total++;
        search->came_in = false;
        search->largest = 0;
    } else if (search->found || !search->has_full) {
        return;
    }
    search->found = true;
    search->way = MADE;
    search->origin = search->full;
    search->origin.severity = "critical";
    search->origin_moment = search->full_moment;
}

/* The first place of one rank. */
struct candidate {
    struct plumb_nan_place place;
    uint64_t time, since;
    enum way way;
    size_t chain_total;
};

static int in_order(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    if (a->place.step != b->place.step)
        return a->place.step < b->place.step ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->way != b->way)
        return a->way < b->way ? -1 : 1;
    if (a->since != b->since)
        return a->since < b->since ? -1 : 1;
    return (a->place.rank > b->place.rank) - (a->place.rank < b->place.rank);
}

/* All ranks together. */
struct ranks {
    struct plumb_nan_clock *clock;
    struct candidate *candidates;
    size_t count;
};

static void keep(struct plumb_nan *nan, struct search *search, struct ranks *ranks)
{
    nan->recovered += search->recovered;
    begin_with_full(search);
    if (!search->found)
        return;
    const struct moment *moment = &search->origin_moment;
    const int64_t step = search->origin.step;
    /* A collective brings it when it ends: not before all who put something in came to it. */
    const uint64_t time =
        search->way == BROUGHT
            ? plumb_nan_clock_time(ranks->clock, search->rank, step, moment->passed + 1) - 1
            : plumb_nan_clock_time(ranks->clock, search->rank, step, moment->passed);
    const struct candidate candidate = {search->origin, time, moment->since, search->way,
                                        search->chain_total};
    ranks->candidates[ranks->count++] = candidate;
    for (size_t i = 0; i + 1 < ranks->count; i++)
        if (in_order(&ranks->candidates[i], &candidate) < 0)
            return;
    nan->found = true;
    nan->origin = search->origin;
    nan->came_in = search->came_in;
    nan->chain_count = search->chain_count;
    memcpy(nan->chain, search->chain, sizeof nan->chain);
    nan->largest[0] = '\0';
    nan->largest_input = search->largest;
    if (search->largest > 0)
        (void)snprintf(nan->largest, sizeof nan->largest, "%.6g", search->largest);
}

/* What followed on the rank of the origin, then where it came up first on each other rank. */
static void join_chains(struct plumb_nan *nan, struct ranks *ranks)
{
    enum { OWN = PLUMB_NAN_CHAIN / 2 };
    nan->chain_total = 0;
    if (ranks->count)
        qsort(ranks->candidates, ranks->count, sizeof *ranks->candidates, in_order);
    if (ranks->count > 1 && nan->chain_count > OWN)
        nan->chain_count = OWN;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct candidate *candidate = &ranks->candidates[i];
        nan->chain_total += candidate->chain_total + (i > 0);
        if (i && nan->chain_count < PLUMB_NAN_CHAIN)
            nan->chain[nan->chain_count++] = candidate->place;
    }
}

/* Without a record that shows it, the loss still may. */
static bool look_at_losses(struct plumb_nan *nan, const struct plumb_run *run)
{
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        if (!plumb_text_matches("*loss*", series->name) ||
            plumb_text_matches("*scale*", series->name))
            continue;
        size_t at = 0;
        while (at < series->count && isfinite(series->values[at]))
            at++;
        if (at == series->count || (nan->found && nan->origin.step <= series->steps[at]))
            continue;
        char *name = plumb_arena_text(&nan->arena, series->name, strlen(series->name));
        if (!name)
            return false;
        const double value = series->values[at];
        nan->found = true;
        nan->came_in = false;
        nan->chain_count = nan->chain_total = 0;
        nan->origin = (struct plumb_nan_place){.rank = series->rank,
                                               .step = series->steps[at],
                                               .op = name,
                                               .slot = "series",
                                               .dtype = PLUMB_F64,
                                               .element = -1,
                                               .kind = isnan(value) ? "nan"
                                                       : value > 0  ? "inf"
                                                                    : "-inf"};
    }
    return true;
}

/* ---- all ranks --------------------------------------------------------------------------------- */

struct searching {
    struct plumb_run *run;
    struct search *searches; /* one a rank */
};

static bool see_collective(void *context, const struct plumb_rank_collective *collective)
{
    struct search *search = context;
    return plumb_nan_parts_add(&search->parts, collective);
}

static enum plumb_status search_rank(void *context, size_t task, int worker,
                                     struct plumb_error *err)
{
    const struct searching *searching = context;
    struct search *search = &searching->searches[task];
    const struct plumb_run_query query = {.rank = search->rank};
    const struct plumb_run_visitor visitor = {see, see_collective, search};
    (void)worker;
    look_for_scale(search, searching->run);
    const enum plumb_status status =
        plumb_run_visit_both(searching->run, &query, &visitor, err);
    finish(search);
    return !status && (search->failed || search->parts.failed) ? plumb_fail_memory(err)
                                                               : status;
}

static enum plumb_status search_ranks(struct searching *searching, struct plumb_nan *nan,
                                      struct plumb_error *err)
{
    const size_t count = plumb_run_rank_count(searching->run);
    const struct plumb_job job = {
        .task_count = count,
        .run = search_rank,
        .context = searching,
        .threads = plumb_run_may_share(searching->run) ? plumb_thread_count(0) : 1};
    searching->searches = plumb_alloc_array(count + 1, sizeof *searching->searches);
    nan->arenas = plumb_alloc_array(count + 1, sizeof *nan->arenas);
    if (!searching->searches || !nan->arenas)
        return plumb_fail_memory(err);
    nan->arena_count = count;
    for (size_t i = 0; i < count; i++) {
        searching->searches[i].arena = &nan->arenas[i];
        searching->searches[i].rank = plumb_run_rank(searching->run, i)->rank;
    }
    return plumb_job_run(&job, err);
}

/* What the ranks found, by the clock of their collectives. */
static enum plumb_status join_ranks(struct searching *searching, struct plumb_nan *nan,
                                    struct plumb_error *err)
{
    const size_t count = plumb_run_rank_count(searching->run);
    struct ranks ranks = {.candidates = plumb_alloc_array(count + 1, sizeof *ranks.candidates)};
    struct plumb_nan_parts *parts = plumb_alloc_array(count + 1, sizeof *parts);
    for (size_t i = 0; parts && i < count; i++)
        parts[i] = searching->searches[i].parts;
    const enum plumb_status status =
        parts && ranks.candidates
            ? plumb_nan_clock_new(searching->run, parts, &ranks.clock, err)
            : plumb_fail_memory(err);
    for (size_t i = 0; i < count && !status; i++)
        keep(nan, &searching->searches[i], &ranks);
    if (!status)
        join_chains(nan, &ranks);
    plumb_nan_clock_free(ranks.clock);
    plumb_free(parts);
    plumb_free(ranks.candidates);
    return status;
}

static enum plumb_status search_all(struct plumb_run *run, struct plumb_nan *nan,
                                    struct plumb_error *err)
{
    struct searching searching = {.run = run};
    enum plumb_status status = search_ranks(&searching, nan, err);
    if (!status)
        status = join_ranks(&searching, nan, err);
    for (size_t i = 0; searching.searches && i < plumb_run_rank_count(run); i++)
        plumb_nan_parts_release(&searching.searches[i].parts);
    plumb_free(searching.searches);
    if (!status && !look_at_losses(nan, run))
        status = plumb_fail_memory(err);
    if (!status)
        status = plumb_nan_ask_data(nan, run, err);
    if (!status && nan->found && !plumb_nan_explain(nan, plumb_run_path(run)))
        status = plumb_fail_memory(err);
    return status;
}

/* False when out of memory. */
static bool find_caller(struct plumb_nan *nan, struct plumb_run *run)
{
    const struct plumb_nan_place *origin = &nan->origin;
    const char *stack = nan->found ? plumb_run_called_at(run, origin->rank, origin->step,
                                                         origin->op, origin->slot)
                                   : NULL;
    if (stack)
        nan->origin.stack = plumb_arena_text(&nan->arena, stack, strlen(stack));
    return !stack || nan->origin.stack;
}

enum plumb_status plumb_nan_find(struct plumb_run *run, struct plumb_nan **out,
                                 struct plumb_error *err)
{
    struct plumb_nan *nan = plumb_alloc_array(1, sizeof *nan);
    if (!nan)
        return plumb_fail_memory(err);
    nan->run = run;
    enum plumb_status status = search_all(run, nan, err);
    if (!status && !find_caller(nan, run))
        status = plumb_fail_memory(err);
    if (status)
        plumb_nan_free(nan);
    else
        *out = nan;
    return status;
}

void plumb_nan_free(struct plumb_nan *nan)
{
    if (!nan)
        return;
    for (size_t i = 0; i < nan->arena_count; i++)
        plumb_arena_release(&nan->arenas[i]);
    plumb_free(nan->arenas);
    plumb_arena_release(&nan->arena);
    plumb_free(nan);
}

const struct plumb_nan_place *plumb_nan_origin(const struct plumb_nan *nan)
{
    return nan->found ? &nan->origin : NULL;
}

size_t plumb_nan_chain_count(const struct plumb_nan *nan)
{
    return nan->chain_count;
}

const struct plumb_nan_place *plumb_nan_chain(const struct plumb_nan *nan, size_t i)
{
    return i < nan->chain_count ? &nan->chain[i] : NULL;
}
