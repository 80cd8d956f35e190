/* samples.h - walks the small files that the real libraries and our own writers made. */
#ifndef PLUMB_TESTS_SAMPLES_H
#define PLUMB_TESTS_SAMPLES_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MOST = 2000, SAMPLES_PATH = 512 };

struct samples {
    size_t count;
    char paths[SAMPLES_MOST][SAMPLES_PATH];
};

/* Adds every file below `folder` in the order of names. */
static inline void samples_add(struct samples *samples, const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char path[SAMPLES_PATH];
        const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
        const bool itself = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
        if (!itself && length > 0 && length < SAMPLES_PATH && !strstr(name, ".py") &&
            !strstr(name, ".md")) {
            if (entries[i]->d_type == DT_DIR)
                samples_add(samples, path);
            else if (samples->count < SAMPLES_MOST)
                memcpy(samples->paths[samples->count++], path, sizeof path);
        }
        free(entries[i]);
    }
    free(entries);
}

#endif
