/*
 * settled.c - see settled.h.
 *
 * A read lease is granted only on a file that nobody has open for writing, which is exactly the
 * question. It is given back at once; should a writer come in between, the signal that tells of it is
 * one that is ignored unless somebody waits for it (the usual one would end the process).
 */
#include "base/settled.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { QUIET_SECONDS = 10 };

static bool is_quiet(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && time(NULL) - info.st_mtime >= QUIET_SECONDS;
}

bool plumb_file_is_settled(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool settled = false;
    if (fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        (void)fcntl(fd, F_SETLEASE, F_UNLCK);
        settled = true;
    } else if (errno != EAGAIN) {
        settled = is_quiet(fd);
    }
    (void)close(fd);
    return settled;
}
