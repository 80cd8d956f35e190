/* cmd_nan.c - `plumb nan`: where did values stop being finite? */
#include "command.h"

struct nan_arguments {
    bool json;
};

static const struct option_row rows[] = {
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct nan_arguments, json)},
};

extern const struct command command_nan;

static int run(int argc, char **argv)
{
    struct nan_arguments arguments = {0};
    struct text_list operands = {0};
    struct plumb_error error;
    struct plumb_run *recorded = NULL;
    struct plumb_nan *nan = NULL;
    if (!options_parse("nan", &command_nan.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (operands.count != 1)
        return fail_usage(&command_nan, "say which run");
    enum plumb_status status = plumb_run_open(operands.items[0], &recorded, &error);
    if (!status)
        status = plumb_nan_find(recorded, &nan, &error);
    if (!status)
        status = plumb_report_nan(nan, arguments.json, &standard_output, &error);
    const int code = status                  ? fail(&error)
                     : plumb_nan_origin(nan) ? EXIT_DIFFERENT
                                             : EXIT_ALIKE;
    plumb_nan_free(nan);
    plumb_run_close(recorded);
    return code;
}

const struct command command_nan = {
    .name = "nan",
    .summary = "the first op whose inputs are finite and whose output is not",
    .operands = "RUN",
    .detail = "Walks the tensor records of all ranks in the order of execution, through their\n"
              "collectives: which op made the\n"
              "first NaN or infinity, or reached the largest value of its type, at which step\n"
              "and element, and what followed from it. Gradients that overflow under a loss\n"
              "scale without harm are counted only. Exit code 1 if there is something.\n\n"
              "  plumb nan runs/first\n"
              "  plumb nan runs/first --json\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
