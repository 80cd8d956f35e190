/* nan_html.c - where values stopped being finite, as a page: the origin, why, and what followed folded. */
#include "report/nan_report.h"

#include "report/html_page.h"

static void put_place(struct plumb_html_table *table, const struct plumb_nan_place *place)
{
    plumb_html_cell(table, "%d", place->rank);
    plumb_html_cell(table, "%lld", (long long)place->step);
    plumb_html_cell(table, "%s", plumb_phase_name(place->phase));
    plumb_html_cell(table, "%s", place->op);
    plumb_html_cell(table, "%s", place->slot);
    plumb_html_cell(table, "%s", plumb_dtype_name(place->dtype));
    plumb_html_cell(table, "%s", place->kind);
    if (place->element >= 0)
        plumb_html_cell(table, "%lld", (long long)place->element);
    else
        plumb_html_cell(table, "-");
    plumb_html_cell(table, "%s", place->severity ? place->severity : "critical");
}

static const char columns[] = "#rank|#step|phase|op|slot|dtype|kind|#element|severity";

static void write_origin(const struct plumb_nan *nan, struct plumb_buffer *to)
{
    const struct plumb_finding *finding = &nan->finding;
    struct plumb_html_table table;
    plumb_html_facts_begin(to);
    plumb_html_fact(to, "where", "rank %d, step %lld, %s, %s, %s", nan->origin.rank,
                    (long long)nan->origin.step, plumb_phase_name(nan->origin.phase),
                    nan->origin.op, nan->origin.slot);
    for (size_t i = 0; i < finding->evidence_count; i++)
        plumb_html_fact(to, finding->evidence[i].what, "%s", finding->evidence[i].observed);
    plumb_html_fact(to, "likely cause", "%s", finding->cause);
    plumb_html_fact(to, "what to do", "%s", finding->fix);
    plumb_html_fact(to, "next test", "%s", finding->next_test);
    plumb_html_facts_end(to);
    plumb_html_heading(to, "Origin");
    plumb_html_table_begin(&table, to, columns);
    put_place(&table, &nan->origin);
    plumb_html_table_end(&table);
}

static void write_chain(const struct plumb_nan *nan, struct plumb_buffer *to)
{
    struct plumb_html_table table;
    if (!nan->chain_count)
        return;
    plumb_html_heading(to, "What followed");
    plumb_html_fold_begin(to, "%zu more records are not finite", nan->chain_total);
    plumb_html_table_begin(&table, to, columns);
    for (size_t i = 0; i < nan->chain_count; i++)
        put_place(&table, &nan->chain[i]);
    plumb_html_table_end(&table);
    if (nan->chain_total > nan->chain_count)
        plumb_html_paragraph(to, "The first %zu; the rest is not listed.", nan->chain_count);
    plumb_html_fold_end(to);
}

void plumb_nan_html(const struct plumb_nan *nan, struct plumb_buffer *to)
{
    plumb_html_begin(to, "Where values stopped being finite", nan->found ? "found" : "fine",
                     nan->found ? nan->finding.title : "every recorded value is finite");
    if (nan->found)
        write_origin(nan, to);
    write_chain(nan, to);
    if (nan->recovered)
        plumb_html_paragraph(to,
                             "Gradients overflowed at %zu step(s) and the loss scale took care "
                             "of it.",
                             nan->recovered);
    for (size_t i = 0; i < plumb_run_warning_count(nan->run); i++)
        plumb_html_paragraph(to, "Warning: %s", plumb_run_warning(nan->run, i));
    plumb_html_end(to);
}
