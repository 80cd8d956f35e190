/* cmd_plan_capture.c - `plumb plan-capture A B`: what to record next of two runs that part. */
#include "command.h"
#include "progress.h"

struct plan_arguments {
    bool json;
};

static const struct option_row rows[] = {
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct plan_arguments, json)},
};

extern const struct command command_plan_capture;

static int report(const struct plumb_plan *plan, const struct plan_arguments *arguments)
{
    struct plumb_error error;
    if (plumb_report_plan(plan, arguments->json, &standard_output, &error))
        return fail(&error);
    return plumb_plan_is_clear(plan) && plumb_plan_verdict(plan) <= PLUMB_ROUNDING
               ? EXIT_ALIKE
               : EXIT_DIFFERENT;
}

static int run(int argc, char **argv)
{
    struct plan_arguments arguments = {0};
    struct text_list operands = {0};
    struct plumb_error error;
    struct plumb_run *a = NULL, *b = NULL;
    struct plumb_plan *plan = NULL;
    struct progress_bar bar;
    if (!options_parse("plan-capture", &command_plan_capture.options, argc, argv, &arguments,
                       &operands))
        return EXIT_TROUBLE;
    if (operands.count != 2)
        return fail_usage(&command_plan_capture, "two runs: the reference A, then B");
    progress_begin(&bar);
    const bool failed = plumb_run_open(operands.items[0], &a, &error) ||
                        plumb_run_open(operands.items[1], &b, &error) ||
                        plumb_plan_new(a, b, &bar.callbacks, &plan, &error);
    progress_end(&bar);
    const int code = failed ? fail(&error) : report(plan, &arguments);
    plumb_plan_free(plan);
    plumb_run_close(b);
    plumb_run_close(a);
    return code;
}

const struct command command_plan_capture = {
    .name = "plan-capture",
    .summary = "what to record next of two runs that part: steps, ops, level, command lines",
    .operands = "A B",
    .detail =
        "Each capture narrows the next one: series give a step, the modules of that step a\n"
        "module, its ops an op, and the values of that op what is wrong with it. Says which\n"
        "steps, ops and ranks to record, at which level, how large and how long that will be,\n"
        "and the two command lines. If the answer is clear it names it instead.\n"
        "Exit code 0 if there is nothing to hunt, 1 if there is, 2 for trouble.\n\n"
        "  plumb plan-capture runs/reference runs/migrated\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
