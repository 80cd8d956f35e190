/* run_remarks.c - see run_remarks.h. */
#include "report/run_remarks.h"

#include <stdio.h>

bool plumb_remark_spike(const struct plumb_run_diff *diff, char text[PLUMB_REMARK_SIZE])
{
    struct plumb_spike a, b;
    char follows[48] = "";
    plumb_spike_find(diff->a, &a);
    plumb_spike_find(diff->b, &b);
    if (a.alarms || !b.alarms)
        return false;
    if (b.loss_step >= 0)
        (void)snprintf(follows, sizeof follows, "; the loss followed at step %lld",
                       (long long)b.loss_step);
    (void)snprintf(text, PLUMB_REMARK_SIZE,
                   "%.200s of B rose %.2gx over its own last %zu steps at step %lld%s",
                   b.series, b.times, b.over, (long long)b.step, follows);
    return true;
}

static size_t add_layout(const char *side, const struct plumb_layout *layout,
                         const struct plumb_layout_report *report,
                         char texts[2][PLUMB_REMARK_SIZE])
{
    const uint64_t wrong = report->unequal + report->missing + report->unknown;
    if (!layout->ranks)
        return 0;
    (void)snprintf(texts[0], PLUMB_REMARK_SIZE,
                   "%s: %llu records were put together from %zu ranks", side,
                   (unsigned long long)report->merged, layout->ranks);
    if (!wrong)
        return 1;
    (void)snprintf(texts[1], PLUMB_REMARK_SIZE, "%s: %llu could not be: %.400s", side,
                   (unsigned long long)wrong, report->first);
    return 2;
}

size_t plumb_remark_layouts(const struct plumb_run_diff *diff,
                            char texts[PLUMB_LAYOUT_REMARKS][PLUMB_REMARK_SIZE])
{
    const size_t count = add_layout("A", &diff->layout_a, &diff->merged_a, texts);
    return count + add_layout("B", &diff->layout_b, &diff->merged_b, texts + count);
}
