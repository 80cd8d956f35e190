/* scratch.h - a directory for a test's files, removed with all that is in it. */
#ifndef PLUMB_TESTS_SCRATCH_H
#define PLUMB_TESTS_SCRATCH_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct scratch {
    char root[64];
    char path[512]; /* of the last scratch_path() */
};

static inline void scratch_open(struct scratch *scratch)
{
    (void)snprintf(scratch->root, sizeof scratch->root, "/tmp/plumb-test-XXXXXX");
    assert_non_null(mkdtemp(scratch->root));
}

static inline int scratch_remove(const char *path, const struct stat *info, int kind,
                                 struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline void scratch_close(struct scratch *scratch)
{
    assert_int_equal(nftw(scratch->root, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline const char *scratch_path(struct scratch *scratch, const char *name)
{
    (void)snprintf(scratch->path, sizeof scratch->path, "%s/%s", scratch->root, name);
    return scratch->path;
}

static inline void scratch_directory(struct scratch *scratch, const char *name)
{
    assert_int_equal(mkdir(scratch_path(scratch, name), 0700), 0);
}

static inline void scratch_text(struct scratch *scratch, const char *name, const char *text)
{
    FILE *out = fopen(scratch_path(scratch, name), "wb");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

#endif
