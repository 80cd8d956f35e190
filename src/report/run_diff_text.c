/*
 * run_diff_text.c - a comparison of two runs for people: what, where, how sure and what to do next on
 * one screen of at most 25 lines; the tables behind it with --all.
 */
#include "report/run_diff_report.h"

#include "report/called_at.h"
#include "report/table_text.h"
#include "report/run_remarks.h"
#include "report/words.h"

enum { FIRST_ROOTS = 4, FIRST_SETTINGS = 3, FIRST_WARNINGS = 1, FIRST_UNREAD = 2 };

static void write_called_at(const char *stack, struct plumb_buffer *to)
{
    size_t length = 0;
    const char *line = stack ? plumb_stack_line(stack, &length) : NULL;
    if (line)
        plumb_buffer_printf(to, "          called at %.*s\n", (int)length, line);
}

/* What could not be compared stands above how sure the answer is. */
static void write_unread(const struct plumb_unread_list *unread, struct plumb_buffer *to)
{
    for (size_t i = 0; i < unread->count && i < FIRST_UNREAD; i++)
        plumb_buffer_printf(to, "%s  %s\n", i ? "        " : "not read", unread->items[i].text);
    if (unread->total > FIRST_UNREAD)
        plumb_buffer_printf(to, "          and %zu more\n", unread->total - FIRST_UNREAD);
}

static void write_first(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    const struct plumb_run_root *first = diff->root_count ? &diff->roots[0] : NULL;
    plumb_buffer_printf(to, "%s: %s\n\n", plumb_verdict_name(plumb_run_diff_verdict(diff)),
                        diff->summary);
    if (first) {
        plumb_buffer_printf(to, "what      %s\n", first->reason);
        plumb_buffer_printf(to, "where     rank %d, step %lld, %s, %s, %s", first->rank,
                            (long long)first->step, plumb_stage_name(first->stage), first->op,
                            first->slot);
        if (first->similar)
            plumb_buffer_printf(to, " (and %zu more places of the kind)", first->similar);
        plumb_buffer_text(to, "\n");
        write_called_at(plumb_root_stack(diff, first), to);
    }
    write_unread(&diff->unread, to);
    plumb_buffer_printf(to, "how sure  %.0f %%: %s\n", 100 * diff->confidence, diff->sure);
    plumb_buffer_printf(to, "next      %s\n", diff->next);
}

static void write_stages(const struct plumb_run_diff *diff,
                         const struct plumb_run_diff_report_options *options,
                         struct plumb_buffer *to)
{
    struct plumb_table_text table;
    plumb_table_text_init(&table);
    plumb_table_text_column(&table, "phase", false);
    plumb_table_text_column(&table, "verdict", false);
    plumb_table_text_column(&table, "detail", false);
    for (int i = 0; i < PLUMB_STAGE_COUNT; i++) {
        const struct plumb_run_stage *stage = &diff->stages[i];
        plumb_table_text_cell(&table, "%s", plumb_stage_name((enum plumb_stage)i));
        plumb_table_text_cell(&table, "%s",
                              stage->known ? plumb_verdict_name(stage->verdict) : "-");
        plumb_table_text_cell(&table, "%s", stage->detail);
    }
    plumb_buffer_text(to, "\n");
    plumb_table_text_write(&table, options->width, to);
    plumb_table_text_release(&table);
}

static void write_other_roots(const struct plumb_run_diff *diff, size_t most,
                              struct plumb_buffer *to)
{
    for (size_t i = 1; i < diff->root_count && i < most; i++) {
        const struct plumb_run_root *root = &diff->roots[i];
        if (diff->verdict > PLUMB_ROUNDING && root->verdict <= PLUMB_ROUNDING)
            break;
        plumb_buffer_printf(to, "%s rank %d, step %lld, %s, %s, %s\n",
                            i == 1 ? "\nalso     " : "         ", root->rank,
                            (long long)root->step, plumb_stage_name(root->stage), root->op,
                            root->slot);
    }
}

