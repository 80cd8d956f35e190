/* torch_team.h - torch's own threads, to share the work on a large tensor with. */
#ifndef PLUMB_PYTHON_TORCH_TEAM_H
#define PLUMB_PYTHON_TORCH_TEAM_H

#include "plumb.h"

/* NULL: torch uses one thread here, or its threads cannot be used. */
const struct plumb_team *plumb_torch_team(void);
/* In a child of fork() they do not exist. */
void plumb_torch_team_after_fork(void);

#endif
