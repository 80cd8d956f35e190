/*
 * fuzz_records.c - the libFuzzer target of what other tools wrote: logs, tables and dumps.
 *
 * The first line of an input is a path below an empty folder ("step0/rank0/dump.json"), the rest is
 * the file; a line of '%' begins a second path and file. The file is opened as a run, and so is the folder.
 */
#include "property/exercise_run.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { LARGEST = 1 << 20, LONGEST_PATH = 120, MOST_FILES = 4, OPEN_FOLDERS = 8 };

static char folder[64];

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *position)
{
    (void)status;
    (void)type;
    return position->level ? remove(path) : 0;
}

static void empty_folder(void)
{
    (void)nftw(folder, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static void remove_folder(void)
{
    empty_folder();
    (void)rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0])
        return;
    snprintf(folder, sizeof folder, "%s/plumb-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder))
        abort();
    atexit(remove_folder);
}

/* Letters, digits and "._-/", no empty part and none of dots: it stays below the folder. */
static bool is_tame(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (*part == '\0' || *part == '/' || *part == '.')
            return false;
    return strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
           strlen(path);
}

static void put_file(const char *path, const uint8_t *bytes, size_t size)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s/%s", folder, path);
    for (char *slash = whole + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "wb");
    if (!file)
        return; /* where another file's folder is */
    if (fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
    exercise_run(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    make_folder();
    empty_folder();
    const uint8_t *end = bytes + (size < LARGEST ? size : LARGEST);
    for (int i = 0; i < MOST_FILES && bytes < end; i++) {
        const uint8_t *line = memchr(bytes, '\n', (size_t)(end - bytes));
        const size_t length = line ? (size_t)(line - bytes) : 0;
        char path[LONGEST_PATH] = "log.txt";
        if (length && length < sizeof path)
            snprintf(path, sizeof path, "%.*s", (int)length, (const char *)bytes);
        if (!line || !is_tame(path))
            return 0;
        const uint8_t *next = memmem(line, (size_t)(end - line), "\n%\n", 3);
        put_file(path, line + 1, (size_t)((next ? next + 1 : end) - (line + 1)));
        bytes = next ? next + 3 : end;
    }
    exercise_run(folder);
    return 0;
}
