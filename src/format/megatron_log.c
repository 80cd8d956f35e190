/* megatron_log.c - the line an iteration that Megatron-LM and its descendants print. */
#include "format/log_rows.h"

#include <string.h>

/* "lm loss: 1.234E+00"; the first Megatron had no colons: "lm loss 1.234E+00". Times of day
 * ("elapsed time: 0:01:10") and shares ("tokens 10/ 200") are no numbers. */
static void take_field(const char *field, size_t length, struct plumb_log_row *row)
{
    while (length && field[length - 1] == ' ')
        length--;
    const char *end = field + length, *colon = memchr(field, ':', length);
    const char *blank = memrchr(field, ' ', length), *name_end = colon ? colon : blank;
    double value = 0;
    if (!name_end)
        return;
    const char *number = name_end + 1;
    while (number < end && *number == ' ')
        number++;
    const size_t digits = plumb_log_number(number, (size_t)(end - number), &value);
    const bool whole = number + digits == end || (colon && !strchr(":/-", number[digits]));
    if (digits && whole)
        plumb_log_row_add(row, field, (size_t)(name_end - field), value);
}

/* [2026-..] iteration      100/  500 | consumed samples: 3200 | ... | lm loss: 5.1E+00 | ... | */
static bool parse(const char *line, size_t length, struct plumb_log_row *row)
{
    const char *word = memmem(line, length, "iteration ", 10), *end = line + length;
    const char *bar = word ? memchr(word, '|', (size_t)(end - word)) : NULL;
    double step = 0;
    if (!bar)
        return false;
    const char *number = word + 10;
    while (number < bar && *number == ' ')
        number++;
    const size_t digits = plumb_log_number(number, (size_t)(bar - number), &step);
    if (!digits || !memchr(number + digits, '/', (size_t)(bar - number - (ptrdiff_t)digits)))
        return false;
    plumb_log_row_add(row, "iteration", 9, step);
    for (const char *field = bar + 1; field < end;) {
        const char *next = memchr(field, '|', (size_t)(end - field));
        const char *last = next ? next : end;
        take_field(field, (size_t)(last - field), row);
        field = last + 1;
    }
    return row->count > 0;
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

const struct plumb_record_format plumb_record_format_megatron_log = {
    .entry =
        {.name = "megatron-log",
         .summary = "log of Megatron-LM: iteration 100/ 500 | lm loss: 5.1E+00 | ...",
         .detail =
             "Every field between bars becomes a series: lm loss is called loss, learning\n"
             "rate lr, grad norm grad_norm, loss scale loss_scale, number of skipped\n"
             "iterations skipped. With a loss scale the logged norm may be multiplied by it,\n"
             "and repeats the old value on skipped iterations. Other lines are passed over."},
    .framework = "pytorch",
    .probe = probe,
    .read = read_log,
};
