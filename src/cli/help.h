/* help.h - help, man pages and completion, all from the tables of the commands. */
#ifndef PLUMB_CLI_HELP_H
#define PLUMB_CLI_HELP_H

#include "command.h"

#include <stdio.h>

void help_overview(FILE *to);
void help_command(FILE *to, const struct command *command);
/* A man page in roff: of one command, or of plumb itself for NULL. */
void help_man(FILE *to, const struct command *command);
/* Completion for "bash" or "zsh"; false if there is none for that shell. */
bool help_completion(FILE *to, const char *shell);

#endif
