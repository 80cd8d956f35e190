/* launch.h - runs a command as if it had been typed: signals and exit status go through. */
#ifndef PLUMB_CLI_LAUNCH_H
#define PLUMB_CLI_LAUNCH_H

#include <stdbool.h>

struct launch_watch {
    void (*tick)(void *context); /* about once a second while it runs */
    void *context;
};

/* Runs `command` (ends with NULL) and waits for it. `status` is as waitpid() gives it. False after
 * saying why it could not be started. */
bool launch(char *const *command, const struct launch_watch *watch, int *status);
/* Ends as the command did: returns its exit code, or dies of the signal it died of. */
int launch_exit(int status);

#endif
