/*
 * run_align_gap.c - pairs ops whose names differ.
 *
 * The pairs of largest total worth that do not cross each other (Needleman and Wunsch). Equal
 * output bits are worth most, then the same kind of op with an output of the same size, then the
 * size alone: an op that was replaced. Long gaps are searched near the diagonal only.
 */
#include "compare/run_align.h"

#include "base/error.h"
#include "base/memory.h"
#include "compare/op_names.h"
#include "compare/run_near.h"

#include <string.h>

enum {
    WORTH_BITS = 14,
    WORTH_NEAR = 12, /* the same values up to rounding */
    WORTH_KIND_AND_SIZE = 10,
    WORTH_KIND = 4,
    WORTH_SIZE = 3,
    WORTH_LAST_NAME = 1, /* the same last part of the path, on top */
    WORTH_PATH = 2,      /* the same module, on top */
    IMPOSSIBLE = -1,
    MOST_CELLS = 16 << 20,
    NARROWEST = 64,
};

/* "linear" of "layers.0.linear#1". */
static const char *last_name(const char *label, size_t *length)
{
    const char *dot = strrchr(label, '.'), *name = dot ? dot + 1 : label;
    *length = strcspn(name, "#");
    return name;
}

struct table {
    const struct plumb_gap *gap;
    const uint32_t *kinds_a, *kinds_b;
    size_t width;      /* columns kept of a row */
    unsigned char *go; /* how a cell was reached */
};

enum { GO_PAIR, GO_SKIP_A, GO_SKIP_B };

/* Names of modules: the same, unknown on one side, or others. */
enum place { SAME_PLACE, NO_PLACE, OTHER_PLACE };

static enum place compare_places(const struct plumb_gap *gap, const struct plumb_step_op *a,
                                 const struct plumb_step_op *b)
{
    const char *const *texts = gap->names->texts;
    const size_t length_a = plumb_label_path(texts[a->match], texts[a->name]);
    const size_t length_b = plumb_label_path(texts[b->match], texts[b->name]);
    if (length_a == length_b && memcmp(texts[a->match], texts[b->match], length_a) == 0)
        return SAME_PLACE;
    return length_a && length_b ? OTHER_PLACE : NO_PLACE;
}

static bool is_possible(const struct plumb_step_op *a, const struct plumb_step_op *b)
{
    return a->phase == b->phase && (a->out == PLUMB_NO_ROW) == (b->out == PLUMB_NO_ROW) &&
           a->copy == b->copy;
}

static int worth(const struct table *table, size_t i, size_t j)
{
    const struct plumb_gap *gap = table->gap;
    const struct plumb_step_op *a = &gap->a->ops[gap->ops_a[i]],
                               *b = &gap->b->ops[gap->ops_b[j]];
    if (!is_possible(a, b))
        return IMPOSSIBLE;
    const bool same_kind = table->kinds_a[i] == table->kinds_b[j];
    const enum place place = compare_places(gap, a, b);
    size_t length_a, length_b;
    const char *name_a = last_name(gap->names->texts[a->match], &length_a);
    const char *name_b = last_name(gap->names->texts[b->match], &length_b);
    const int bonus =
        (length_a == length_b && memcmp(name_a, name_b, length_a) == 0 ? WORTH_LAST_NAME : 0) +
        (place == SAME_PLACE ? WORTH_PATH : 0);
    if (a->out == PLUMB_NO_ROW)
        return same_kind ? WORTH_KIND + bonus : IMPOSSIBLE;
    const struct plumb_row *out_a = &gap->rows_a[a->out], *out_b = &gap->rows_b[b->out];
    if (out_a->fingerprint && out_a->fingerprint == out_b->fingerprint &&
        out_a->count == out_b->count)
        return WORTH_BITS + bonus;
    if (plumb_row_is_telling(out_a) && plumb_row_is_near(out_a, out_b))
        return WORTH_NEAR + bonus;
    if (out_a->count == out_b->count)
        return same_kind                             ? WORTH_KIND_AND_SIZE + bonus
               : place == SAME_PLACE && !gap->across ? WORTH_SIZE + bonus
                                                     : IMPOSSIBLE;
    return same_kind ? WORTH_KIND + bonus : IMPOSSIBLE;
}

