/* cmd_check.c - `plumb check`: is a run set as it should be, are two set alike? */
#include "command.h"

struct check_arguments {
    bool json;
};

static const struct option_row rows[] = {
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct check_arguments, json)},
};

extern const struct command command_check;

static int run(int argc, char **argv)
{
    struct check_arguments arguments = {0};
    struct text_list operands = {0};
    struct plumb_error error;
    struct plumb_run *a = NULL, *b = NULL;
    struct plumb_check *check = NULL;
    if (!options_parse("check", &command_check.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (operands.count != 1 && operands.count != 2)
        return fail_usage(&command_check, "say which run, or which two");
    enum plumb_status status = plumb_run_open(operands.items[0], &a, &error);
    if (!status && operands.count == 2)
        status = plumb_run_open(operands.items[1], &b, &error);
    if (!status)
        status = plumb_check_new(a, b, &check, &error);
    if (!status)
        status = plumb_report_check(check, arguments.json, terminal_width(), &standard_output,
                                    &error);
    const int code = status                                        ? fail(&error)
                     : plumb_check_worst(check) > PLUMB_CHECK_NOTE ? EXIT_DIFFERENT
                                                                   : EXIT_ALIKE;
    plumb_check_free(check);
    plumb_run_close(b);
    plumb_run_close(a);
    return code;
}

const struct command command_check = {
    .name = "check",
    .summary = "parameters, batch, seed and settings of one run, or of two side by side",
    .operands = "A [B]",
    .detail = "What checklists for migrations ask before training starts, from the\n"
              "configuration and the first recorded step: how many parameters are used and\n"
              "updated, whether the global batch is what its parts give, whether seed and\n"
              "learning rate are known, whether a gradient or update norm announces that the\n"
              "loss will spike; of two runs also every setting that differs, whatever\n"
              "each framework calls it. Exit code 1 if there is a warning or an error.\n\n"
              "  plumb check runs/first\n"
              "  plumb check runs/reference runs/migrated --json\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
