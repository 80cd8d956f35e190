/*
 * command.h - the lab's subcommands.
 */
#ifndef LAB_COMMAND_H
#define LAB_COMMAND_H

int lab_command_train(int count, char **words);
int lab_command_faults(int count, char **words);
int lab_command_nets(int count, char **words);
void lab_print_train_options(void);

#endif
