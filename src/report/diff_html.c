/* diff_html.c - a comparison of two files as a page: the answer, the pairs worst first, what has no partner. */
#include "report/diff_report.h"

#include "report/html_page.h"
#include "report/words.h"

static const char *const metrics[] = {"max_abs", "relative_l2", "cosine"};

static void write_pairs(const struct plumb_diff *diff, struct plumb_buffer *to)
{
    struct plumb_html_table table;
    plumb_html_heading(to, "Tensors, worst first");
    plumb_html_table_begin(
        &table, to,
        "verdict|pattern|tensor in A|in B|paired by|#max_abs|#relative_l2|#cosine|reason");
    for (size_t i = 0; i < diff->pair_count; i++) {
        const struct plumb_pair *pair = &diff->pairs[i];
        plumb_html_verdict(&table, plumb_verdict_name(pair->judgement.verdict));
        plumb_html_cell(&table, "%s", plumb_pattern_name(pair->judgement.pattern));
        plumb_html_cell(&table, "%s", pair->a->name);
        plumb_html_cell(&table, "%s", pair->b->name);
        plumb_html_cell(&table, "%s", plumb_match_name(pair->matched_by));
        for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++) {
            char text[WORD_SIZE];
            double value = 0;
            const bool known = !pair->shape_differs &&
                               plumb_metric_value(metrics[k], &pair->comparison, &value);
            plumb_html_cell(&table, "%s", known ? plumb_word_number(value, text) : "-");
        }
        plumb_html_cell(&table, "%s", pair->judgement.reason);
    }
    plumb_html_table_end(&table);
}

static void write_names(const char *title, const struct plumb_tensor *const *tensors,
                        size_t count, struct plumb_buffer *to)
{
    struct plumb_html_table table;
    if (!count)
        return;
    plumb_html_fold_begin(to, "%s: %zu", title, count);
    plumb_html_table_begin(&table, to, "tensor|shape|dtype");
    for (size_t i = 0; i < count; i++) {
        char shape[SHAPE_SIZE];
        plumb_html_cell(&table, "%s", tensors[i]->name);
        plumb_html_cell(&table, "%s", plumb_word_shape(tensors[i], shape));
        plumb_html_cell(&table, "%s", plumb_dtype_name(tensors[i]->dtype));
    }
    plumb_html_table_end(&table);
    plumb_html_fold_end(to);
}

void plumb_diff_html(const struct plumb_diff *diff, struct plumb_buffer *to)
{
    plumb_html_begin(to, "Where two files part", plumb_verdict_name(diff->verdict),
                     diff->summary);
    plumb_html_facts_begin(to);
    plumb_html_fact(to, "A (reference)", "%s", diff->a->path);
    plumb_html_fact(to, "B", "%s", diff->b->path);
    if (diff->finding_count && diff->findings[0].severity != PLUMB_SEVERITY_NOTE) {
        plumb_html_fact(to, "likely cause", "%s", diff->findings[0].cause);
        plumb_html_fact(to, "what to do", "%s", diff->findings[0].fix);
        plumb_html_fact(to, "next test", "%s", diff->findings[0].next_test);
    }
    plumb_html_facts_end(to);
    write_pairs(diff, to);
    write_names("only in A", diff->only_a, diff->only_a_count, to);
    write_names("only in B", diff->only_b, diff->only_b_count, to);
    write_names("without a partner by rule", diff->ignored, diff->ignored_count, to);
    plumb_html_end(to);
}
