/* command.h - a subcommand: one file that ends in one of these, and a line in commands.def. */
#ifndef PLUMB_CLI_COMMAND_H
#define PLUMB_CLI_COMMAND_H

#include "options.h"
#include "plumb.h"

/* As diff(1). */
enum exit_code { EXIT_ALIKE = 0, EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2 };

struct command {
    const char *name;
    const char *summary;  /* one line */
    const char *operands; /* "FILE|DIR [NAME...]" */
    const char *detail;   /* what it does and some examples; lines of at most 79 columns */
    struct option_table options;
    /* Arguments after the command's name. */
    int (*run)(int argc, char **argv);
};

/* NULL past the end, or if there is none of that name. */
const struct command *command_at(size_t i);
const struct command *command_named(const char *name);

/* Prints "plumb: ..." and returns EXIT_TROUBLE. */
int fail(const struct plumb_error *error);
/* Says how to call the command and returns EXIT_TROUBLE. */
int fail_usage(const struct command *command, const char *what);

/* Reports go to standard output through this. */
extern const struct plumb_sink standard_output;
/* Columns of the terminal, or 0 if the output is not one. */
int terminal_width(void);

#endif
