/* run_module_settings.h - settings of a module that differ between two runs: why its numbers do. */
#ifndef PLUMB_COMPARE_RUN_MODULE_SETTINGS_H
#define PLUMB_COMPARE_RUN_MODULE_SETTINGS_H

#include "compare/run_diff.h"

/* Adds to the root's reason which settings of its module differ, if both runs say. False when out
 * of memory. */
bool plumb_module_settings_explain(struct plumb_run_diff *diff, struct plumb_run_root *root);

#endif
