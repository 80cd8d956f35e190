/* report_file.c - see report_file.h. */
#include "report_file.h"

#include <stdio.h>

static bool write_bytes(void *context, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size;
}

bool report_file_write(const char *verb, const char *option, const char *path,
                       enum plumb_status (*write)(void *context, const struct plumb_sink *sink),
                       void *context)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        (void)fprintf(stderr, "plumb %s: %s: cannot write it; choose another %s FILE\n", verb,
                      path, option);
        return false;
    }
    const struct plumb_sink sink = {.write = write_bytes, .context = file};
    const enum plumb_status status = write(context, &sink);
    const bool whole = fclose(file) == 0 && status == PLUMB_OK;
    if (!whole)
        (void)fprintf(stderr, "plumb %s: %s: could not be written whole; is the disk full?\n",
                      verb, path);
    return whole;
}
