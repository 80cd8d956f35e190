/* cmd_diff.c - `plumb diff A B`: where does B leave A, and does it matter? */
#include "command.h"
#include "progress.h"
#include "report_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct diff_arguments {
    const char *layout_a, *layout_b;
    const char *map, *write_map, *csv, *html;
    double rtol, atol;
    size_t top, threads;
    bool json, all;
    struct text_list metrics, noise;
};

static const struct option_row rows[] = {
    {"map", "FILE", "names in A and B that belong together: lines 'a b', JSON or YAML",
     OPTION_TEXT, offsetof(struct diff_arguments, map)},
    {"rtol", "R", "relative tolerance of the allclose metric (1e-5)", OPTION_NUMBER,
     offsetof(struct diff_arguments, rtol)},
    {"atol", "A", "absolute tolerance of the allclose metric (1e-8)", OPTION_NUMBER,
     offsetof(struct diff_arguments, atol)},
    {"metric", "M", "show this metric; may be repeated (`plumb list metrics`)", OPTION_LIST,
     offsetof(struct diff_arguments, metrics)},
    {"top", "N", "tensors to show, worst first; 0 for all (20)", OPTION_COUNT,
     offsetof(struct diff_arguments, top)},
    {"csv", "FILE", "also write a table of all pairs and metrics", OPTION_TEXT,
     offsetof(struct diff_arguments, csv)},
    {"html", "FILE", "also write a page to send to a colleague", OPTION_TEXT,
     offsetof(struct diff_arguments, html)},
    {"write-map", "FILE", "of runs: write the names that were paired, as YAML", OPTION_TEXT,
     offsetof(struct diff_arguments, write_map)},
    {"all", NULL, "of runs: all tables, and all steps after the answer is clear", OPTION_FLAG,
     offsetof(struct diff_arguments, all)},
    {"noise", "RUN", "another run of A's program: what is normal; may be repeated", OPTION_LIST,
     offsetof(struct diff_arguments, noise)},
    {"layout-a", "FILE", "how A's tensors are spread over ranks: they are put together first",
     OPTION_TEXT, offsetof(struct diff_arguments, layout_a)},
    {"layout-b", "FILE", "the same of B", OPTION_TEXT,
     offsetof(struct diff_arguments, layout_b)},
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct diff_arguments, json)},
    {"threads", "N", "threads to use (default: one a processor)", OPTION_COUNT,
     offsetof(struct diff_arguments, threads)},
};

extern const struct command command_diff;

/* One of the two is there. */
struct comparison {
    const struct plumb_diff *files;
    const struct plumb_run_diff *runs;
    enum plumb_report_form form;
};

static enum plumb_status write_form(void *context, const struct plumb_sink *sink)
{
    const struct comparison *comparison = context;
    const struct plumb_diff_report_options of_files = {.form = comparison->form};
    const struct plumb_run_diff_report_options of_runs = {.form = comparison->form};
    return comparison->files ? plumb_report_diff(comparison->files, &of_files, sink, NULL)
                             : plumb_report_run_diff(comparison->runs, &of_runs, sink, NULL);
}

/* The forms that go to files; false after saying why one could not be written. */
static bool write_files(struct comparison *comparison, const struct diff_arguments *arguments)
{
    const struct {
        const char *option, *path;
        enum plumb_report_form form;
    } files[] = {{"--csv", arguments->csv, PLUMB_REPORT_CSV},
                 {"--html", arguments->html, PLUMB_REPORT_HTML}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        comparison->form = files[i].form;
        if (files[i].path &&
            !report_file_write("diff", files[i].option, files[i].path, write_form, comparison))
            return false;
    }
    return true;
}

static int report(const struct plumb_diff *diff, const struct diff_arguments *arguments)
{
    struct comparison comparison = {.files = diff};
    if (!write_files(&comparison, arguments))
        return EXIT_TROUBLE;
    const struct plumb_diff_report_options options = {
        .form = arguments->json ? PLUMB_REPORT_JSON : PLUMB_REPORT_TEXT,
        .top = arguments->top,
        .metrics = arguments->metrics.count ? arguments->metrics.items : NULL,
        .metric_count = arguments->metrics.count,
        .width = terminal_width(),
    };
    struct plumb_error error;
    if (plumb_report_diff(diff, &options, &standard_output, &error))
        return fail(&error);
    const enum plumb_verdict verdict = plumb_diff_verdict(diff);
    return verdict <= PLUMB_ROUNDING ? EXIT_ALIKE : EXIT_DIFFERENT;
}

