/* cmd_show.c - `plumb show`: what is in this file? */
#include "command.h"
#include "progress.h"

struct show_arguments {
    bool stats, json;
    const char *format;
    size_t threads;
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
};

extern const struct command command_show;

static int run(int argc, char **argv)
{
    struct show_arguments arguments = {0};
    struct text_list operands = {0};
    if (!options_parse("show", &command_show.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (!operands.count)
        return fail_usage(&command_show, "say which file");
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
    .summary = "what is in a tensor file, checkpoint or directory of them",
    .operands = "FILE|DIR [NAME...]",
    .detail =
        "Lists the tensors with shapes, types and sizes, the number of parameters, tied\n"
        "tensors, and what else is in the file. A NAME may hold * and ?; a single tensor\n"
        "is shown with its statistics and a histogram of its magnitudes.\n"
        "The format is found from the content, never from the name of the file.\n\n"
        "  plumb show model.pth\n"
        "  plumb show model.ckpt --stats 'layers.0.*'\n"
        "  plumb show checkpoint_dir --json\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