/* The first column of row i that is looked at. */
static size_t row_start(const struct table *table, size_t i)
{
    const size_t n = table->gap->count_b;
    if (table->width > n)
        return 0;
    const size_t middle = i * n / (table->gap->count_a ? table->gap->count_a : 1);
    const size_t half = table->width / 2;
    const size_t start = middle > half ? middle - half : 0;
    return start + table->width > n + 1 ? n + 1 - table->width : start;
}

/* Row i of the table from row i - 1: `before` and `now` hold one total a column of B. */
static void fill_row(const struct table *table, size_t i, const int *before, int *now)
{
    const size_t start = row_start(table, i), end = start + table->width;
    const size_t start_before = i ? row_start(table, i - 1) : 0;
    const size_t end_before = start_before + table->width;
    for (size_t j = start; j < end && j <= table->gap->count_b; j++) {
        int best = IMPOSSIBLE;
        unsigned char go = GO_SKIP_B;
        if (i == 0 || j > start)
            best = j > start ? now[j - 1] : 0;
        if (i && j >= start_before && j < end_before && before[j] > best) {
            best = before[j];
            go = GO_SKIP_A;
        }
        if (i && j > start_before && j <= end_before) {
            const int pair = worth(table, i - 1, j - 1);
            if (pair > 0 && before[j - 1] + pair > best) {
                best = before[j - 1] + pair;
                go = GO_PAIR;
            }
        }
        now[j] = best;
        table->go[i * table->width + (j - start)] = go;
    }
}

static void follow(const struct table *table)
{
    const struct plumb_gap *gap = table->gap;
    size_t i = gap->count_a, j = gap->count_b;
    while (i || j) {
        const size_t start = row_start(table, i);
        const unsigned char go =
            j < start ? GO_SKIP_A : table->go[i * table->width + j - start];
        if (go == GO_PAIR && i && j) {
            i--;
            j--;
            struct plumb_step_op *a = &gap->a->ops[gap->ops_a[i]];
            struct plumb_step_op *b = &gap->b->ops[gap->ops_b[j]];
            a->partner = (int32_t)gap->ops_b[j];
            b->partner = (int32_t)gap->ops_a[i];
            a->matched_by = b->matched_by = PLUMB_MATCH_GUESS;
        } else if (go == GO_SKIP_A && i) {
            i--;
        } else if (j) {
            j--;
        } else {
            i--;
        }
    }
}

static bool find_kinds(const struct plumb_gap *gap, uint32_t *of_a, uint32_t *of_b)
{
    if (!of_a || !of_b)
        return false;
    for (size_t i = 0; i < gap->count_a; i++)
        of_a[i] = plumb_op_kind(gap->names->texts[gap->a->ops[gap->ops_a[i]].name]);
    for (size_t i = 0; i < gap->count_b; i++)
        of_b[i] = plumb_op_kind(gap->names->texts[gap->b->ops[gap->ops_b[i]].name]);
    return true;
}

enum plumb_status plumb_gap_pair(const struct plumb_gap *gap, struct plumb_error *err)
{
    size_t width = MOST_CELLS / (gap->count_a + 1);
    width = width < NARROWEST ? NARROWEST : width;
    width = width > gap->count_b + 1 ? gap->count_b + 1 : width;
    uint32_t *kinds_a = plumb_alloc_array(gap->count_a, sizeof *kinds_a);
    uint32_t *kinds_b = plumb_alloc_array(gap->count_b, sizeof *kinds_b);
    int *before = plumb_alloc_array(gap->count_b + 2, sizeof *before);
    int *now = plumb_alloc_array(gap->count_b + 2, sizeof *now);
    struct table table = {.gap = gap,
                          .kinds_a = kinds_a,
                          .kinds_b = kinds_b,
                          .width = width,
                          .go = plumb_alloc_array(gap->count_a + 1, width)};
    const bool whole = find_kinds(gap, kinds_a, kinds_b) && before && now && table.go;
    for (size_t i = 0; whole && i <= gap->count_a; i++) {
        fill_row(&table, i, before, now);
        int *swap = before;
        before = now;
        now = swap;
    }
    if (whole)
        follow(&table);
    plumb_free(table.go);
    plumb_free(now);
    plumb_free(before);
    plumb_free(kinds_b);
    plumb_free(kinds_a);
    return whole ? PLUMB_OK : plumb_fail_memory(err);
}
