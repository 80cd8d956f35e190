/* run_end.c - see run_end.h. */
#include "run_end.h"

#include "plumb.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATH_SIZE = 4096,
    DEEPEST = 16, /* operations inside of operations that are told apart */
    LABEL_SIZE = 256,
    MOST_RANKS = 4,    /* that are told of */
    OF_A_SIGNAL = 128, /* added to its number, an exit code of shells and launchers */
};

/* ---- how the command died --------------------------------------------------------------------- */

static const struct {
    int signal;
    const char *advice;
} advices[] = {
    {SIGILL, "a library used an instruction that this machine does not have; if it is torch's "
             "oneDNN, try ONEDNN_MAX_CPU_ISA=AVX512_CORE, or AVX2"},
    {SIGBUS, "often /dev/shm is full; try fewer workers of the data loader, or a larger one"},
    {SIGKILL, "if nobody sent it, the machine ran out of memory; `dmesg` tells"},
};

/* 0: of none, or of one that whoever sent it knows about. An exit code is only believed if nobody `closed` the run: a
 * program may end with any. */
static int signal_of(int status, bool closed)
{
    const int code = WIFEXITED(status) && !closed ? WEXITSTATUS(status) - OF_A_SIGNAL : 0;
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : code;
    return number > 0 && number < NSIG && number != SIGINT ? number : 0;
}

static void say_signal(int number)
{
    (void)fprintf(stderr, "plumb: the command was ended by signal %d (%s)", number,
                  strsignal(number));
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (advices[i].signal == number)
            (void)fprintf(stderr, ": %s", advices[i].advice);
    (void)fprintf(stderr, "\n");
}

/* The operations that a rank had begun and not ended; the last is the one that it was in. */
struct moment {
    int64_t step;
    size_t seen, open;
    char label[DEEPEST][LABEL_SIZE];
};

static void enter(struct moment *moment, const char *label)
{
    if (moment->open == DEEPEST) {
        memmove(moment->label[0], moment->label[1], sizeof moment->label[0] * (DEEPEST - 1));
        moment->open--;
    }
    (void)snprintf(moment->label[moment->open++], LABEL_SIZE, "%s", label);
}

/* Threads do not end what they began in each other's order. */
static void leave(struct moment *moment, const char *label)
{
    size_t at = moment->open;
    while (at && strcmp(moment->label[at - 1], label) != 0)
        at--;
    if (!at)
        return; /* begun before what is kept */
    memmove(moment->label[at - 1], moment->label[at],
            sizeof moment->label[0] * (moment->open - at));
    moment->open--;
}

static bool follow(void *context, int64_t step, int64_t time_ns, const char *what)
{
    struct moment *moment = context;
    (void)time_ns;
    moment->step = step;
    moment->seen++;
    if (strncmp(what, "enter ", 6) == 0)
        enter(moment, what + 6);
    else if (strncmp(what, "leave ", 6) == 0)
        leave(moment, what + 6);
    return true;
}

static void say_moment(struct plumb_run *run, const struct plumb_run_rank *rank)
{
    struct moment moment = {.step = 0};
    if (plumb_run_visit_flight(run, rank->rank, follow, &moment, NULL) || !moment.seen)
        return;
    (void)fprintf(stderr, "plumb: rank %d ended at step %lld, ", rank->rank,
                  (long long)moment.step);
    if (moment.open)
        (void)fprintf(stderr, "inside of %s\n", moment.label[moment.open - 1]);
    else if (strcmp(rank->level, "watch") == 0)
        (void)fprintf(stderr, "in which operation --level op tells\n");
    else
        (void)fprintf(stderr, "outside of any operation that was looked at\n");
}

static void say_moments(struct plumb_run *run)
{
    size_t dead = 0;
    for (size_t i = 0; i < plumb_run_rank_count(run); i++) {
        const struct plumb_run_rank *rank = plumb_run_rank(run, i);
        if (rank->ended == PLUMB_ENDED_KILLED && ++dead <= MOST_RANKS)
            say_moment(run, rank);
    }
    if (dead > MOST_RANKS)
        (void)fprintf(stderr, "plumb: and so did %zu other ranks\n", dead - MOST_RANKS);
}

static void say_death(const char *directory, int status)
{
    struct plumb_run *run = NULL;
    const bool recorded = plumb_run_is(directory) && !plumb_run_open(directory, &run, NULL);
    const int number =
        signal_of(status, !recorded || plumb_run_ended(run) != PLUMB_ENDED_KILLED);
    if (number)
        say_signal(number);
    if (recorded)
        say_moments(run);
    plumb_run_close(run);
}

/* ---- where the run is --------------------------------------------------------------------------- */

/* Further trainings of the same command are in DIR-2, DIR-3 ... */
static void say_runs(const char *directory, const char *shown, const char *against)
{
    char next[PATH_SIZE + 16];
    int last = 1;
    do
        (void)snprintf(next, sizeof next, "%s-%d", directory, ++last);
    while (plumb_run_is(next));
    last--;
    if (last == 1)
        (void)fprintf(stderr, "plumb: run is in %s; next: plumb %s%s%s %s\n", shown,
                      against ? "diff" : "show", against ? " " : "", against ? against : "",
                      shown);
    else
        (void)fprintf(stderr, "plumb: %d runs are in %s and %s-2%s; next: plumb show %s\n",
                      last, shown, shown, last > 2 ? " and so on" : "", shown);
}

static void say_nothing(bool succeeded)
{
    if (succeeded)
        (void)fprintf(stderr, "plumb: nothing was recorded: no backward pass and no optimizer "
                              "step was seen under torch or mindspore\n");
    else
        (void)fprintf(stderr,
                      "plumb: nothing was recorded: the command ended before a backward "
                      "pass or an optimizer step\n");
}

void run_end_say(const char *directory, const char *against, int status)
{
    char here[PATH_SIZE];
    const size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    const bool succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const char *shown = directory;
    if (length && strncmp(directory, here, length) == 0 && directory[length] == '/')
        shown = directory + length + 1;
    if (!succeeded)
        say_death(directory, status);
    if (plumb_run_is(directory))
        say_runs(directory, shown, against);
    else
        say_nothing(succeeded);
}
