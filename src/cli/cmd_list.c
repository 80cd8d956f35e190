/* cmd_list.c - `plumb list`: what is in the registries. */
#include "command.h"

#include <string.h>

struct list_arguments {
    bool json;
};

static const struct option_row rows[] = {
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct list_arguments, json)},
};

extern const struct command command_list;

static int run(int argc, char **argv)
{
    struct list_arguments arguments = {0};
    struct text_list operands = {0};
    struct plumb_error error;
    if (!options_parse("list", &command_list.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (operands.count != 1)
        return fail_usage(&command_list, "say which list");
    for (int i = 0; i < PLUMB_LIST_COUNT; i++) {
        const enum plumb_list list = (enum plumb_list)i;
        if (strcmp(operands.items[0], plumb_list_name(list)) != 0)
            continue;
        if (plumb_report_list(list, arguments.json, &standard_output, &error))
            return fail(&error);
        return EXIT_ALIKE;
    }
    return fail_usage(&command_list, "no such list");
}

const struct command command_list = {
    .name = "list",
    .summary = "the formats, metrics, verdicts or patterns Plumb knows",
    .operands = "formats|metrics|verdicts|patterns",
    .detail = "  plumb list formats\n  plumb explain safetensors   more about one entry\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
