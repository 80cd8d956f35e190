/* json_lines.c - a JSON object a line, as many loggers append them. */
#include "base/error.h"
#include "format/json_row.h"

static bool parse_row(const char *line, size_t length, struct plumb_log_row *row)
{
    size_t at = 0;
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    if (at == length || line[at] != '{')
        return false;
    struct plumb_json_pull pull = plumb_json_pull_of(line + at, length - at);
    return plumb_json_pull_next(&pull) == PLUMB_JSON_OPEN_OBJECT &&
           plumb_json_row_read(&pull, row) &&
           plumb_json_pull_next(&pull) == PLUMB_JSON_TOKEN_END;
}

/* The first line that is not empty has a step or a loss: any JSON may have numbers. */
static enum plumb_probe probe(const struct plumb_map *map)
{
    const char *line;
    size_t length;
    bool torn;
    for (size_t at = 0; plumb_log_next_line(map, &at, &line, &length, &torn);) {
        struct plumb_log_row row = {.count = 0};
        if (!length)
            continue;
        if (length > PLUMB_LOG_LONGEST_LINE || !parse_row(line, length, &row) || !row.count)
            return PLUMB_PROBE_NO;
        return row.has_step || plumb_log_row_has(&row, "loss") ? PLUMB_PROBE_LIKELY
                                                               : PLUMB_PROBE_NO;
    }
    return PLUMB_PROBE_NO;
}

static enum plumb_status read_rows(const void *context, const struct plumb_record_part *part,
                                   const struct plumb_map *map,
                                   const struct plumb_record_feed *feed,
                                   struct plumb_error *err)
{
    (void)context;
    struct plumb_log_clock clock = {0};
    const char *line;
    size_t length, number = 0, bad = 0, first_bad = 0;
    bool torn = false;
    enum plumb_status status = PLUMB_OK;
    for (size_t at = 0; !status && plumb_log_next_line(map, &at, &line, &length, &torn);) {
        struct plumb_log_row row = {.count = 0};
        number++;
        if (!length)
            continue;
        /* A whole object cannot have been longer: a missing newline does not matter here. */
        if (length <= PLUMB_LOG_LONGEST_LINE && parse_row(line, length, &row)) {
            status = plumb_log_emit(&clock, &row, feed, err);
        } else if (torn) {
            status = plumb_record_warn(
                feed, true, err, "%s: line %zu is not finished; left out", part->path, number);
        } else if (bad++ == 0) {
            first_bad = number;
        }
    }
    if (!status && bad)
        status = plumb_record_warn(feed, false, err,
                                   "%s: %zu lines are no JSON objects, the first is line %zu; "
                                   "left out",
                                   part->path, bad, first_bad);
    return status;
}

static enum plumb_status read_lines(const struct plumb_record_part *part,
                                    const struct plumb_record_feed *feed,
                                    struct plumb_error *err)
{
    return plumb_series_read(part, feed, read_rows, NULL, err);
}

const struct plumb_record_format plumb_record_format_json_lines = {
    .entry =
        {.name = "jsonl",
         .summary = "a JSON object a line: {\"step\": 12, \"loss\": 0.5}",
         .detail =
             "Every number becomes a series, of objects inside as well (train.loss). The step\n"
             "is step, global_step, iter or iteration; without one, rows are counted. NaN\n"
             "and Infinity may be bare words or strings. A torn last line is left out."},
    .framework = "",
    .probe = probe,
    .read = read_lines,
};
