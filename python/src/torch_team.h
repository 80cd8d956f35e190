/* torch_team.h - torch's own threads, to share the work on a large tensor with. */
#ifndef PLUMB_PYTHON_TORCH_TEAM_H
#define PLUMB_PYTHON_TORCH_TEAM_H

#include "plumb.h"

/* For a tensor of that size. NULL: torch is not there or uses one thread, its threads cannot be used, or it is not
 * worth it. */
const struct plumb_team *plumb_torch_team(size_t bytes);

#endif
