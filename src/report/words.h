/* words.h - numbers and shapes as people like to read them. */
#ifndef PLUMB_REPORT_WORDS_H
#define PLUMB_REPORT_WORDS_H

#include "plumb.h"

enum { WORD_SIZE = 64, SHAPE_SIZE = 256 };

/* 1234567 -> "1,234,567" */
const char *plumb_word_count(uint64_t count, char text[WORD_SIZE]);
/* 1419303936 -> "1.42 GB" */
const char *plumb_word_bytes(uint64_t bytes, char text[WORD_SIZE]);
/* Six digits; "-" for NaN, which stands for "there is none". */
const char *plumb_word_number(double value, char text[WORD_SIZE]);
/* "[64, 3, 7, 7]"; long ones end in "...]". */
const char *plumb_word_shape(const struct plumb_tensor *tensor, char text[SHAPE_SIZE]);

#endif