static void write_overlap(const struct plumb_overlap *overlap, struct plumb_buffer *to)
{
    if (overlap->only_a + overlap->only_b)
        plumb_buffer_printf(to, "%zu ranks only in A, %zu only in B were not compared\n",
                            overlap->only_a, overlap->only_b);
    if (overlap->other_rank)
        plumb_buffer_printf(to, "rank %d of A was compared with rank %d of B\n",
                            overlap->rank_a, overlap->rank_b);
    if (overlap->shift)
        plumb_buffer_printf(to, "step %lld of A was compared with step %lld of B\n",
                            (long long)overlap->a.first, (long long)overlap->b.first);
    else if (overlap->a.first != overlap->b.first || overlap->a.last != overlap->b.last)
        plumb_buffer_printf(to, "A has steps %lld to %lld, B %lld to %lld\n",
                            (long long)overlap->a.first, (long long)overlap->a.last,
                            (long long)overlap->b.first, (long long)overlap->b.last);
    if (overlap->steps_only_a + overlap->steps_only_b)
        plumb_buffer_printf(to, "%llu steps in between only in A, %llu only in B\n",
                            (unsigned long long)overlap->steps_only_a,
                            (unsigned long long)overlap->steps_only_b);
}

static void write_remarks(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    char spike[PLUMB_REMARK_SIZE], layouts[PLUMB_LAYOUT_REMARKS][PLUMB_REMARK_SIZE];
    const size_t count = plumb_remark_layouts(diff, layouts);
    if (plumb_remark_spike(diff, spike))
        plumb_buffer_printf(to, "\n%s\n", spike);
    for (size_t i = 0; i < count; i++)
        plumb_buffer_printf(to, "%s\n", layouts[i]);
    if (diff->victims)
        plumb_buffer_printf(to, "\n%llu more records differ as a consequence\n",
                            (unsigned long long)diff->victims);
    if (diff->only_a_total + diff->only_b_total)
        plumb_buffer_printf(to, "%zu ops only in A, %zu only in B (--all lists them)\n",
                            diff->only_a_total, diff->only_b_total);
    if (diff->guessed)
        plumb_buffer_printf(to,
                            "%zu ops are called differently and were paired by kind, shape "
                            "and order\n",
                            diff->guessed);
    write_overlap(&diff->overlap, to);
    if (diff->blame.unknown)
        plumb_buffer_printf(to,
                            "%llu records have nothing on both sides that could be compared\n",
                            (unsigned long long)diff->blame.unknown);
    if (diff->blame.values_lost)
        plumb_buffer_printf(
            to,
            "%llu saved tensors are missing or cannot be read; their statistics "
            "were compared\n",
            (unsigned long long)diff->blame.values_lost);
    if (diff->blame.other_types)
        plumb_buffer_printf(to, "%llu records are of another type in B\n",
                            (unsigned long long)diff->blame.other_types);
    if (diff->stopped)
        plumb_buffer_printf(to,
                            "steps after %lld were not looked at: the answer is clear "
                            "(--all goes on)\n",
                            (long long)diff->last_step);
}

/* ---- the tables of --all -------------------------------------------------------------------------- */

static void write_settings(const struct plumb_run_diff *diff, struct plumb_buffer *to,
                           int width)
{
    struct plumb_table_text table;
    if (!diff->config.count)
        return;
    plumb_table_text_init(&table);
    plumb_table_text_column(&table, "setting", false);
    plumb_table_text_column(&table, "rank", true);
    plumb_table_text_column(&table, "A", false);
    plumb_table_text_column(&table, "B", false);
    plumb_table_text_column(&table, "acts on", false);
    for (size_t i = 0; i < diff->config.count; i++) {
        const struct plumb_setting_diff *setting = &diff->config.settings[i];
        plumb_table_text_cell(&table, "%s", setting->name);
        plumb_table_text_cell(&table, "%d", setting->rank);
        plumb_table_text_cell(&table, "%s", setting->a ? setting->a : "-");
        plumb_table_text_cell(&table, "%s", setting->b ? setting->b : "-");
        plumb_table_text_cell(&table, "%s",
                              setting->numeric ? plumb_stage_name(setting->acts) : "-");
    }
    plumb_buffer_text(to, "\nsettings that differ\n");
    plumb_table_text_write(&table, width, to);
    plumb_table_text_release(&table);
}

