/*
 * trouble.h - what the lab does when it cannot go on: one line on stderr and exit code 2.
 */
#ifndef LAB_TROUBLE_H
#define LAB_TROUBLE_H

#include <stddef.h>

#include "plumb.h"

_Noreturn void lab_give_up(const char *format, ...) PLUMB_PRINTF(1, 2);
/* Zeroed memory; gives up when there is none. */
void *lab_allocate(size_t count, size_t size);

#endif
