/* scan_team.h - statistics and fingerprint of large values in memory by several threads of the caller's. */
#ifndef PLUMB_MODEL_SCAN_TEAM_H
#define PLUMB_MODEL_SCAN_TEAM_H

#include "plumb.h"

/* plumb_values_summarize() with the same bits; `team` may be NULL. */
void plumb_values_summarize_by(const struct plumb_team *team, enum plumb_dtype dtype,
                               const void *values, size_t count, int parts,
                               struct plumb_summary *summary);

#endif
