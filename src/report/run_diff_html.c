/*
 * run_diff_html.c - a comparison of two runs as a page: the answer, the phases, the roots with what followed
 * from them folded under them, the series of both runs as charts, and the settings that differ.
 */
#include "report/run_diff_report.h"

#include "report/html_page.h"
#include "report/run_remarks.h"
#include "report/words.h"

#include <string.h>

enum { MOST_CHARTS = 24 };

static void write_answer(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    const struct plumb_run_root *first = diff->root_count ? &diff->roots[0] : NULL;
    plumb_html_begin(to, "Where two runs part",
                     plumb_verdict_name(plumb_run_diff_verdict(diff)), diff->summary);
    plumb_html_facts_begin(to);
    plumb_html_fact(to, "A (reference)", "%s", plumb_run_path(diff->a));
    plumb_html_fact(to, "B", "%s", plumb_run_path(diff->b));
    if (first) {
        plumb_html_fact(to, "what", "%s", first->reason);
        plumb_html_fact(to, "where", "rank %d, step %lld, %s, %s, %s", first->rank,
                        (long long)first->step, plumb_stage_name(first->stage), first->op,
                        first->slot);
    }
    for (size_t i = 0; i < diff->unread.count; i++)
        plumb_html_fact(to, "not read", "%s", diff->unread.items[i].text);
    plumb_html_fact(to, "how sure", "%.0f %%: %s", 100 * diff->confidence, diff->sure);
    plumb_html_fact(to, "next", "%s", diff->next);
    for (size_t i = 0; i < diff->finding_count && i < 1; i++) {
        plumb_html_fact(to, "likely cause", "%s", diff->findings[i].cause);
        plumb_html_fact(to, "what to do", "%s", diff->findings[i].fix);
    }
    plumb_html_facts_end(to);
}

static void write_stages(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    struct plumb_html_table table;
    plumb_html_heading(to, "Phases");
    plumb_html_table_begin(&table, to, "phase|verdict|detail");
    for (int i = 0; i < PLUMB_STAGE_COUNT; i++) {
        const struct plumb_run_stage *stage = &diff->stages[i];
        plumb_html_cell(&table, "%s", plumb_stage_name((enum plumb_stage)i));
        plumb_html_verdict(&table, stage->known ? plumb_verdict_name(stage->verdict) : NULL);
        plumb_html_cell(&table, "%s", stage->detail);
    }
    plumb_html_table_end(&table);
}

/* ---- roots and what followed from them ----------------------------------------------------------- */

static bool is_root(const struct plumb_run_diff *diff, const struct plumb_differing *row)
{
    for (size_t i = 0; i < diff->root_count; i++) {
        const struct plumb_run_root *root = &diff->roots[i];
        if (root->rank == row->rank && root->step == row->step &&
            strcmp(root->op, diff->names.texts[row->label]) == 0 &&
            strcmp(root->slot, diff->names.texts[row->slot]) == 0)
            return true;
    }
    return false;
}

static void write_victims(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    struct plumb_html_table table;
    size_t shown = 0;
    char text[WORD_SIZE];
    if (!diff->victims)
        return;
    plumb_html_fold_begin(to, "%s more records differ as a consequence",
                          plumb_word_count(diff->victims, text));
    plumb_html_table_begin(&table, to, "#rank|#step|phase|op|slot|#error|#rounding allows");
    for (size_t i = 0; i < diff->blame.listed_count; i++) {
        const struct plumb_differing *row = &diff->blame.listed[i];
        if (is_root(diff, row))
            continue;
        plumb_html_cell(&table, "%d", row->rank);
        plumb_html_cell(&table, "%lld", (long long)row->step);
        plumb_html_cell(&table, "%s", plumb_stage_name(row->stage));
        plumb_html_cell(&table, "%s", diff->names.texts[row->label]);
        plumb_html_cell(&table, "%s", diff->names.texts[row->slot]);
        plumb_html_cell(&table, "%s", plumb_word_number(row->error, text));
        plumb_html_cell(&table, "%s", plumb_word_number(row->allowed, text));
        shown++;
    }
    plumb_html_table_end(&table);
    if (diff->blame.differing > diff->blame.listed_count)
        plumb_html_paragraph(to, "The first %zu; the rest is not listed.", shown);
    plumb_html_fold_end(to);
}

static void write_roots(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    struct plumb_html_table table;
    char text[WORD_SIZE];
    if (!diff->root_count)
        return;
    plumb_html_heading(to, "What nothing before it explains");
    plumb_html_table_begin(
        &table, to,
        "verdict|#rank|#step|phase|op|slot|#error|#explained|#more of the kind|reason");
    for (size_t i = 0; i < diff->root_count; i++) {
        const struct plumb_run_root *root = &diff->roots[i];
        plumb_html_verdict(&table, plumb_verdict_name(root->verdict));
        plumb_html_cell(&table, "%d", root->rank);
        plumb_html_cell(&table, "%lld", (long long)root->step);
        plumb_html_cell(&table, "%s", plumb_stage_name(root->stage));
        plumb_html_cell(&table, "%s", root->op);
        plumb_html_cell(&table, "%s", root->slot);
        plumb_html_cell(&table, "%s", plumb_word_number(root->error, text));
        plumb_html_cell(&table, "%s", plumb_word_number(root->allowed, text));
        plumb_html_cell(&table, "%zu", root->similar);
        plumb_html_cell(&table, "%s", root->reason);
    }
    plumb_html_table_end(&table);
    if (diff->root_total > diff->root_count)
        plumb_html_paragraph(to, "and %zu more", diff->root_total - diff->root_count);
    write_victims(diff, to);
}

