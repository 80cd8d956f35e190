/* run_end.h - what `plumb run` says when its command is over: how it died if it did, where the run is, what to type next. */
#ifndef PLUMB_CLI_RUN_END_H
#define PLUMB_CLI_RUN_END_H

/* `status` is as waitpid() gives it; `against` may be NULL. */
void run_end_say(const char *directory, const char *against, int status);

#endif
