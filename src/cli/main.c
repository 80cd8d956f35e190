/* main.c - finds the subcommand and runs it; the one place that prints errors and exits. */
#include "command.h"
#include "help.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COMMAND(name) extern const struct command command_##name;
#include "commands.def"
#undef COMMAND

static const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "commands.def"
#undef COMMAND
};

const struct command *command_at(size_t i)
{
    return i < sizeof commands / sizeof *commands ? commands[i] : NULL;
}

const struct command *command_named(const char *name)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

int fail(const struct plumb_error *error)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "plumb: %s\n", error->message);
    return EXIT_TROUBLE;
}

int fail_usage(const struct command *command, const char *what)
{
    (void)fprintf(stderr, "plumb %s: %s\nusage: plumb %s [options] %s\n", command->name, what,
                  command->name, command->operands);
    return EXIT_TROUBLE;
}

static bool write_out(void *context, const char *bytes, size_t size)
{
    (void)context;
    return fwrite(bytes, 1, size, stdout) == size;
}

const struct plumb_sink standard_output = {.write = write_out};

int terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_TROUBLE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("plumb %s (%s)\n", plumb_version(), plumb_cpu());
        return EXIT_ALIKE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_overview(stdout);
        return EXIT_ALIKE;
    }
    const struct command *command = command_named(argv[1]);
    if (!command) {
        (void)fprintf(stderr, "plumb: no command '%s'; `plumb --help` lists them\n", argv[1]);
        return EXIT_TROUBLE;
    }
    if (asks_for_help(argc - 2, argv + 2)) {
        help_command(stdout, command);
        return EXIT_ALIKE;
    }
    return command->run(argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    int code = run(argc, argv);
    /* A report that did not reach its reader (full disk, closed pipe) is trouble, too. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code != EXIT_TROUBLE) {
        (void)fprintf(stderr, "plumb: cannot write the output; is the disk full?\n");
        code = EXIT_TROUBLE;
    }
    return code;
}
