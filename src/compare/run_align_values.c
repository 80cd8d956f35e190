/*
 * run_align_values.c - pairs ops that are called differently by what they make.
 *
 * The output of one op of A that is near that of exactly one op of B, and the other way round: two
 * frameworks that compute the same thing leave such pairs all along the way. Where several fit, the
 * module decides.
 */
#include "base/error.h"
#include "base/memory.h"
#include "compare/op_names.h"
#include "compare/run_align.h"
#include "compare/run_near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An op of B that may be found by its output. */
struct candidate {
    uint32_t op;
    unsigned char phase;
    int64_t count;
    double norm;
    uint32_t found, found_in_place; /* how many ops of A it fits; in the same module */
};

struct matching {
    struct plumb_alignment *alignment;
    const struct plumb_row *rows_a, *rows_b;
    const struct plumb_names *names;
    struct candidate *candidates;
    size_t count;
};

static int by_size_and_norm(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return (a->norm > b->norm) - (a->norm < b->norm);
}

/* Updates are named by their parameters; copies are nobody's work. */
static bool is_candidate(const struct plumb_step_op *op, const struct plumb_row *rows)
{
    return op->partner == PLUMB_NO_ROW && op->out != PLUMB_NO_ROW && !op->copy &&
           op->phase != PLUMB_PHASE_OPTIMIZER && plumb_row_is_telling(&rows[op->out]);
}

static void list_candidates(struct matching *matching)
{
    const struct plumb_step_side *b = &matching->alignment->b;
    for (size_t i = 0; i < b->op_count; i++) {
        const struct plumb_step_op *op = &b->ops[i];
        if (!is_candidate(op, matching->rows_b))
            continue;
        const struct plumb_row *out = &matching->rows_b[op->out];
        matching->candidates[matching->count++] = (struct candidate){
            .op = (uint32_t)i, .phase = op->phase, .count = out->count, .norm = out->stats.l2};
    }
    if (matching->count)
        qsort(matching->candidates, matching->count, sizeof *matching->candidates,
              by_size_and_norm);
}

static size_t first_not_below(const struct matching *matching, const struct candidate *key)
{
    size_t low = 0, high = matching->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_size_and_norm(&matching->candidates[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool same_module(const struct matching *matching, const struct plumb_step_op *a,
                        const struct plumb_step_op *b)
{
    const char *const *texts = matching->names->texts;
    const size_t length = plumb_label_path(texts[a->match], texts[a->name]);
    return length == plumb_label_path(texts[b->match], texts[b->name]) &&
           memcmp(texts[a->match], texts[b->match], length) == 0;
}

/* Those that `op` of A fits: the only one, the only one in its module; NULL if there is none. */
struct fitting {
    size_t fits, in_place;
    struct candidate *only, *only_in_place;
};

static struct fitting find_fitting(const struct matching *matching,
                                   const struct plumb_step_op *op, bool counting)
{
    struct fitting fitting = {0};
    const struct plumb_row *out = &matching->rows_a[op->out];
    const double near = plumb_row_nearness(out, out);
    const struct candidate lowest = {
        .phase = op->phase, .count = out->count, .norm = out->stats.l2 * (1 - 2 * near)};
    for (size_t i = first_not_below(matching, &lowest); i < matching->count; i++) {
        struct candidate *candidate = &matching->candidates[i];
        if (candidate->phase != op->phase || candidate->count != out->count ||
            candidate->norm > out->stats.l2 * (1 + 2 * near))
            break;
        const struct plumb_step_op *other = &matching->alignment->b.ops[candidate->op];
        if (!plumb_row_is_near(out, &matching->rows_b[other->out]))
            continue;
        const bool in_place = same_module(matching, op, other);
        fitting.fits++;
        fitting.in_place += in_place;
        fitting.only = candidate;
        if (in_place)
            fitting.only_in_place = candidate;
        candidate->found += counting;
        candidate->found_in_place += counting && in_place;
    }
    return fitting;
}

static void pair(struct matching *matching, size_t op_a, const struct candidate *candidate)
{
    struct plumb_step_op *a = &matching->alignment->a.ops[op_a];
    struct plumb_step_op *b = &matching->alignment->b.ops[candidate->op];
    a->partner = (int32_t)candidate->op;
    b->partner = (int32_t)op_a;
    a->matched_by = b->matched_by = PLUMB_MATCH_GUESS;
}

enum plumb_status plumb_values_pair(struct plumb_alignment *alignment,
                                    const struct plumb_row *rows_a,
                                    const struct plumb_row *rows_b,
                                    const struct plumb_names *names, struct plumb_error *err)
{
    struct matching matching = {
        .alignment = alignment, .rows_a = rows_a, .rows_b = rows_b, .names = names};
    const struct plumb_step_side *a = &alignment->a;
    matching.candidates =
        plumb_alloc_array(alignment->b.op_count + 1, sizeof *matching.candidates);
    if (!matching.candidates)
        return plumb_fail_memory(err);
    list_candidates(&matching);
    for (size_t i = 0; i < a->op_count && matching.count; i++)
        if (is_candidate(&a->ops[i], rows_a))
            (void)find_fitting(&matching, &a->ops[i], true);
    for (size_t i = 0; i < a->op_count && matching.count; i++) {
        if (!is_candidate(&a->ops[i], rows_a))
            continue;
        const struct fitting fitting = find_fitting(&matching, &a->ops[i], false);
        if (fitting.fits == 1 && fitting.only->found == 1)
            pair(&matching, i, fitting.only);
        else if (fitting.in_place == 1 && fitting.only_in_place->found_in_place == 1)
            pair(&matching, i, fitting.only_in_place);
    }
    plumb_free(matching.candidates);
    return PLUMB_OK;
}