static void write_series(const struct plumb_run_diff *diff, struct plumb_buffer *to, int width)
{
    struct plumb_table_text table;
    if (!diff->series.count)
        return;
    plumb_table_text_init(&table);
    plumb_table_text_column(&table, "series", false);
    plumb_table_text_column(&table, "rank", true);
    plumb_table_text_column(&table, "class", false);
    plumb_table_text_column(&table, "first unequal", true);
    plumb_table_text_column(&table, "largest", true);
    for (size_t i = 0; i < diff->series.count; i++) {
        const struct plumb_series_diff *series = &diff->series.items[i];
        char text[WORD_SIZE];
        plumb_table_text_cell(&table, "%s", series->name);
        plumb_table_text_cell(&table, "%d", series->rank);
        plumb_table_text_cell(&table, "%s", plumb_series_class_name(series->series_class));
        if (series->differs)
            plumb_table_text_cell(&table, "%lld", (long long)series->step);
        else
            plumb_table_text_cell(&table, "-");
        plumb_table_text_cell(&table, "%s", plumb_word_number(series->worst, text));
    }
    plumb_buffer_text(to, "\nseries\n");
    plumb_table_text_write(&table, width, to);
    plumb_table_text_release(&table);
}

static void write_roots(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    if (diff->root_count)
        plumb_buffer_text(to, "\nroots\n");
    for (size_t i = 0; i < diff->root_count; i++) {
        const struct plumb_run_root *root = &diff->roots[i];
        plumb_buffer_printf(to, "  %s  rank %d, step %lld, %s, %s, %s (+%zu)\n    %s\n",
                            plumb_verdict_name(root->verdict), root->rank,
                            (long long)root->step, plumb_stage_name(root->stage), root->op,
                            root->slot, root->similar, root->reason);
    }
    if (diff->root_total > diff->root_count)
        plumb_buffer_printf(to, "  and %zu more\n", diff->root_total - diff->root_count);
}

static void write_only(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    for (size_t i = 0; i < diff->only_count; i++)
        plumb_buffer_printf(to, "%s  only in %s: %s (step %lld)\n", i ? "" : "\n",
                            diff->only[i].in_a ? "A" : "B", diff->only[i].op,
                            (long long)diff->only[i].step);
}

static void write_warnings(const char *side, const struct plumb_run *run, size_t most,
                           struct plumb_buffer *to)
{
    const size_t count = plumb_run_warning_count(run);
    for (size_t i = 0; i < count && i < most; i++)
        plumb_buffer_printf(to, "warning: %s: %s\n", side, plumb_run_warning(run, i));
    if (count > most)
        plumb_buffer_printf(to, "and %zu more warnings (--all)\n", count - most);
}

void plumb_run_diff_text(const struct plumb_run_diff *diff,
                         const struct plumb_run_diff_report_options *options,
                         struct plumb_buffer *to)
{
    write_first(diff, to);
    write_stages(diff, options, to);
    if (!options->all)
        write_other_roots(diff, FIRST_ROOTS, to);
    write_remarks(diff, to);
    if (!options->all) {
        write_warnings("A", diff->a, FIRST_WARNINGS, to);
        write_warnings("B", diff->b, FIRST_WARNINGS, to);
        return;
    }
    write_roots(diff, to);
    write_settings(diff, to, options->width);
    write_series(diff, to, options->width);
    write_only(diff, to);
    write_warnings("A", diff->a, SIZE_MAX, to);
    write_warnings("B", diff->b, SIZE_MAX, to);
}
