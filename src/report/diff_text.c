/* diff_text.c - a comparison of two files for people: the answer first, worst pairs next. */
#include "report/diff_report.h"

#include "report/table_text.h"
#include "report/words.h"

#include <string.h>

enum { MOST_LISTED = 20 };

static const char *const usual_metrics[] = {"max_abs", "relative_l2", "cosine"};

static const char *metric_name(const struct plumb_diff_report_options *options, size_t i)
{
    if (options->metrics)
        return plumb_diff_metric(options, i);
    return i < sizeof usual_metrics / sizeof *usual_metrics ? usual_metrics[i] : NULL;
}

/* "fc.weight", or "bn.weight -> bn.gamma (rule)" */
static void name_pair(struct plumb_table_text *table, const struct plumb_pair *pair)
{
    if (pair->matched_by == PLUMB_MATCH_NAME)
        plumb_table_text_cell(table, "%s", pair->a->name);
    else
        plumb_table_text_cell(table, "%s -> %s (%s)", pair->a->name, pair->b->name,
                              plumb_match_name(pair->matched_by));
}

static void add_pair(struct plumb_table_text *table, const struct plumb_pair *pair,
                     const struct plumb_diff_report_options *options)
{
    const struct plumb_judgement *judgement = &pair->judgement;
    const char *metric;
    plumb_table_text_cell(table, "%s", plumb_verdict_name(judgement->verdict));
    plumb_table_text_cell(table, "%s",
                          judgement->pattern ? plumb_pattern_name(judgement->pattern) : "");
    name_pair(table, pair);
    for (size_t i = 0; (metric = metric_name(options, i)); i++) {
        char text[WORD_SIZE];
        double value = 0;
        const bool known =
            !pair->shape_differs && plumb_metric_value(metric, &pair->comparison, &value);
        plumb_table_text_cell(table, "%s", known ? plumb_word_number(value, text) : "-");
    }
}

/* How many pairs to list: identical ones only when all are asked for. */
static size_t listed(const struct plumb_diff *diff, size_t top)
{
    size_t count = 0;
    if (top == 0)
        return diff->pair_count;
    while (count < diff->pair_count && count < top &&
           diff->pairs[count].judgement.verdict != PLUMB_IDENTICAL)
        count++;
    return count;
}

static void write_reason(const struct plumb_pair *pair, struct plumb_buffer *to)
{
    char a[SHAPE_SIZE], b[SHAPE_SIZE];
    plumb_buffer_printf(to, "  %s\n    %s", pair->b->name, pair->judgement.reason);
    if (pair->shape_differs || pair->judgement.pattern == PLUMB_PATTERN_TRANSPOSED)
        plumb_buffer_printf(to, " (A %s, B %s)", plumb_word_shape(pair->a, a),
                            plumb_word_shape(pair->b, b));
    if (pair->a->dtype != pair->b->dtype)
        plumb_buffer_printf(to, " (A is %s, B is %s)", plumb_dtype_name(pair->a->dtype),
                            plumb_dtype_name(pair->b->dtype));
    plumb_buffer_text(to, "\n");
}

static void write_pairs(const struct plumb_diff *diff,
                        const struct plumb_diff_report_options *options,
                        struct plumb_buffer *to)
{
    const size_t count = listed(diff, options->top);
    struct plumb_table_text table;
    const char *metric;
    if (!count)
        return;
    plumb_table_text_init(&table);
    plumb_table_text_column(&table, "verdict", false);
    plumb_table_text_column(&table, "pattern", false);
    plumb_table_text_column(&table, "tensor", false);
    for (size_t i = 0; (metric = metric_name(options, i)); i++)
        plumb_table_text_column(&table, metric, true);
    for (size_t i = 0; i < count; i++)
        add_pair(&table, &diff->pairs[i], options);
    plumb_buffer_text(to, "\n");
    plumb_table_text_write(&table, options->width, to);
    plumb_table_text_release(&table);
    plumb_buffer_text(to, "\n");
    for (size_t i = 0; i < count; i++)
        if (diff->pairs[i].judgement.verdict != PLUMB_IDENTICAL)
            write_reason(&diff->pairs[i], to);
    if (count < diff->pair_count)
        plumb_buffer_printf(to, "\n%zu more pair%s not listed (--top 0 lists all)\n",
                            diff->pair_count - count,
                            diff->pair_count - count == 1 ? " is" : "s are");
}

static void write_names(const char *title, const struct plumb_tensor *const *tensors,
                        size_t count, struct plumb_buffer *to)
{
    size_t shown = 0, aside = 0;
    if (count)
        plumb_buffer_printf(to, "\n%s (%zu):\n", title, count);
    for (size_t i = 0; i < count; i++) {
        char shape[SHAPE_SIZE];
        if (!plumb_diff_matters(tensors[i]))
            aside++;
        else if (shown++ < MOST_LISTED)
            plumb_buffer_printf(to, "  %s %s %s\n", tensors[i]->name,
                                plumb_word_shape(tensors[i], shape),
                                plumb_dtype_name(tensors[i]->dtype));
    }
    if (shown > MOST_LISTED)
        plumb_buffer_printf(to, "  ... and %zu more (--json shows all)\n", shown - MOST_LISTED);
    if (aside)
        plumb_buffer_printf(to,
                            "  %s%zu not of the model itself: optimizer state, counters, ...\n",
                            shown ? "and " : "", aside);
}

static void write_ties(const struct plumb_diff *diff, struct plumb_buffer *to)
{
    if (diff->tie_count)
        plumb_buffer_text(to, "\ntied on one side only:\n");
    for (size_t i = 0; i < diff->tie_count && i < MOST_LISTED; i++)
        plumb_buffer_printf(to, "  in %s: %s = %s\n", diff->ties[i].in_a ? "A" : "B",
                            diff->ties[i].first, diff->ties[i].second);
}

/* The advice of the worst finding: what to look at first. */
static void write_advice(const struct plumb_diff *diff, struct plumb_buffer *to)
{
    if (!diff->finding_count || diff->findings[0].severity == PLUMB_SEVERITY_NOTE)
        return;
    const struct plumb_finding *finding = &diff->findings[0];
    plumb_buffer_printf(to, "\nlikely cause: %s\nwhat to do:   %s\nnext test:    %s\n",
                        finding->cause, finding->fix, finding->next_test);
}

static void write_warnings(const struct plumb_file *file, struct plumb_buffer *to)
{
    for (size_t i = 0; i < file->warning_count && i < MOST_LISTED; i++)
        plumb_buffer_printf(to, "%s%s: warning: %s\n", i ? "" : "\n", file->path,
                            file->warnings[i]);
}

void plumb_diff_text(const struct plumb_diff *diff,
                     const struct plumb_diff_report_options *options, struct plumb_buffer *to)
{
    plumb_buffer_printf(to, "%s: %s\n", plumb_verdict_name(diff->verdict), diff->summary);
    write_pairs(diff, options, to);
    write_names("only in A", diff->only_a, diff->only_a_count, to);
    write_names("only in B", diff->only_b, diff->only_b_count, to);
    write_names("without a partner by rule", diff->ignored, diff->ignored_count, to);
    write_ties(diff, to);
    write_advice(diff, to);
    write_warnings(diff->a, to);
    write_warnings(diff->b, to);
}
