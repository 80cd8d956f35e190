/* cmd_nan.c - `plumb nan`: where did values stop being finite? */
#include "command.h"
#include "report_file.h"

struct nan_arguments {
    bool json;
    const char *html;
};

static const struct option_row rows[] = {
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct nan_arguments, json)},
    {"html", "FILE", "also write a page to send to a colleague", OPTION_TEXT,
     offsetof(struct nan_arguments, html)},
};

extern const struct command command_nan;

static enum plumb_status write_page(void *context, const struct plumb_sink *sink)
{
    return plumb_report_nan(context, PLUMB_REPORT_HTML, sink, NULL);
}

static int report(struct plumb_nan *nan, const struct nan_arguments *arguments)
{
    struct plumb_error error;
    if (arguments->html &&
        !report_file_write("nan", "--html", arguments->html, write_page, nan))
        return EXIT_TROUBLE;
    if (plumb_report_nan(nan, arguments->json ? PLUMB_REPORT_JSON : PLUMB_REPORT_TEXT,
                         &standard_output, &error))
        return fail(&error);
    return plumb_nan_origin(nan) ? EXIT_DIFFERENT : EXIT_ALIKE;
}

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
    const int code = status ? fail(&error) : report(nan, &arguments);
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
              "  plumb nan runs/first --html nan.html\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
