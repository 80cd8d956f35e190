/* cmd_explain.c - `plumb explain NAME`: any entry of any registry in some sentences. */
#include "command.h"

struct explain_arguments {
    bool json;
};

static const struct option_row rows[] = {
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct explain_arguments, json)},
};

extern const struct command command_explain;

static int run(int argc, char **argv)
{
    struct explain_arguments arguments = {0};
    struct text_list operands = {0};
    struct plumb_error error;
    if (!options_parse("explain", &command_explain.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (!operands.count)
        return fail_usage(&command_explain, "say what to explain");
    for (size_t i = 0; i < operands.count; i++)
        if (plumb_report_entry(operands.items[i], arguments.json, &standard_output, &error))
            return fail(&error);
    return EXIT_ALIKE;
}

const struct command command_explain = {
    .name = "explain",
    .summary = "what a format, metric, verdict or pattern is",
    .operands = "NAME...",
    .detail = "  plumb explain cosine\n  plumb explain low-accumulation\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