/* ---- series, settings, structure ------------------------------------------------------------------ */

static void write_series(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    if (!diff->series.count)
        return;
    plumb_html_heading(to, "Series");
    for (size_t i = 0; i < diff->series.count && i < MOST_CHARTS; i++) {
        const struct plumb_series_diff *series = &diff->series.items[i];
        struct plumb_buffer title;
        plumb_buffer_init(&title, 1 << 16);
        plumb_buffer_printf(&title, "%s, rank %d: %s", series->name, series->rank,
                            plumb_series_class_name(series->series_class));
        if (series->differs)
            plumb_buffer_printf(&title, ", first unequal at step %lld",
                                (long long)series->step);
        const struct plumb_html_chart chart = {
            .title = plumb_buffer_string(&title),
            .a = plumb_run_find_series(diff->a, series->name, series->rank),
            .b = plumb_run_find_series(diff->b, series->name, series->rank),
            .has_mark = series->differs,
            .marked = series->step};
        plumb_html_chart(to, &chart);
        plumb_buffer_release(&title);
    }
    if (diff->series.count > MOST_CHARTS)
        plumb_html_paragraph(to, "%zu more series are not drawn; those that differ come first.",
                             diff->series.count - MOST_CHARTS);
}

static void write_settings(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    struct plumb_html_table table;
    plumb_html_heading(to, "Settings that differ");
    if (!diff->config.count) {
        plumb_html_paragraph(to, "None of the %zu that both runs recorded.",
                             diff->config.compared);
        return;
    }
    plumb_html_table_begin(&table, to, "setting|#rank|A|B|acts on");
    for (size_t i = 0; i < diff->config.count; i++) {
        const struct plumb_setting_diff *setting = &diff->config.settings[i];
        plumb_html_cell(&table, "%s", setting->name);
        plumb_html_cell(&table, "%d", setting->rank);
        plumb_html_cell(&table, "%s", setting->a ? setting->a : "-");
        plumb_html_cell(&table, "%s", setting->b ? setting->b : "-");
        plumb_html_cell(&table, "%s", setting->numeric ? plumb_stage_name(setting->acts) : "-");
    }
    plumb_html_table_end(&table);
}

static void write_only(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    struct plumb_html_table table;
    if (!diff->only_count)
        return;
    plumb_html_heading(to, "Ops on one side only");
    plumb_html_fold_begin(to, "%zu only in A, %zu only in B", diff->only_a_total,
                          diff->only_b_total);
    plumb_html_table_begin(&table, to, "only in|#step|op");
    for (size_t i = 0; i < diff->only_count; i++) {
        plumb_html_cell(&table, "%s", diff->only[i].in_a ? "A" : "B");
        plumb_html_cell(&table, "%lld", (long long)diff->only[i].step);
        plumb_html_cell(&table, "%s", diff->only[i].op);
    }
    plumb_html_table_end(&table);
    plumb_html_fold_end(to);
}

static void write_remarks(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    char spike[PLUMB_REMARK_SIZE], layouts[PLUMB_LAYOUT_REMARKS][PLUMB_REMARK_SIZE];
    const size_t count = plumb_remark_layouts(diff, layouts);
    if (plumb_remark_spike(diff, spike))
        plumb_html_paragraph(to, "%s.", spike);
    for (size_t i = 0; i < count; i++)
        plumb_html_paragraph(to, "%s.", layouts[i]);
    if (diff->guessed)
        plumb_html_paragraph(
            to, "%zu ops are called differently and were paired by kind, shape and order.",
            diff->guessed);
    if (diff->overlap.only_a + diff->overlap.only_b)
        plumb_html_paragraph(to, "%zu ranks only in A, %zu only in B were not compared.",
                             diff->overlap.only_a, diff->overlap.only_b);
    if (diff->stopped)
        plumb_html_paragraph(
            to, "Steps after %lld were not looked at: the answer is clear (--all goes on).",
            (long long)diff->last_step);
    for (size_t i = 0; i < plumb_run_warning_count(diff->a); i++)
        plumb_html_paragraph(to, "warning: %s", plumb_run_warning(diff->a, i));
    for (size_t i = 0; i < plumb_run_warning_count(diff->b); i++)
        plumb_html_paragraph(to, "warning: %s", plumb_run_warning(diff->b, i));
}

void plumb_run_diff_html(const struct plumb_run_diff *diff, struct plumb_buffer *to)
{
    write_answer(diff, to);
    write_stages(diff, to);
    write_roots(diff, to);
    write_series(diff, to);
    write_settings(diff, to);
    write_only(diff, to);
    write_remarks(diff, to);
    plumb_html_end(to);
}
