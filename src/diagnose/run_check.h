/* run_check.h - what a look at one run, or at two, before training starts finds. */
#ifndef PLUMB_DIAGNOSE_RUN_CHECK_H
#define PLUMB_DIAGNOSE_RUN_CHECK_H

#include "compare/run_config.h"

enum { PLUMB_CHECK_ROWS = 400 };

struct plumb_check {
    struct plumb_arena arena;
    struct plumb_settings of_a, of_b; /* empty if there is no B */
    struct plumb_config_diff config;  /* rows point into it */
    struct plumb_check_row rows[PLUMB_CHECK_ROWS];
    size_t row_count, left_out;
    bool two;    /* runs */
    bool failed; /* out of memory */
};

#endif
