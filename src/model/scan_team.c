/*
 * scan_team.c - statistics and fingerprint of large values in memory by several threads of the caller's.
 *
 * Each member measures a stretch of blocks; they are joined in order by the caller, so that the bits are those
 * of one thread. A round has as many blocks as fit on the stack: of most tensors all, so that a member looks at
 * the share of it that the same thread wrote.
 */
#include "kernel/kernel.h"
#include "model/dtype.h"
#include "model/scan_chunks.h"
#include "model/scan_stats.h"

enum {
    ROUND = 256,       /* blocks */
    WORTH_SHARING = 8, /* blocks; fewer are measured before another thread has begun */
    MOST_MEMBERS = 64,
};

/* How values are cut up. All counts are of parts, of which a complex number has two. */
struct cut {
    enum plumb_dtype part;
    const unsigned char *values;
    bool quick, prints;
    size_t count, chunk; /* of all values, of a chunk */
    size_t full, each;   /* chunks before the last, and the blocks of each of them */
    size_t large, small; /* blocks of the last chunk; the large ones come first */
};

struct round {
    const struct cut *cut;
    size_t first, blocks;
    int members;
    uint64_t print[MOST_MEMBERS];
    struct plumb_block_stats block[ROUND];
};

static size_t smaller(size_t x, size_t y)
{
    return x < y ? x : y;
}

/* There are values. */
static struct cut cut_up(enum plumb_dtype dtype, const void *values, size_t count, int wanted)
{
    const size_t parts = (size_t)plumb_dtype_parts(dtype);
    struct cut cut = {.part = plumb_dtype_part(dtype),
                      .values = values,
                      .quick = plumb_stats_are_quick(wanted, count),
                      .prints = wanted & PLUMB_SUMMARY_FINGERPRINT,
                      .count = count * parts,
                      .chunk = (size_t)plumb_scan_chunk((int64_t)count) * parts};
    const size_t block = plumb_block_size(cut.part, cut.quick, cut.chunk);
    cut.full = (cut.count - 1) / cut.chunk;
    cut.each = cut.chunk / block;
    const size_t last = cut.count - cut.full * cut.chunk;
    cut.large = block > PLUMB_BLOCK ? last / block : 0;
    cut.small = (last - cut.large * block + PLUMB_BLOCK - 1) / PLUMB_BLOCK;
    return cut;
}

static size_t chunk_of(const struct cut *cut, size_t block)
{
    return smaller(block / cut->each, cut->full);
}

/* Where a block begins. */
static size_t place_of(const struct cut *cut, size_t block)
{
    const size_t chunk = chunk_of(cut, block), number = block - chunk * cut->each;
    if (chunk < cut->full)
        return chunk * cut->chunk + number * (cut->chunk / cut->each);
    const size_t large = smaller(number, cut->large);
    return chunk * cut->chunk + large * PLUMB_QUICK_BLOCK + (number - large) * PLUMB_BLOCK;
}

static size_t size_at(const struct cut *cut, size_t chunk, size_t at)
{
    const size_t end = smaller((chunk + 1) * cut->chunk, cut->count);
    return plumb_block_size(cut->part, cut->quick, end - at);
}

/* What the blocks of a chunk have in common: its pivot is returned. */
static double begin_chunk(const struct cut *cut, size_t chunk,
                          struct plumb_block_habits *habits)
{
    const size_t at = chunk * cut->chunk;
    *habits = (struct plumb_block_habits){.quick = cut->quick};
    return plumb_block_pivot(cut->part, cut->values + at * plumb_dtype_size(cut->part),
                             size_at(cut, chunk, at), habits);
}

/* A member's way through its stretch: what it knows of the chunk that it is in. */
struct way {
    size_t chunk;
    double pivot;
    struct plumb_block_habits habits;
    uint64_t print;
};

static void measure_block(struct round *round, size_t number, struct way *way)
{
    const struct cut *cut = round->cut;
    const size_t size = plumb_dtype_size(cut->part);
    const size_t chunk = chunk_of(cut, round->first + number);
    const size_t at = place_of(cut, round->first + number);
    struct plumb_fingerprint_state print = plumb_fingerprint_begin(at * size);
    if (way->chunk != chunk)
        way->pivot = begin_chunk(cut, chunk, &way->habits);
    way->chunk = chunk;
    plumb_block_measure(cut->part, cut->values + at * size, size_at(cut, chunk, at), way->pivot,
                        &way->habits, cut->prints ? &print : NULL, &round->block[number]);
    way->print += print.sum;
}

static void measure_stretch(void *context, int member)
{
    struct round *round = context;
    if (member >= round->members)
        return;
    const size_t members = (size_t)round->members;
    const size_t from = round->blocks * (size_t)member / members;
    struct way way = {.chunk = SIZE_MAX};
    for (size_t i = from; i < round->blocks * ((size_t)member + 1) / members; i++)
        measure_block(round, i, &way);
    round->print[member] = way.print;
}

/* Chunks are added up on their own. */
struct sums {
    struct plumb_stats_state total, chunk;
    size_t number; /* of the chunk */
    uint64_t print;
};

static void begin_sums(struct sums *sums, const struct cut *cut)
{
    plumb_stats_begin(&sums->total);
    sums->total.habits.quick = cut->quick;
    sums->number = 0;
    sums->print = 0;
}

static void end_chunk(struct sums *sums, const struct cut *cut)
{
    if (sums->number)
        plumb_stats_merge(&sums->total, &sums->chunk);
    plumb_stats_begin(&sums->chunk);
    sums->chunk.habits.quick = cut->quick;
    sums->number++;
}

static void join_round(struct sums *sums, const struct round *round)
{
    for (size_t i = 0; i < round->blocks; i++) {
        if (chunk_of(round->cut, round->first + i) != sums->number)
            end_chunk(sums, round->cut);
        plumb_stats_join(sums->number ? &sums->chunk : &sums->total, &round->block[i]);
    }
    for (int i = 0; i < round->members; i++)
        sums->print += round->print[i];
}

static void share(const struct plumb_team *team, const struct cut *cut, struct sums *sums)
{
    const size_t last = cut->full * cut->each + cut->large + cut->small;
    struct round round; /* most of it stays as it is */
    round.cut = cut;
    round.members = team->members < MOST_MEMBERS ? team->members : MOST_MEMBERS;
    for (size_t first = 0; first < last; first += round.blocks) {
        round.first = first;
        round.blocks = smaller(ROUND, last - first);
        team->run(team, measure_stretch, &round);
        join_round(sums, &round);
    }
}

void plumb_values_summarize_by(const struct plumb_team *team, enum plumb_dtype dtype,
                               const void *values, size_t count, int parts,
                               struct plumb_summary *summary)
{
    if (!team || team->members < 2 || !(parts & PLUMB_SUMMARY_STATS) ||
        count * (size_t)plumb_dtype_parts(dtype) < (size_t)WORTH_SHARING * PLUMB_BLOCK) {
        plumb_values_summarize(dtype, values, count, parts, summary);
        return;
    }
    const struct cut cut = cut_up(dtype, values, count, parts);
    struct sums sums;
    begin_sums(&sums, &cut);
    share(team, &cut, &sums);
    if (sums.number)
        plumb_stats_merge(&sums.total, &sums.chunk);
    plumb_stats_finish(&sums.total, &summary->stats);
    summary->fingerprint =
        plumb_fingerprint_finish(sums.print, count * plumb_dtype_size(dtype));
}
