/* capture_place.c - see capture_place.h. Looks beside the running program: a source tree, a Python
 * environment, an installation. */
#include "capture_place.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {
    "python/plumb/_site",                           /* build/plumb of a source tree */
    "lib/python3*/site-packages/plumb/_site",       /* bin/plumb of a virtual environment */
    "lib/python3*/dist-packages/plumb/_site",       /* Debian's python */
    "local/lib/python3*/dist-packages/plumb/_site", /* the same, from /usr/bin */
    "share/plumb/python/plumb/_site",               /* make install */
};

/* The folder above the one that holds this program. */
static bool above_program(char *path, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return true;
}

static bool find(const char *root, const char *place, char *path, size_t size)
{
    char pattern[4096];
    glob_t found;
    if (snprintf(pattern, sizeof pattern, "%s/%s/sitecustomize.py", root, place) >=
            (int)sizeof pattern ||
        glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return false;
    const char *file = found.gl_pathv[found.gl_pathc - 1];
    const int length = (int)(strrchr(file, '/') - file);
    const bool fits = snprintf(path, size, "%.*s", length, file) < (int)size;
    globfree(&found);
    return fits;
}

bool capture_place(char *path, size_t size)
{
    char root[4096];
    if (above_program(root, sizeof root)) {
        for (int up = 0; up < 2; up++) { /* build/san/plumb is one deeper */
            for (size_t i = 0; i < sizeof places / sizeof *places; i++)
                if (find(root, places[i], path, size))
                    return true;
            char *slash = strrchr(root, '/');
            if (!slash)
                break;
            *slash = '\0';
        }
    }
    (void)fprintf(stderr, "plumb run: the Python package is not beside this program; "
                          "`pip install .` in Plumb's source puts both in one place\n");
    return false;
}
