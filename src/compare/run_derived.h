/*
 * run_derived.h - what the settings of two runs amount to, compared before the settings themselves.
 *
 * Two configurations may say the same thing in different settings, and the same settings may mean
 * different things: what counts is the learning rate at each step, the number of samples a step, how
 * weights decay and what operators compute in.
 */
#ifndef PLUMB_COMPARE_RUN_DERIVED_H
#define PLUMB_COMPARE_RUN_DERIVED_H

#include "compare/run_config.h"

enum { PLUMB_DERIVED_MOST = 16 }; /* rows of one rank */

/* Adds rows for what differs, and takes back `numeric` of settings whose sum comes out the same. The list has
 * room for PLUMB_DERIVED_MOST more a rank. */
enum plumb_status plumb_derived_compare(struct plumb_arena *arena,
                                        const struct plumb_settings *a,
                                        const struct plumb_settings *b, int rank,
                                        struct plumb_config_diff *diff,
                                        struct plumb_error *err);
/* Micro batch x accumulation x data parallel; false if one is not known. */
bool plumb_derived_batch(const struct plumb_settings *settings, int rank, double *batch);

#endif
