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
    size_t first, blocks;
    double pivot; /* of the chunk that the round is in */
    int members;
    bool prints, quick;
    uint64_t print[MOST_MEMBERS];
    struct plumb_block_stats block[ROUND];
};

static size_t smaller(size_t x, size_t y)
{
    return x < y ? x : y;
}

static void measure_stretch(void *context, int member)
{
    struct round *round = context;
    if (member >= round->members)
        return;
    const size_t size = plumb_dtype_size(round->part);
    const size_t from = round->blocks * (size_t)member / (size_t)round->members;
    const size_t to = round->blocks * ((size_t)member + 1) / (size_t)round->members;
    const size_t start = (round->first + from) * PLUMB_BLOCK;
    struct plumb_fingerprint_state print = plumb_fingerprint_begin(start * size);
    struct plumb_block_habits habits = {.quick = round->quick};
    for (size_t i = from; i < to; i++) {
        const size_t at = (round->first + i) * PLUMB_BLOCK;
        plumb_block_measure(round->part, round->values + at * size,
                            smaller(PLUMB_BLOCK, round->count - at), round->pivot, &habits,
                            round->prints ? &print : NULL, &round->block[i]);
    }
    round->print[member] = print.sum;
}

/* A chunk in rounds; its fingerprint is returned. */
static uint64_t share_chunk(const struct plumb_team *team, struct round *round, size_t at,
                            struct plumb_stats_state *state)
{
    const size_t n = smaller(round->chunk, round->count - at);
    const size_t last = (at + n + PLUMB_BLOCK - 1) / PLUMB_BLOCK;
    uint64_t print = 0;
    round->pivot =
        plumb_block_pivot(round->part, round->values + at * plumb_dtype_size(round->part),
                          smaller(PLUMB_BLOCK, n));
    for (size_t first = at / PLUMB_BLOCK; first < last; first += round->blocks) {
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
        .quick = plumb_stats_are_quick(parts, count),
    };
    struct plumb_stats_state total, chunk;
    uint64_t print = 0;
    plumb_stats_begin(&total);
    for (size_t at = 0; at < round.count; at += round.chunk) {
        plumb_stats_begin(&chunk);
        chunk.habits.quick = round.quick;
        print += share_chunk(team, &round, at, &chunk);
        plumb_stats_merge(&total, &chunk);
    }
    plumb_stats_finish(&total, &summary->stats);
    summary->fingerprint = plumb_fingerprint_finish(print, count * plumb_dtype_size(dtype));
}
