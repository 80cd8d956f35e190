/* pattern_few_elements.c - a handful of scattered elements differ, the rest is clean. */
#include "compare/pattern.h"

#include <math.h>

/* Few: this many, or one in ten thousand, and at most a quarter of the tensor. */
enum { A_FEW = 16, ONE_IN = 10000 };

static uint64_t worst_of(const struct plumb_evidence *e, size_t *worst)
{
    double largest = -1;
    *worst = e->beyond[0];
    for (size_t i = 0; i < e->beyond_count; i++) {
        const size_t at = e->beyond[i];
        const double difference = fabs(e->sample.b[at] - e->sample.a[at]);
        if (difference > largest) {
            largest = difference;
            *worst = at;
        }
    }
    const double part = (double)e->comparison->count / (double)e->sample.count;
    return e->sample.exact ? e->beyond_count : (uint64_t)((double)e->beyond_count * part);
}

/* The elements that are not beyond must look like rounding, or the ones that are do not stand
 * out but are the end of a continuous range. */
static bool rest_is_clean(const struct plumb_evidence *e)
{
    if (!e->grid)
        return true;
    if (e->grid->bits < 24)
        return plumb_evidence_rest_is_calm(e);
    double squares = 0;
    size_t rest = 0;
    for (size_t i = 0, next = 0; i < e->sample.count; i++) {
        if (next < e->beyond_count && e->beyond[next] == i) {
            next++;
            continue;
        }
        const double relative = (e->rounded_b[i] - e->rounded_a[i]) / e->scale[i];
        if (isfinite(relative) && e->rounded_a[i] != e->rounded_b[i])
            squares += relative * relative;
        rest += e->rounded_a[i] != 0 || e->rounded_b[i] != 0;
    }
    return sqrt(squares / (double)(rest ? rest : 1)) <= e->allowed_rms;
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    (void)err;
    const uint64_t limit = A_FEW + e->comparison->count / ONE_IN;
    if (e->beyond_count == 0 || e->beyond_count > limit ||
        e->beyond_count * 4 > e->comparison->count || !rest_is_clean(e))
        return PLUMB_OK;
    size_t worst;
    const uint64_t count = worst_of(e, &worst);
    char place[PLUMB_PLACE_SIZE], allowed[128];
    plumb_evidence_place(e->a, e->sample.index[worst], place);
    plumb_allowance_text(e, allowed, sizeof allowed);
    *found = true;
    plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                        "%s%llu of %llu elements are beyond what is allowed (%s), the worst at "
                        "%s: %.9g in A, %.9g in B",
                        e->sample.exact ? "" : "about ", (unsigned long long)count,
                        (unsigned long long)e->comparison->count, allowed, place,
                        e->sample.a[worst], e->sample.b[worst]);
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_few_elements = {
    .entry = {.name = "few-elements",
              .summary = "a handful of scattered elements differ",
              .detail = "At most 16 elements, or one in ten thousand, differ beyond rounding "
                        "and have no common slice\nor block: an index that is off, an "
                        "unordered atomic update, damaged memory."},
    .find = find,
};
