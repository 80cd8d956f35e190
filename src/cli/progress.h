/* progress.h - a progress bar on the terminal for anything that takes over a second. */
#ifndef PLUMB_CLI_PROGRESS_H
#define PLUMB_CLI_PROGRESS_H

#include "plumb.h"

struct progress_bar {
    struct plumb_progress callbacks; /* pass &bar.callbacks */
    int64_t started_ns, drawn_ns;
    bool visible;
};

/* Does nothing unless standard error is a terminal. */
void progress_begin(struct progress_bar *bar);
/* Removes the bar, so that what follows starts on a clean line. */
void progress_end(struct progress_bar *bar);

#endif
