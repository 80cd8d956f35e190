/* help.c - see help.h. */
#include "help.h"

#include <string.h>

void help_overview(FILE *to)
{
    (void)fputs("Plumb finds out why the training of a neural network is wrong or slow.\n\n"
                "usage: plumb COMMAND [options] [paths]\n\n",
                to);
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        (void)fprintf(to, "  %-13s%s\n", command->name, command->summary);
    (void)fputs(
        "\n  --version    which Plumb this is, and which kernels it uses\n"
        "\n`plumb COMMAND --help` explains one of them.\n"
        "Exit codes: 0 alike or healthy, 1 differences or findings, 2 usage or trouble.\n",
        to);
}

static void option_label(char *label, size_t size, const struct option_row *row)
{
    (void)snprintf(label, size, "--%s%s%s", row->name, row->value ? " " : "",
                   row->value ? row->value : "");
}

void help_command(FILE *to, const struct command *command)
{
    (void)fprintf(to, "plumb %s - %s\n\nusage: plumb %s [options] %s\n", command->name,
                  command->summary, command->name, command->operands);
    if (command->options.count)
        (void)fputs("\n", to);
    for (size_t i = 0; i < command->options.count; i++) {
        char label[80];
        option_label(label, sizeof label, &command->options.rows[i]);
        (void)fprintf(to, "  %-18s %s\n", label, command->options.rows[i].help);
    }
    (void)fprintf(to, "\n%s", command->detail);
}

/* roff takes a leading dot or quote for a request and a bare minus for a hyphen. */
static void roff_text(FILE *to, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", to);
        line_start = *text == '\n';
        if (*text == '\\')
            (void)fputs("\\e", to);
        else if (*text == '-')
            (void)fputs("\\-", to);
        else
            (void)fputc(*text, to);
    }
}

static void man_options(FILE *to, const struct command *command)
{
    if (command->options.count)
        (void)fputs(".SH OPTIONS\n", to);
    for (size_t i = 0; i < command->options.count; i++) {
        char label[80];
        option_label(label, sizeof label, &command->options.rows[i]);
        (void)fputs(".TP\n.B ", to);
        roff_text(to, label);
        (void)fputc('\n', to);
        roff_text(to, command->options.rows[i].help);
        (void)fputc('\n', to);
    }
}

static void man_overview(FILE *to)
{
    const struct command *command;
    (void)fprintf(to,
                  ".TH PLUMB 1 \"\" \"plumb %s\"\n.SH NAME\nplumb \\- why is the training of a "
                  "neural network wrong or slow?\n.SH SYNOPSIS\n.B plumb\nCOMMAND [options] "
                  "[paths]\n.SH COMMANDS\n",
                  PLUMB_VERSION);
    for (size_t i = 0; (command = command_at(i)); i++) {
        (void)fprintf(to, ".TP\n.BR plumb\\-%s (1)\n", command->name);
        roff_text(to, command->summary);
        (void)fputc('\n', to);
    }
    (void)fputs(".SH EXIT STATUS\n0 alike or healthy, 1 differences or findings, 2 usage or "
                "trouble.\n",
                to);
}

void help_man(FILE *to, const struct command *command)
{
    if (!command) {
        man_overview(to);
        return;
    }
    (void)fprintf(to, ".TH PLUMB\\-%s 1 \"\" \"plumb %s\"\n.SH NAME\nplumb\\-%s \\- ",
                  command->name, PLUMB_VERSION, command->name);
    roff_text(to, command->summary);
    (void)fprintf(to, "\n.SH SYNOPSIS\n.B plumb %s\n[options] ", command->name);
    roff_text(to, command->operands);
    (void)fputc('\n', to);
    man_options(to, command);
    (void)fputs(".SH DESCRIPTION\n.nf\n", to);
    roff_text(to, command->detail);
    (void)fputs(".fi\n.SH SEE ALSO\n.BR plumb (1)\n", to);
}

static void complete_bash(FILE *to)
{
    const struct command *command;
    (void)fputs("# bash completion for plumb; made by `plumb help --completion bash`\n"
                "_plumb() {\n"
                "    local word=${COMP_WORDS[COMP_CWORD]}\n"
                "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                "        COMPREPLY=($(compgen -W \"",
                to);
    for (size_t i = 0; (command = command_at(i)); i++)
        (void)fprintf(to, "%s ", command->name);
    (void)fputs("--help --version\" -- \"$word\"))\n        return\n    fi\n"
                "    case \"$word:${COMP_WORDS[1]}\" in\n",
                to);
    for (size_t i = 0; (command = command_at(i)); i++) {
        (void)fprintf(to, "    -*:%s) COMPREPLY=($(compgen -W \"--help", command->name);
        for (size_t n = 0; n < command->options.count; n++)
            (void)fprintf(to, " --%s", command->options.rows[n].name);
        (void)fputs("\" -- \"$word\")) ;;\n", to);
    }
    (void)fputs("    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\n"
                "complete -o filenames -F _plumb plumb\n",
                to);
}

bool help_completion(FILE *to, const char *shell)
{
    if (strcmp(shell, "zsh") == 0)
        (void)fputs("#compdef plumb\nautoload -U +X bashcompinit && bashcompinit\n", to);
    else if (strcmp(shell, "bash") != 0)
        return false;
    complete_bash(to);
    return true;
}
