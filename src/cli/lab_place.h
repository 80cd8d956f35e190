/* lab_place.h - where the embedded trainer is. */
#ifndef PLUMB_CLI_LAB_PLACE_H
#define PLUMB_CLI_LAB_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* The path of the program `lab`. False after saying what to do. */
bool lab_place(char *path, size_t size);

#endif
