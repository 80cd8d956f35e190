/* cmd_show.c - `plumb show`: what is in this file? */
#include "command.h"
#include "progress.h"
#include "show_run.h"

#include <string.h>

struct show_arguments {
    bool stats, json;
    const char *format;
    size_t threads;
    const char *series, *op, *slot, *step, *rank;
    bool follow, values;
};

static const struct option_row rows[] = {
    {"stats", NULL, "statistics of every tensor's values", OPTION_FLAG,
     offsetof(struct show_arguments, stats)},
    {"json", NULL, "for programs; with a fingerprint of every tensor", OPTION_FLAG,
     offsetof(struct show_arguments, json)},
    {"format", "NAME", "read it as this format instead of finding out", OPTION_TEXT,
     offsetof(struct show_arguments, format)},
    {"threads", "N", "threads to use (default: one a processor)", OPTION_COUNT,
     offsetof(struct show_arguments, threads)},
    {"series", "NAME", "of a run: this series as a chart", OPTION_TEXT,
     offsetof(struct show_arguments, series)},
    {"op", "PATTERN", "of a run: the tensor records of these ops, with * and ?", OPTION_TEXT,
     offsetof(struct show_arguments, op)},
    {"slot", "PATTERN", "of a run: of these slots alone: input0, output0, param:*", OPTION_TEXT,
     offsetof(struct show_arguments, slot)},
    {"step", "N", "of a run: tensor records of this step alone", OPTION_TEXT,
     offsetof(struct show_arguments, step)},
    {"rank", "N", "of a run: of this rank alone", OPTION_TEXT,
     offsetof(struct show_arguments, rank)},
    {"values", NULL, "of a run: the saved values of these tensor records", OPTION_FLAG,
     offsetof(struct show_arguments, values)},
    {"follow", NULL, "of a run: a line for each step, until the run ends", OPTION_FLAG,
     offsetof(struct show_arguments, follow)},
};

extern const struct command command_show;

/* Digits to a number of at most eighteen of them. */
static bool parse_number(const char *text, int64_t *number)
{
    const size_t length = strlen(text);
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || length > 18)
            return false;
        *number = *number * 10 + (text[i] - '0');
    }
    return length > 0;
}

static int show_recorded(const char *path, const struct show_arguments *arguments)
{
    int64_t rank = -1, step = 0;
    if (arguments->rank && (!parse_number(arguments->rank, &rank) || rank > INT32_MAX))
        return fail_usage(&command_show, "--rank needs a whole number");
    if (arguments->step && !parse_number(arguments->step, &step))
        return fail_usage(&command_show, "--step needs a whole number");
    const struct plumb_run_report_options options = {
        .json = arguments->json,
        .width = terminal_width(),
        .rank = (int)rank,
        .series = arguments->series,
        .op = arguments->op,
        .slot = arguments->slot,
        .values = arguments->values,
        .one_step = arguments->step != NULL,
        .step = step,
    };
    return show_run(path, &options, arguments->follow);
}

static int run(int argc, char **argv)
{
    struct show_arguments arguments = {0};
    struct text_list operands = {0};
    if (!options_parse("show", &command_show.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (!operands.count)
        return fail_usage(&command_show, "say which file");
    const bool about_run = arguments.series || arguments.op || arguments.slot ||
                           arguments.step || arguments.rank || arguments.values ||
                           arguments.follow;
    if (about_run ||
        (!arguments.format && operands.count == 1 && plumb_run_is(operands.items[0])))
        return show_recorded(operands.items[0], &arguments);
    struct plumb_error error;
    struct plumb_file *file = NULL;
    const struct plumb_open_options open_options = {.format = arguments.format};
    if (plumb_file_open(operands.items[0], &open_options, &file, &error))
        return fail(&error);
    struct progress_bar bar;
    progress_begin(&bar);
    const struct plumb_show_options options = {
        .stats = arguments.stats,
        .json = arguments.json,
        .width = terminal_width(),
        .names = operands.count > 1 ? operands.items + 1 : NULL,
        .name_count = operands.count - 1,
        .scan = {.threads = (int)arguments.threads, .progress = &bar.callbacks},
    };
    const enum plumb_status status =
        plumb_report_file(file, &options, &standard_output, &error);
    progress_end(&bar);
    plumb_file_close(file);
    return status ? fail(&error) : EXIT_ALIKE;
}

const struct command command_show = {
    .name = "show",
    .summary = "what is in a tensor file, checkpoint, directory of them, or recorded run",
    .operands = "FILE|DIR|RUN [NAME...]",
    .detail =
        "Lists the tensors with shapes, types and sizes, the number of parameters, tied\n"
        "tensors, and what else is in the file. A NAME may hold * and ?; a single tensor\n"
        "is shown with its statistics and a histogram of its magnitudes.\n"
        "The format is found from the content, never from the name of the file.\n\n"
        "  plumb show model.pth\n"
        "  plumb show model.ckpt --stats 'layers.0.*'\n"
        "  plumb show checkpoint_dir --json\n\n"
        "Of a recorded run: how it ended, its ranks, series, configuration and the tensor\n"
        "records of its last step.\n\n"
        "  plumb show runs/first\n"
        "  plumb show runs/first --series loss\n"
        "  plumb show runs/first --op 'layers.0.*' --step 12\n"
        "  plumb show runs/first --op layers.0.linear --slot output0 --step 12 --values\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
