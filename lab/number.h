/*
 * number.h - numbers on the command line.
 */
#ifndef LAB_NUMBER_H
#define LAB_NUMBER_H

#include <stdint.h>

/* Give up with the option's name and the limits if `text` is not such a number. */
int64_t lab_number(const char *what, const char *text, int64_t low, int64_t high);
double lab_fraction(const char *what, const char *text, double low, double high);

#endif
