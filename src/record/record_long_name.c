/*
 * record_long_name.c - names of any length are recorded: very long ones lose their middle.
 *
 * Deeply nested modules have paths of thousands of characters. Leaving out their tensors would hide
 * what happens there, so the name is cut the same way in every run, and stays one of its own.
 */
#include "record/recorder_state.h"

#include "base/crc32.h"

#include <stdio.h>
#include <string.h>

enum { HEAD = 340, TAIL = 360 };

/* Characters of UTF-8 are kept whole: these are bytes inside of one. */
static bool is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

const char *plumb_recorder_fit_name(const char *text, char buffer[PLUMB_LONGEST_NAME])
{
    const size_t length = strlen(text);
    if (length < PLUMB_LONGEST_NAME)
        return text;
    size_t head = HEAD, tail = length - TAIL;
    while (head && is_inside(text[head]))
        head--;
    while (is_inside(text[tail]))
        tail++;
    (void)snprintf(buffer, PLUMB_LONGEST_NAME, "%.*s~%08x~%s", (int)head, text,
                   (unsigned)plumb_crc32(0, text, length), text + tail);
    return buffer;
}
