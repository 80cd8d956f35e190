/*
 * scan_team.c - see scan_team.h. Each member measures a stretch of blocks; they are joined in order by the
 * caller, so that the bits are those of one thread. A round has as many blocks as fit on the stack.
 */
#include "scan_team.h"

#include "kernel/kernel.h"
#include "model/dtype.h"
#include "model/scan_chunks.h"
#include "model/scan_stats.h"

enum {
    ROUND = 256,       /* blocks */
    WORTH_SHARING = 8, /* blocks; fewer are measured before another thread has begun */
    MOST_MEMBERS = 64,
};

/* All counts are of parts, of which a complex number has two. */
struct round {
    enum plumb_dtype part;
    const unsigned char *values;
    size_t count, chunk; /* of all values, of a chunk */
    size_t begin, end;   /* of the chunk that the round is in */
    size_t large;        /* how many of its blocks are; they come first */
    size_t first, blocks;
    double pivot;
    struct plumb_block_habits habits; /* that each member begins with */
    int members;
    bool prints;
    uint64_t print[MOST_MEMBERS];
    struct plumb_block_stats block[ROUND];
};

static size_t smaller(size_t x, size_t y)
{
    return x < y ? x : y;
}

/* Where a block of the chunk begins. */
static size_t place_of(const struct round *round, size_t block)
{
    const size_t large = smaller(block, round->large);
    return round->begin + large * PLUMB_QUICK_BLOCK + (block - large) * PLUMB_BLOCK;
}

static size_t size_at(const struct round *round, size_t at)
{
    return plumb_block_size(round->part, round->habits.quick, round->end - at);
}

static void measure_stretch(void *context, int member)
{
    struct round *round = context;
    if (member >= round->members)
        return;
    const size_t size = plumb_dtype_size(round->part);
    const size_t from = round->blocks * (size_t)member / (size_t)round->members;
    const size_t to = round->blocks * ((size_t)member + 1) / (size_t)round->members;
    const size_t start = place_of(round, round->first + from);
    struct plumb_fingerprint_state print = plumb_fingerprint_begin(start * size);
    struct plumb_block_habits habits = round->habits;
    for (size_t i = from; i < to; i++) {
        const size_t at = place_of(round, round->first + i);
        plumb_block_measure(round->part, round->values + at * size, size_at(round, at),
                            round->pivot, &habits, round->prints ? &print : NULL,
                            &round->block[i]);
    }
    round->print[member] = print.sum;
}

/* How many blocks the chunk has. */
static size_t cut_chunk(struct round *round, size_t at)
{
    round->begin = at;
    round->end = at + smaller(round->chunk, round->count - at);
    const size_t count = round->end - at;
    const bool large = size_at(round, at) == PLUMB_QUICK_BLOCK;
    round->large = large ? count / PLUMB_QUICK_BLOCK : 0;
    const size_t rest = count - round->large * PLUMB_QUICK_BLOCK;
    return round->large + (rest + PLUMB_BLOCK - 1) / PLUMB_BLOCK;
}

/* A chunk in rounds; its fingerprint is returned. */
static uint64_t share_chunk(const struct plumb_team *team, struct round *round, size_t at,
                            struct plumb_stats_state *state)
{
    const size_t last = cut_chunk(round, at);
    uint64_t print = 0;
    round->habits.zeros = false;
    round->pivot =
        plumb_block_pivot(round->part, round->values + at * plumb_dtype_size(round->part),
                          size_at(round, at), &round->habits);
    for (size_t first = 0; first < last; first += round->blocks) {
        round->first = first;
        round->blocks = smaller(ROUND, last - first);
        team->run(team, measure_stretch, round);
        for (size_t i = 0; i < round->blocks; i++)
            plumb_stats_join(state, &round->block[i]);
        for (int i = 0; i < round->members; i++)
            print += round->print[i];
    }
    return print;
}

void plumb_values_summarize_by(const struct plumb_team *team, enum plumb_dtype dtype,
                               const void *values, size_t count, int parts,
                               struct plumb_summary *summary)
{
    const size_t pieces = (size_t)plumb_dtype_parts(dtype);
    if (!team || team->members < 2 || !(parts & PLUMB_SUMMARY_STATS) ||
        count * pieces < (size_t)WORTH_SHARING * PLUMB_BLOCK) {
        plumb_values_summarize(dtype, values, count, parts, summary);
        return;
    }
    struct round round = {
        .part = plumb_dtype_part(dtype),
        .values = values,
        .count = count * pieces,
        .chunk = (size_t)plumb_scan_chunk((int64_t)count) * pieces,
        .members = team->members < MOST_MEMBERS ? team->members : MOST_MEMBERS,
        .prints = parts & PLUMB_SUMMARY_FINGERPRINT,
        .habits = {.quick = plumb_stats_are_quick(parts, count)},
    };
    struct plumb_stats_state total, chunk;
    uint64_t print = 0;
    plumb_stats_begin(&total);
    for (size_t at = 0; at < round.count; at += round.chunk) {
        plumb_stats_begin(&chunk);
        chunk.habits.quick = round.habits.quick;
        print += share_chunk(team, &round, at, &chunk);
        plumb_stats_merge(&total, &chunk);
    }
    plumb_stats_finish(&total, &summary->stats);
    summary->fingerprint = plumb_fingerprint_finish(print, count * plumb_dtype_size(dtype));
}
