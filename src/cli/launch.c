/*
 * launch.c - see launch.h.
 *
 * Keys such as Ctrl-C reach every process of the terminal's group, so they are only kept from ending
 * us first; a signal that another process sent to us alone is handed on.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127 };

static const int handed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

static void fill(sigset_t *set)
{
    (void)sigemptyset(set);
    for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++)
        (void)sigaddset(set, handed_on[i]);
    (void)sigaddset(set, SIGCHLD);
}

/* In the child: the reason why there is no command goes through the pipe. */
static void become(char *const *command, const sigset_t *mask, int report)
{
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execvp(command[0], command);
    const int reason = errno;
    const ssize_t told = write(report, &reason, sizeof reason);
    _exit(told == (ssize_t)sizeof reason ? NOT_STARTED : NOT_STARTED - 1);
}

static pid_t start(char *const *command, const sigset_t *mask)
{
    int ends[2], reason = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0)
        become(command, mask, ends[1]);
    (void)close(ends[1]);
    ssize_t size = 0;
    if (child > 0)
        while ((size = read(ends[0], &reason, sizeof reason)) < 0 && errno == EINTR)
            continue;
    (void)close(ends[0]);
    if (child < 0 || size != (ssize_t)sizeof reason)
        return child;
    (void)waitpid(child, NULL, 0);
    errno = reason;
    return -1;
}

static void wait_for(pid_t child, const sigset_t *set, const struct launch_watch *watch,
                     int *status)
{
    const struct timespec second = {.tv_sec = 1};
    for (;;) {
        siginfo_t info;
        const pid_t ended = waitpid(child, status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return;
        const int signal = sigtimedwait(set, &info, &second);
        if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL)
            (void)kill(child, signal);
        if (signal < 0 && watch)
            watch->tick(watch->context);
    }
}

bool launch(char *const *command, const struct launch_watch *watch, int *status)
{
    sigset_t set, before;
    fill(&set);
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    const pid_t child = start(command, &before);
    if (child < 0)
        (void)fprintf(stderr, "plumb run: cannot start %s: %s\n", command[0], strerror(errno));
    else
        wait_for(child, &set, watch, status);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return child >= 0;
}

int launch_exit(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    const int number = WTERMSIG(status);
    const struct rlimit none = {0};
    sigset_t set;
    (void)fflush(NULL);
    (void)setrlimit(RLIMIT_CORE, &none); /* the core worth having is the command's */
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)raise(number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    return 128 + number;
}
