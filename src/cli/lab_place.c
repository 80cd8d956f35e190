/* lab_place.c - see lab_place.h. Looks beside the running program: an installation, a build. */
#include "lab_place.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* From the folder of this program. A folder of programs may hold a `lab` of somebody else's: ours is
 * beside the library of its build, or in a place of its own. */
static const struct {
    const char *lab, *witness;
} places[] = {
    {"../libexec/plumb/lab", NULL}, /* make install */
    {"lab", "libplumb.a"},          /* build/plumb */
    {"../lab", "../libplumb.a"},    /* build/san/plumb */
};

static bool exists(const char *folder, const char *name, char *path, size_t size, int how)
{
    return snprintf(path, size, "%s/%s", folder, name) < (int)size && access(path, how) == 0;
}

bool lab_place(char *path, size_t size)
{
    char folder[4096];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        const char *witness = places[i].witness;
        if ((!witness || exists(folder, witness, path, size, R_OK)) &&
            exists(folder, places[i].lab, path, size, X_OK))
            return true;
    }
    (void)fprintf(stderr, "plumb demo: the lab, which trains the networks, is not beside this "
                          "program; `make` builds it as build/lab, `make install` installs "
                          "it\n");
    return false;
}
