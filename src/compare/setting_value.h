/* setting_value.h - values of settings, as JSON of whatever framework: numbers, types, words. */
#ifndef PLUMB_COMPARE_SETTING_VALUE_H
#define PLUMB_COMPARE_SETTING_VALUE_H

#include "plumb.h"

/* A number, also in quotes; true is 1. */
bool plumb_setting_number(const char *json, double *number);
/* Item `i` of a list of numbers: "[0.9, 0.95]". */
bool plumb_setting_item(const char *json, size_t i, double *number);
/* "torch.bfloat16" is bf16, whatever it is called. */
bool plumb_setting_dtype(const char *json, enum plumb_dtype *dtype);
/* What a word of this setting means: "adamw_torch" is "AdamW"; NULL if that is not known. */
const char *plumb_setting_meaning(const char *setting, const char *json);
bool plumb_setting_same(const char *setting, const char *a, const char *b);

#endif
