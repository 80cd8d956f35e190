/* run_remarks.h - sentences about two runs that the text and the page have in common. No full stops. */
#ifndef PLUMB_REPORT_RUN_REMARKS_H
#define PLUMB_REPORT_RUN_REMARKS_H

#include "compare/run_diff.h"

enum { PLUMB_REMARK_SIZE = 512, PLUMB_LAYOUT_REMARKS = 4 };

/* What announces that B's loss will spike; false: nothing does, or A's as well. */
bool plumb_remark_spike(const struct plumb_run_diff *diff, char text[PLUMB_REMARK_SIZE]);
/* What was put together from several ranks and what could not be; how many sentences that takes. */
size_t plumb_remark_layouts(const struct plumb_run_diff *diff,
                            char texts[PLUMB_LAYOUT_REMARKS][PLUMB_REMARK_SIZE]);

#endif
