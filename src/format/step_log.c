/* step_log.c - lines that name a step and a loss, as most scripts print them. */
#include "format/log_rows.h"

static bool parse(const char *line, size_t length, struct plumb_log_row *row)
{
    plumb_log_pairs(line, length, row);
    row->steps_of_epoch = 0; /* "step 3/100" is of the whole run, mostly */
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

const struct plumb_record_format plumb_record_format_step_log = {
    .entry =
        {.name = "step-log",
         .summary = "lines that name a step and a loss: step 12 loss 0.5",
         .detail =
             "Any text in which lines have a step (step, iter, iteration) and a loss, with\n"
             "or without : or = between name and number: \"step 12 loss 0.5\",\n"
             "\"iter 100: loss 2.3, time 23ms\", \"Epoch [1/10], Step [100/600], Loss: 2.1\".\n"
             "Every number with a name on such a line becomes a series. Where steps begin\n"
             "again with an epoch they are counted on. Other lines are passed over."},
    .framework = "",
    .probe = probe,
    .read = read_log,
};