static int compare(const char *path_a, const char *path_b,
                   const struct diff_arguments *arguments)
{
    struct plumb_error error;
    struct plumb_file *a = NULL, *b = NULL;
    struct plumb_diff *diff = NULL;
    struct progress_bar bar;
    progress_begin(&bar);
    /* The usual table shows nothing that a brief comparison leaves out. */
    const bool brief =
        !arguments->json && !arguments->csv && !arguments->html && !arguments->metrics.count;
    const struct plumb_diff_options options = {
        .compare = {.scan = {.threads = (int)arguments->threads, .progress = &bar.callbacks},
                    .rtol = arguments->rtol,
                    .atol = arguments->atol,
                    .brief = brief},
        .map_path = arguments->map,
    };
    const bool failed = plumb_file_open(path_a, NULL, &a, &error) ||
                        plumb_file_open(path_b, NULL, &b, &error) ||
                        plumb_diff_new(a, b, &options, &diff, &error);
    progress_end(&bar);
    const int code = failed ? fail(&error) : report(diff, arguments);
    plumb_diff_free(diff);
    plumb_file_close(b);
    plumb_file_close(a);
    return code;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int report_runs(const struct plumb_run_diff *diff,
                       const struct diff_arguments *arguments)
{
    struct comparison comparison = {.runs = diff};
    if (!write_files(&comparison, arguments))
        return EXIT_TROUBLE;
    const struct plumb_run_diff_report_options options = {
        .form = arguments->json ? PLUMB_REPORT_JSON : PLUMB_REPORT_TEXT,
        .all = arguments->all,
        .width = terminal_width(),
    };
    struct plumb_error error;
    if (plumb_report_run_diff(diff, &options, &standard_output, &error))
        return fail(&error);
    return plumb_run_diff_verdict(diff) <= PLUMB_ROUNDING ? EXIT_ALIKE : EXIT_DIFFERENT;
}

static enum plumb_status open_all(const struct text_list *paths, struct plumb_run **runs,
                                  struct plumb_error *error)
{
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < paths->count && !status; i++)
        status = plumb_run_open(paths->items[i], &runs[i], error);
    return status;
}

static int compare_runs(const char *path_a, const char *path_b,
                        const struct diff_arguments *arguments)
{
    struct plumb_error error;
    struct plumb_run *a = NULL, *b = NULL, *noise[LIST_MOST] = {NULL};
    struct plumb_run_diff *diff = NULL;
    struct progress_bar bar;
    progress_begin(&bar);
    const struct plumb_run_diff_options options = {.noise = noise,
                                                   .noise_count = arguments->noise.count,
                                                   .everything = arguments->all,
                                                   .layout_a = arguments->layout_a,
                                                   .layout_b = arguments->layout_b,
                                                   .progress = &bar.callbacks,
                                                   .threads = (int)arguments->threads,
                                                   .map_path = arguments->map,
                                                   .write_map_path = arguments->write_map};
    const bool failed = plumb_run_open(path_a, &a, &error) ||
                        plumb_run_open(path_b, &b, &error) ||
                        open_all(&arguments->noise, noise, &error) ||
                        plumb_run_diff_new(a, b, &options, &diff, &error);
    progress_end(&bar);
    const int code = failed ? fail(&error) : report_runs(diff, arguments);
    plumb_run_diff_free(diff);
    for (size_t i = 0; i < arguments->noise.count; i++)
        plumb_run_close(noise[i]);
    plumb_run_close(b);
    plumb_run_close(a);
    return code;
}

static bool metrics_exist(const struct text_list *metrics)
{
    const struct plumb_comparison nothing = {0};
    for (size_t i = 0; i < metrics->count; i++) {
        double value;
        if (plumb_metric_value(metrics->items[i], &nothing, &value))
            continue;
        (void)fprintf(stderr, "plumb diff: no metric '%s'; `plumb list metrics` shows them\n",
                      metrics->items[i]);
        return false;
    }
    return true;
}

static int run(int argc, char **argv)
{
    struct diff_arguments arguments = {.top = 20};
    struct text_list operands = {0};
    if (!options_parse("diff", &command_diff.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (operands.count != 2)
        return fail_usage(&command_diff,
                          "two files or runs are compared: the reference A, then B");
    if (!metrics_exist(&arguments.metrics))
        return EXIT_TROUBLE;
    const char *a = operands.items[0], *b = operands.items[1];
    const bool run_a = plumb_run_is(a), run_b = plumb_run_is(b);
    if (run_a && run_b)
        return compare_runs(a, b, &arguments);
    const char *other = run_a ? b : a;
    if (run_a != run_b && access(other, F_OK) != 0) {
        (void)fprintf(stderr, "plumb diff: %s: there is no such file or directory\n", other);
        return EXIT_TROUBLE;
    }
    const int code = compare(a, b, &arguments);
    if (code == EXIT_TROUBLE && run_a != run_b)
        (void)fprintf(
            stderr,
            "plumb diff: %s is a recorded run and %s is not; a run is compared with a "
            "run, a tensor file with a tensor file\n",
            run_a ? a : b, other);
    return code;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "where B leaves A, and whether that is rounding or a bug",
    .operands = "A B",
    .detail =
        "A is the reference. Tensors are paired by name, by the renaming rules between\n"
        "PyTorch and MindSpore, by a map, and last by shape and order (marked 'guess').\n"
        "Every pair gets a verdict and its reason:\n"
        "  identical      the same values\n"
        "  rounding       what the types and the length of the sums allow\n"
        "  approximation  another formula or a less precise accumulator\n"
        "  different      with a pattern: bit-flip, blocks, slice, scaled, transposed ...\n"
        "Of two recorded runs it says where they part: configuration, data, weights,\n"
        "forward, backward, reduction or update; rank, step and op; and whether it is\n"
        "more than rounding. What follows from it is folded. A run that cannot be read\n"
        "whole is never called alike: its verdict is incomplete.\n"
        "Exit code 0 for identical and rounding, 1 for the others, 2 for trouble.\n\n"
        "  plumb diff reference.pth migrated.ckpt\n"
        "  plumb diff a.npy b.npy --metric cosine --metric max_abs\n"
        "  plumb diff dump1/ dump2/ --top 0 --csv pairs.csv\n"
        "  plumb diff runs/reference runs/migrated --noise runs/reference-again\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
