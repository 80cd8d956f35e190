/* mindspore_log.c - what MindSpore's LossMonitor and TimeMonitor print. */
#include "format/log_rows.h"

#include "base/text.h"

#include <string.h>

/* epoch: 1 step: 2, loss is 1.4205365180969238 */
static bool parse(const char *line, size_t length, struct plumb_log_row *row)
{
    const char *epoch = memmem(line, length, "epoch: ", 7);
    if (!epoch || !memmem(line, length, " loss is ", 9) || !memmem(line, length, "step: ", 6))
        return false;
    plumb_log_pairs(epoch, length - (size_t)(epoch - line), row);
    return row->has_step && row->has_epoch && plumb_log_row_has(row, "loss");
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

const struct plumb_record_format plumb_record_format_mindspore_log = {
    .entry = {.name = "mindspore-log",
              .summary = "console of a MindSpore Model.train: epoch: 1 step: 2, loss is 1.42",
              .detail =
                  "LossMonitor's lines. Its steps begin again with every epoch; here they\n"
                  "are counted on, from 1. Other lines are passed over."},
    .framework = "mindspore",
    .probe = probe,
    .read = read_log,
};
