/*
 * pattern_blocks.c - whole runs of consecutive elements differ, and nothing else.
 *
 * Elements that rounding does not explain are gathered into runs; a run has to be nearly
 * full. If the runs are made of blocks of a power of two that start at multiples of their
 * size, that size is named: it is the granularity of whatever left them stale.
 */
#include "compare/pattern.h"

enum { MOST_RUNS = 16, LEAST_RUN = 32, LARGEST_GAP = 64 };

struct element_run {
    int64_t first, last;
    size_t beyond;
};

/* False if there are too many runs, or one is too thin. */
static bool gather_runs(const struct plumb_evidence *e, struct element_run *runs, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < e->beyond_count; i++) {
        const int64_t at = e->sample.index[e->beyond[i]];
        if (*count > 0 && at - runs[*count - 1].last <= LARGEST_GAP) {
            runs[*count - 1].last = at;
            runs[*count - 1].beyond++;
            continue;
        }
        if (*count == MOST_RUNS)
            return false;
        runs[(*count)++] = (struct element_run){at, at, 1};
    }
    for (size_t i = 0; i < *count; i++) {
        const int64_t length = runs[i].last - runs[i].first + 1;
        /* In a narrow type many elements of a stale block are right by chance. */
        if (length < LEAST_RUN || (int64_t)runs[i].beyond * (e->crowded ? 8 : 2) < length)
            return false;
    }
    return *count > 0;
}

/* The largest power of two whose aligned blocks the runs fill almost exactly; 0 if none. A
 * value that happens to be right at the edge of a run is no objection. */
static int64_t block_size(const struct element_run *runs, size_t count)
{
    for (int64_t size = (int64_t)1 << 40; size >= LEAST_RUN; size /= 2) {
        bool fits = true;
        for (size_t i = 0; fits && i < count; i++) {
            const int64_t before = runs[i].first % size;
            const int64_t after = size - 1 - runs[i].last % size;
            fits = before <= size / 32 && after <= size / 32 && runs[i].last >= runs[i].first;
        }
        if (fits)
            return size;
    }
    return 0;
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    (void)err;
    struct element_run runs[MOST_RUNS];
    size_t count;
    if (e->beyond_count < LEAST_RUN || !gather_runs(e, runs, &count))
        return PLUMB_OK;
    int64_t elements = 0;
    for (size_t i = 0; i < count; i++)
        elements += runs[i].last - runs[i].first + 1;
    if (elements * 2 > (int64_t)e->comparison->count)
        return PLUMB_OK; /* that is not a place but the whole */
    /* A sample that saw nothing but differences does not show where they end. */
    if (!e->sample.exact && elements * 2 > (int64_t)e->sample.count)
        return PLUMB_OK;
    char allowed[128] = "sums would not flip elements in one place only";
    if (!e->crowded)
        plumb_allowance_text(e, allowed, sizeof allowed);
    const int64_t size = block_size(runs, count);
    *found = true;
    if (size)
        plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                            "%zu run%s of whole %lld-element blocks, the first from element "
                            "%lld, %lld elements in all, beyond what is allowed (%s); nothing "
                            "else is",
                            count, count == 1 ? "" : "s", (long long)size,
                            (long long)(runs[0].first / size * size), (long long)elements,
                            allowed);
    else
        plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                            "%zu run%s of consecutive elements, the first %lld to %lld, %lld "
                            "elements in all, beyond what is allowed (%s); nothing else is",
                            count, count == 1 ? "" : "s", (long long)runs[0].first,
                            (long long)runs[0].last, (long long)elements, allowed);
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_blocks = {
    .entry = {.name = "blocks",
              .summary = "whole runs of consecutive elements differ",
              .detail =
                  "One or a few full runs in memory order, mostly aligned to a power of "
                  "two, and nothing else:\na tile a kernel did not write, a stale page or "
                  "communication chunk, a race between streams."},
    .find = find,
};
