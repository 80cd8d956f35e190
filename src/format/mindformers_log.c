/* mindformers_log.c - the line a step that MindFormers' trainer logs. */
#include "format/log_rows.h"

#include <string.h>

/* { Epoch:[  1/  2], step:[    2/  100], loss: 10.123, per_step_time: 512ms, lr: 1e-05, overflow cond:
 *   False, loss_scale: 65536.0, global_norm: [1.2], ... } */
static bool parse(const char *line, size_t length, struct plumb_log_row *row)
{
    const char *start = memmem(line, length, "Epoch:[", 7);
    if (!start || !memmem(line, length, "step:[", 6))
        return false;
    plumb_log_pairs(start, length - (size_t)(start - line), row);
    return row->has_step && plumb_log_row_has(row, "loss");
}

static enum plumb_probe probe(const struct plumb_map *map)
{
    return plumb_log_probe(map, parse);
}

static enum plumb_status read_log(const struct plumb_record_part *part,
                                  const struct plumb_record_feed *feed, struct plumb_error *err)
{
    return plumb_log_read(part, feed, parse, err);
}

const struct plumb_record_format plumb_record_format_mindformers_log = {
    .entry = {.name = "mindformers-log",
              .summary = "log of a MindFormers training: { Epoch:[ 1/ 2], step:[ 2/ 100], ...",
              .detail =
                  "Of loss:[last/mean] the last is taken; step 2 of epoch 3 of 100 steps each\n"
                  "is step 202. Overflow is 0 or 1, global_norm is called grad_norm."},
    .framework = "mindspore",
    .probe = probe,
    .read = read_log,
};
