/* show_run.h - `plumb show` of a recorded run. */
#ifndef PLUMB_CLI_SHOW_RUN_H
#define PLUMB_CLI_SHOW_RUN_H

#include "plumb.h"

/* Returns an exit code. With `follow`, prints the series of every step as it is written, until the
 * run has ended. */
int show_run(const char *path, const struct plumb_run_report_options *options, bool follow);

#endif
