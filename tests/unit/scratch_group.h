/* scratch_group.h - one scratch directory for all tests of a program. */
#ifndef PLUMB_TESTS_SCRATCH_GROUP_H
#define PLUMB_TESTS_SCRATCH_GROUP_H

#include "unit/scratch.h"

static struct scratch scratch;

static inline int scratch_group_open(void **state)
{
    (void)state;
    scratch_open(&scratch);
    return 0;
}

static inline int scratch_group_close(void **state)
{
    (void)state;
    scratch_close(&scratch);
    return 0;
}

#endif
