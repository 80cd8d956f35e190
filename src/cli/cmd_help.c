/* cmd_help.c - `plumb help`: the same words as --help, also as man page and completion. */
#include "command.h"
#include "help.h"

#include <stdio.h>

struct help_arguments {
    bool man;
    const char *completion;
};

static const struct option_row rows[] = {
    {"man", NULL, "as a man page, in roff", OPTION_FLAG, offsetof(struct help_arguments, man)},
    {"completion", "SHELL", "completion for bash or zsh instead", OPTION_TEXT,
     offsetof(struct help_arguments, completion)},
};

extern const struct command command_help;

static int run(int argc, char **argv)
{
    struct help_arguments arguments = {0};
    struct text_list operands = {0};
    if (!options_parse("help", &command_help.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (arguments.completion) {
        if (!help_completion(stdout, arguments.completion))
            return fail_usage(&command_help, "completion is there for bash and zsh");
        return EXIT_ALIKE;
    }
    const struct command *command = NULL;
    if (operands.count && !(command = command_named(operands.items[0])))
        return fail_usage(&command_help, "no such command; `plumb --help` lists them");
    if (arguments.man)
        help_man(stdout, command);
    else if (command)
        help_command(stdout, command);
    else
        help_overview(stdout);
    return EXIT_ALIKE;
}

const struct command command_help = {
    .name = "help",
    .summary = "how to use a command",
    .operands = "[COMMAND]",
    .detail = "  plumb help diff\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
