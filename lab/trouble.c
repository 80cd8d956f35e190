/*
 * trouble.c - messages of the lab and memory that is there or ends the program.
 */
#include "trouble.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void lab_give_up(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("lab: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

void *lab_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        lab_give_up("no memory for %zu x %zu bytes: use a smaller batch or fewer ranks", count,
                    size);
    return memory;
}
