/*
 * run_walk.c - brings the records of both runs together, some steps of all ranks at a time.
 *
 * Memory is that of about as many records as WINDOW_ROWS on each side, however long the runs are.
 */
#include "compare/run_diff.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "compare/run_label_map.h"
#include "compare/run_value_pair.h"
#include "run/run_losses.h"

#include <math.h>
#include <string.h>

enum { WINDOW_ROWS = 100000, MOST_ALIGNMENTS = 32 };

struct walking {
    struct plumb_run_diff *diff;
    const struct plumb_run_diff_options *options;
    struct plumb_rows a, b;
    struct plumb_alignment *alignments[MOST_ALIGNMENTS]; /* of structures seen lately */
    size_t alignment_count, next_alignment;
    struct plumb_rank_state *states;
    size_t rank_count;
    int64_t first, last, window;
    bool across;                 /* the runs are of different frameworks */
    struct plumb_label_map map;  /* the user's, if there is one */
    struct plumb_name_map found; /* names that were paired and differ */
};

/* ---- what can be compared ---------------------------------------------------------------------- */

/* Of sides that are put together there is one rank each. */
static void join_ranks(struct walking *walking)
{
    struct plumb_overlap *overlap = &walking->diff->overlap;
    walking->rank_count = walking->rank_count ? 1 : 0;
    overlap->only_a = walking->diff->layout_a.ranks ? 0 : overlap->only_a;
    overlap->only_b = walking->diff->layout_b.ranks ? 0 : overlap->only_b;
    overlap->most_records *= walking->diff->layout_a.ranks + walking->diff->layout_b.ranks;
}

static enum plumb_status find_ranks(struct walking *walking, struct plumb_error *err)
{
    struct plumb_run_diff *diff = walking->diff;
    struct plumb_overlap *overlap = &diff->overlap;
    const size_t count = plumb_run_rank_count(diff->a);
    plumb_overlap_find(overlap, diff->a, diff->b);
    walking->states = plumb_alloc_array(count + 1, sizeof *walking->states);
    if (!walking->states)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct plumb_run_rank *a = plumb_run_rank(diff->a, i);
        const struct plumb_run_rank *b = plumb_overlap_partner(overlap, diff->b, a);
        if (!b)
            continue;
        walking->states[walking->rank_count].rank_b = b->rank;
        walking->states[walking->rank_count++].rank = a->rank;
    }
    if (diff->layout_a.ranks || diff->layout_b.ranks)
        join_ranks(walking);
    walking->first = overlap->both.first;
    walking->last = overlap->both.last;
    const double range = (double)walking->last - (double)walking->first + 1;
    const double window = floor(range * (WINDOW_ROWS / (double)overlap->most_records));
    walking->window = window < 1 ? 1 : window > 0x1p62 ? INT64_MAX / 4 : (int64_t)window;
    return PLUMB_OK;
}

/* ---- alignments ---------------------------------------------------------------------------------- */

static void list_only(struct walking *walking, const struct plumb_alignment *alignment,
                      int64_t step)
{
    struct plumb_run_diff *diff = walking->diff;
    for (int in_a = 1; in_a >= 0; in_a--) {
        const struct plumb_step_side *side = in_a ? &alignment->a : &alignment->b;
        for (size_t i = 0; i < side->op_count; i++) {
            if (!plumb_step_op_is_alone(side, i) || diff->only_count == PLUMB_RUN_DIFF_ONLY)
                continue;
            diff->only[diff->only_count++] =
                (struct plumb_only_op){diff->names.texts[side->ops[i].label], step, in_a == 1};
        }
    }
    diff->only_a_total += alignment->only_a;
    diff->only_b_total += alignment->only_b;
    diff->guessed += alignment->guessed;
}

/* "torch 2.6" as the run says it; "" if it does not. */
static const char *framework_of(const struct plumb_run *run)
{
    for (size_t i = 0; i < plumb_run_note_count(run); i++) {
        const struct plumb_note *note = plumb_run_note(run, i);
        if (strcmp(note->key, "framework") == 0 && note->json[0] == '"')
            return note->json + (plumb_text_starts(note->json, "\"py") ? strlen("\"py") : 1);
    }
    return "";
}

/* Remembers which names belong together, MindSpore's first, as msprobe has them. */
static enum plumb_status note_pairs(struct walking *walking,
                                    const struct plumb_alignment *alignment,
                                    struct plumb_error *err)
{
    const char *const *texts = walking->diff->names.texts;
    const bool turned = plumb_text_starts(framework_of(walking->diff->b), "mindspore");
    for (size_t i = 0; i < alignment->a.op_count; i++) {
        const struct plumb_step_op *a = &alignment->a.ops[i];
        if (a->partner == PLUMB_NO_ROW || a->phase != PLUMB_PHASE_FORWARD)
            continue;
        const char *name_a = texts[a->label],
                   *name_b = texts[alignment->b.ops[a->partner].label];
        const char *from = turned ? name_b : name_a, *to = turned ? name_a : name_b;
        if (strcmp(from, to) == 0 || plumb_name_map_get(&walking->found, from))
            continue;
        const enum plumb_status status = plumb_name_map_add(&walking->found, "", from, to, err);
        if (status)
            return status;
    }
    return PLUMB_OK;
}

