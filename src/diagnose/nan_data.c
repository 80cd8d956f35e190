/*
 * nan_data.c - a value that was not finite before the network saw it.
 *
 * The batch has a record of its own: what is in there was in the data. Ops that put samples together run
 * before that record is made; what came into them and is found in the batch came with the data as well.
 */
#include "diagnose/nan_origin.h"

#include "base/text.h"

#include <string.h>

static bool is_batch(const struct plumb_nan_place *place)
{
    return plumb_text_starts(place->op, "data.batch") && place->phase == PLUMB_PHASE_FORWARD;
}

/* The batch becomes the origin, and what led to it is left out. */
static void move_to_batch(struct plumb_nan *nan)
{
    size_t at = 0;
    while (at < nan->chain_count &&
           !(is_batch(&nan->chain[at]) && nan->chain[at].rank == nan->origin.rank &&
             nan->chain[at].step == nan->origin.step))
        at++;
    if (at == nan->chain_count)
        return;
    nan->origin = nan->chain[at];
    nan->chain_count -= at + 1;
    nan->chain_total -= at + 1;
    memmove(nan->chain, nan->chain + at + 1, nan->chain_count * sizeof *nan->chain);
}

/* Which sample of the batch it is: the first dimension counts them. */
static bool take_sample(void *context, const struct plumb_tensor_record *record)
{
    struct plumb_nan *nan = context;
    int64_t each = 1;
    for (int i = 1; i < record->dims; i++)
        if (record->shape[i] <= 0 || __builtin_mul_overflow(each, record->shape[i], &each))
            return false;
    if (record->dims < 2 || record->element < 0)
        return false;
    nan->batch_size = record->shape[0];
    nan->sample = record->element / each;
    nan->value_of_sample = record->element % each;
    return false;
}

enum plumb_status plumb_nan_ask_data(struct plumb_nan *nan, struct plumb_run *run,
                                     struct plumb_error *err)
{
    nan->sample = -1;
    if (!nan->found)
        return PLUMB_OK;
    if (nan->came_in)
        move_to_batch(nan);
    nan->in_data = is_batch(&nan->origin);
    if (!nan->in_data)
        return PLUMB_OK;
    nan->came_in = false;
    const struct plumb_run_query query = {.rank = nan->origin.rank,
                                          .some_steps = true,
                                          .first_step = nan->origin.step,
                                          .last_step = nan->origin.step,
                                          .op = nan->origin.op,
                                          .slot = nan->origin.slot};
    return plumb_run_visit_records(run, &query, take_sample, nan, err);
}

bool plumb_nan_explain_data(struct plumb_nan *nan)
{
    struct plumb_finding *finding = &nan->finding;
    struct plumb_arena *arena = &nan->arena;
    const char *sample = "a sample of it", *where = "";
    if (nan->sample >= 0) {
        sample = plumb_arena_printf(arena, "sample %lld", (long long)nan->sample);
        where = plumb_arena_printf(arena, ", in sample %lld, value %lld of it",
                                   (long long)nan->sample, (long long)nan->value_of_sample);
    }
    if (!sample || !where)
        return false;
    finding->title =
        nan->sample < 0
            ? plumb_arena_printf(arena, "%s comes in with the data at step %lld",
                                 plumb_nan_word(nan->origin.kind), (long long)nan->origin.step)
            : plumb_arena_printf(arena,
                                 "%s comes in with the data at step %lld: %s of %lld in the "
                                 "batch",
                                 plumb_nan_word(nan->origin.kind), (long long)nan->origin.step,
                                 sample, (long long)nan->batch_size);
    finding->cause = plumb_arena_printf(
        arena, "the batch of this step already holds it%s: the network did not make it", where);
    finding->fix = plumb_arena_printf(
        arena,
        "look at %s of this batch: its index in the data set, the file it was read from, how "
        "it "
        "is decoded and normalised; repair or leave out such samples in the reader",
        sample);
    return finding->title && finding->cause && finding->fix;
}
