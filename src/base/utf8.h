/* utf8.h - one character at a time, checked: no overlong forms, no surrogates. */
#ifndef PLUMB_BASE_UTF8_H
#define PLUMB_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that starts at `text`, 0 if the bytes are not one. */
size_t plumb_utf8_length(const char *text, size_t left);
/* Writes up to 4 bytes and returns how many; 0 if `code` is not a character. */
size_t plumb_utf8_encode(uint32_t code, char out[4]);
/* Puts a question mark for control characters (with `keep_lines` not for a line's end) and for
 * bytes that are not UTF-8: what a file says must not be able to steer a terminal. */
void plumb_utf8_make_printable(char *text, bool keep_lines);

#endif