static enum plumb_status align(struct walking *walking, const struct plumb_row *a,
                               size_t count_a, const struct plumb_row *b, size_t count_b,
                               const struct plumb_alignment **out, struct plumb_error *err)
{
    const uint64_t structure_a = plumb_step_structure(a, count_a);
    const uint64_t structure_b = plumb_step_structure(b, count_b);
    const struct plumb_step_rows rows_a = {a, count_a}, rows_b = {b, count_b};
    for (size_t i = 0; i < walking->alignment_count; i++) {
        const struct plumb_alignment *known = walking->alignments[i];
        if (known->a.structure == structure_a && known->b.structure == structure_b) {
            *out = known;
            return PLUMB_OK;
        }
    }
    struct plumb_alignment *made = NULL;
    const enum plumb_status status = plumb_alignment_new(&rows_a, &rows_b, walking->across,
                                                         &walking->diff->names, &made, err);
    if (status)
        return status;
    if (walking->across)
        plumb_alignment_drop_misfits(made, &walking->diff->names, a, b);
    const size_t at = walking->next_alignment++ % MOST_ALIGNMENTS;
    plumb_alignment_free(walking->alignments[at]);
    walking->alignments[at] = made;
    if (walking->alignment_count < MOST_ALIGNMENTS)
        walking->alignment_count++;
    list_only(walking, made, a->step);
    *out = made;
    return walking->options && walking->options->write_map_path ? note_pairs(walking, made, err)
                                                                : PLUMB_OK;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

static bool has_values(const struct plumb_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].has_values)
            return true;
    return false;
}

/* A step that lacks records in its middle cannot be told from one that left ops out. */
static bool is_torn(const struct plumb_run_diff *diff, const struct plumb_rank_state *state,
                    int64_t step_a, int64_t step_b)
{
    return plumb_run_step_is_torn(diff->a, diff->layout_a.ranks ? -1 : state->rank, step_a) ||
           plumb_run_step_is_torn(diff->b, diff->layout_b.ranks ? -1 : state->rank_b, step_b);
}

static enum plumb_status compare_step(struct walking *walking, struct plumb_rank_state *state,
                                      const struct plumb_row *a, size_t count_a,
                                      const struct plumb_row *b, size_t count_b,
                                      struct plumb_error *err)
{
    struct plumb_run_diff *diff = walking->diff;
    if (is_torn(diff, state, a->step, b->step)) {
        diff->torn_steps++;
        return PLUMB_OK;
    }
    struct plumb_value_pair values = {.names = &diff->names, .threads = diff->threads};
    struct plumb_step_pair pair = {.a = a, .b = b, .step = a->step, .values = &values};
    const enum plumb_status status =
        align(walking, a, count_a, b, count_b, &pair.alignment, err);
    if (status)
        return status;
    if (has_values(a, count_a) && has_values(b, count_b))
        plumb_value_pair_open(&values, diff->a, state->rank, a->step, diff->b, state->rank_b,
                              b->step);
    plumb_blame_step(&diff->blame, state, &pair);
    plumb_value_pair_close(&values);
    if (!diff->steps || a->step < diff->first_step)
        diff->first_step = a->step;
    if (!diff->steps || a->step > diff->last_step)
        diff->last_step = a->step;
    diff->steps++;
    return diff->blame.failed ? plumb_fail_memory(err) : PLUMB_OK;
}

/* What B would call A's ops and their slots, by the user's map. */
static enum plumb_status match_rows(struct walking *walking, struct plumb_error *err)
{
    struct plumb_names *names = &walking->diff->names;
    if (plumb_label_map_is_empty(&walking->map))
        return PLUMB_OK;
    for (size_t i = 0; i < walking->a.count; i++) {
        struct plumb_row *row = &walking->a.rows[i];
        char buffer[PLUMB_LABEL_SIZE], slot_buffer[PLUMB_SLOT_SIZE];
        const char *slot =
            plumb_label_map_slot(&walking->map, names->texts[row->op], names->texts[row->slot],
                                 row->phase == PLUMB_PHASE_BACKWARD, slot_buffer);
        if (slot && (row->match_slot = plumb_names_number(names, slot)) == PLUMB_NO_NAME)
            return plumb_fail_memory(err);
        if (i && row->label == row[-1].label)
            row->match = row[-1].match;
        else
            row->match = plumb_names_number(
                names, plumb_label_map_apply(&walking->map, names->texts[row->label],
                                             names->texts[row->op], buffer));
        if (row->match == PLUMB_NO_NAME)
            return plumb_fail_memory(err);
    }
    return PLUMB_OK;
}

