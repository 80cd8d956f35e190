/* capture_place.h - where the Python side of the capture is. */
#ifndef PLUMB_CLI_CAPTURE_PLACE_H
#define PLUMB_CLI_CAPTURE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* The folder to put first in PYTHONPATH. False after saying what to do. */
bool capture_place(char *path, size_t size);

#endif
