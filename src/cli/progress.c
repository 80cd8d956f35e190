/* progress.c - see progress.h. */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };
static const int64_t SHOW_AFTER_NS = 1000000000, REDRAW_NS = 100000000;

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool update(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct progress_bar *bar = context;
    const int64_t now = now_ns();
    if (now - bar->started_ns < SHOW_AFTER_NS || now - bar->drawn_ns < REDRAW_NS || !total)
        return true;
    bar->drawn_ns = now;
    bar->visible = true;
    const double share = (double)done / (double)total;
    const int filled = (int)(share * BAR_WIDTH);
    char line[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++)
        line[i] = i < filled ? '#' : '.';
    line[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, "\r\033[K[%s] %3.0f %%  %.40s", line, share * 100, what ? what : "");
    (void)fflush(stderr);
    return true;
}

void progress_begin(struct progress_bar *bar)
{
    *bar = (struct progress_bar){.started_ns = now_ns()};
    bar->callbacks.context = bar;
    if (isatty(STDERR_FILENO))
        bar->callbacks.update = update;
}

void progress_end(struct progress_bar *bar)
{
    if (bar->visible)
        (void)fprintf(stderr, "\r\033[K");
}
