/*
 * lab_run_folder.h - removes a recorded run.
 */
#ifndef TESTS_LAB_RUN_FOLDER_H
#define TESTS_LAB_RUN_FOLDER_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_entry(const char *path, const struct stat *status, int type,
                               struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static inline void remove_tree(const char *path)
{
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
