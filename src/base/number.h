/* number.h - doubles to text and back, the same whatever locale the program has set. */
#ifndef PLUMB_BASE_NUMBER_H
#define PLUMB_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

enum { PLUMB_NUMBER_TEXT = 40 }; /* room for any double, with its end */

/* The shortest decimal text that reads back as the same double; nan, inf or -inf. */
void plumb_number_text(double value, char text[PLUMB_NUMBER_TEXT]);
/* Reads all `length` characters as a decimal number, correctly rounded; false if they are not
 * one. Very small becomes 0, very large infinity. */
bool plumb_number_parse(const char *text, size_t length, double *value);

#endif