static enum plumb_status compare_rank(struct walking *walking, struct plumb_rank_state *state,
                                      int64_t first, int64_t last, struct plumb_error *err)
{
    struct plumb_run_diff *diff = walking->diff;
    const int64_t shift = diff->overlap.shift;
    enum plumb_status status =
        diff->layout_a.ranks ? plumb_layout_load(&diff->layout_a, &walking->a, &diff->names,
                                                 diff->a, first, last, &diff->merged_a, err)
                             : plumb_rows_load(&walking->a, &diff->names, diff->a, state->rank,
                                               first, last, err);
    if (!status)
        status = match_rows(walking, err);
    if (!status)
        status = diff->layout_b.ranks
                     ? plumb_layout_load(&diff->layout_b, &walking->b, &diff->names, diff->b,
                                         first + shift, last + shift, &diff->merged_b, err)
                     : plumb_rows_load(&walking->b, &diff->names, diff->b, state->rank_b,
                                       first + shift, last + shift, err);
    size_t i = 0, k = 0;
    while (!status && i < walking->a.count && k < walking->b.count) {
        const struct plumb_row *a = &walking->a.rows[i], *b = &walking->b.rows[k];
        const size_t end_a = plumb_rows_step_end(&walking->a, i);
        const size_t end_b = plumb_rows_step_end(&walking->b, k);
        const int64_t step_a = a->step, step_b = b->step - shift;
        if (step_a == step_b)
            status = compare_step(walking, state, a, end_a - i, b, end_b - k, err);
        diff->overlap.steps_only_a += step_a < step_b;
        diff->overlap.steps_only_b += step_b < step_a;
        i = step_a <= step_b ? end_a : i;
        k = step_b <= step_a ? end_b : k;
    }
    return status;
}

/* Something that is certainly not rounding: what comes later follows from it. */
static bool is_clear(const struct plumb_run_diff *diff)
{
    for (size_t i = 0; i < diff->blame.event_count; i++) {
        const struct plumb_event *event = &diff->blame.events[i];
        if (event->error.error > event->error.allowed)
            return true;
    }
    return false;
}

static enum plumb_status report_progress(const struct walking *walking, int64_t step,
                                         struct plumb_error *err)
{
    const struct plumb_progress *progress =
        walking->options ? walking->options->progress : NULL;
    if (!progress || !progress->update)
        return PLUMB_OK;
    const uint64_t total = (uint64_t)(walking->last - walking->first) + 1;
    return progress->update(progress->context, "comparing steps",
                            (uint64_t)(step - walking->first), total)
               ? PLUMB_OK
               : plumb_fail(err, PLUMB_STOPPED, -1, "stopped");
}

static enum plumb_status compare_windows(struct walking *walking, struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    const bool everything = walking->options && walking->options->everything;
    int64_t first = walking->first;
    while (!status && first <= walking->last) {
        const int64_t last = walking->last - first < walking->window
                                 ? walking->last
                                 : first + walking->window - 1;
        status = report_progress(walking, first, err);
        for (size_t i = 0; i < walking->rank_count && !status; i++)
            status = compare_rank(walking, &walking->states[i], first, last, err);
        plumb_blame_settle(&walking->diff->blame);
        if (last == walking->last)
            break;
        if (!everything && is_clear(walking->diff)) {
            walking->diff->stopped = true;
            break;
        }
        first = last + 1;
    }
    return status;
}

/* "torch 2.6" and "torch 2.7" are of one. */
static bool are_of_two_frameworks(const struct plumb_run_diff *diff)
{
    const char *a = framework_of(diff->a), *b = framework_of(diff->b);
    const size_t length = strcspn(a, " \""), length_b = strcspn(b, " \"");
    return length && length_b && (length != length_b || strncmp(a, b, length) != 0);
}

enum plumb_status plumb_run_diff_walk(struct plumb_run_diff *diff,
                                      const struct plumb_run_diff_options *options,
                                      struct plumb_error *err)
{
    struct walking walking = {
        .diff = diff, .options = options, .across = are_of_two_frameworks(diff)};
    diff->blame.names = &diff->names;
    diff->threads = options ? options->threads : 0;
    diff->first_step = 0;
    diff->last_step = -1;
    enum plumb_status status = find_ranks(&walking, err);
    if (!status && options && options->map_path)
        status =
            plumb_label_map_open(&walking.map, options->map_path, diff->a,
                                 plumb_text_starts(framework_of(diff->a), "mindspore"), err);
    if (!status && walking.rank_count)
        status = compare_windows(&walking, err);
    if (!status && options && options->write_map_path)
        status = plumb_name_map_write(&walking.found, options->write_map_path, err);
    plumb_name_map_release(&walking.found);
    plumb_label_map_release(&walking.map);
    for (size_t i = 0; i < walking.alignment_count; i++)
        plumb_alignment_free(walking.alignments[i]);
    for (size_t i = 0; i < walking.rank_count; i++)
        plumb_rank_state_release(&walking.states[i]);
    plumb_free(walking.states);
    plumb_rows_release(&walking.b);
    plumb_rows_release(&walking.a);
    return status;
}
