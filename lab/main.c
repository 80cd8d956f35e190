/*
 * main.c - `lab train`, `lab faults`, `lab nets`.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "fault.h"
#include "trouble.h"

static const struct command {
    const char *name, *summary;
    int (*run)(int count, char **words);
} commands[] = {
    {"train", "train a small network, healthy or with a fault", lab_command_train},
    {"faults", "list the faults, one a line", lab_command_faults},
    {"nets", "list the networks", lab_command_nets},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

int lab_command_faults(int count, char **words)
{
    (void)words;
    if (count > 0)
        lab_give_up("`lab faults` takes no arguments");
    const struct lab_fault *fault;
    for (size_t i = 0; (fault = lab_fault_at(i, NULL)); i++)
        printf("%-26s %s\n", fault->name, fault->sentence);
    return 0;
}

int lab_command_nets(int count, char **words)
{
    (void)words;
    if (count > 0)
        lab_give_up("`lab nets` takes no arguments");
    const struct lab_net_kind *kind;
    for (size_t i = 0; (kind = lab_net_kind_at(i)); i++)
        printf("%-4s %s\n", kind->name, kind->summary);
    return 0;
}

static void print_help(void)
{
    puts("lab: small networks that train in seconds, with faults on demand\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  lab %-7s %s\n", commands[i].name, commands[i].summary);
    puts("\nOptions of `lab train`:");
    lab_print_train_options();
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return argc < 2 ? 2 : 0;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            int status = commands[i].run(argc - 2, argv + 2);
            return fflush(stdout) == 0 ? status : 2;
        }
    lab_give_up("there is no command '%s': `lab --help` lists them", argv[1]);
}
