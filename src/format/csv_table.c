/* csv_table.c - a table of losses: comma, tab, semicolon or blanks between columns, names on top. */
#include "base/error.h"
#include "format/log_rows.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { MOST_COLUMNS = 256 };

struct cell {
    const char *text;
    size_t length;
};

static void trim(struct cell *cell)
{
    while (cell->length && strchr(" \t\"'", cell->text[0])) {
        cell->text++;
        cell->length--;
    }
    while (cell->length && strchr(" \t\"'", cell->text[cell->length - 1]))
        cell->length--;
}

/* Quotes may hold separators; a doubled quote inside stays as it is. */
static size_t split(const char *line, size_t length, char separator,
                    struct cell cells[MOST_COLUMNS])
{
    size_t count = 0, start = 0;
    bool quoted = false;
    for (size_t i = 0; i <= length && count < MOST_COLUMNS; i++) {
        if (i < length && line[i] == '"')
            quoted = !quoted;
        if (i < length && (quoted || line[i] != separator))
            continue;
        cells[count] = (struct cell){line + start, i - start};
        trim(&cells[count++]);
        start = i + 1;
    }
    return count;
}

static char separator_of(const char *line, size_t length)
{
    static const char candidates[] = {',', '\t', ';'};
    char best = ',';
    size_t most = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        size_t count = 0;
        for (size_t k = 0; k < length; k++)
            count += line[k] == candidates[i];
        if (count > most) {
            most = count;
            best = candidates[i];
        }
    }
    return best;
}

/* The first line that is neither empty nor a comment. */
static bool read_header(const struct plumb_map *map, size_t *at, const char **line,
                        size_t *length, bool *torn)
{
    while (plumb_log_next_line(map, at, line, length, torn)) {
        if (*at == *length + 1 && *length >= 3 && memcmp(*line, "\xef\xbb\xbf", 3) == 0) {
            *line += 3; /* byte order mark */
            *length -= 3;
        }
        if (*length && **line != '#')
            return true;
    }
    return false;
}

static bool is_name(const struct cell *cell)
{
    double value;
    return cell->length && cell->length < PLUMB_LOG_NAME &&
           plumb_log_number(cell->text, cell->length, &value) != cell->length;
}

static bool is_loss(const struct cell *cell)
{
    for (size_t i = 0; i + 4 <= cell->length; i++)
        if (strncasecmp(cell->text + i, "loss", 4) == 0)
            return true;
    return false;
}

/* Names on top, a step or a loss among them, and numbers in the row below. */
static enum plumb_probe probe(const struct plumb_map *map)
{
    struct cell names[MOST_COLUMNS], values[MOST_COLUMNS];
    const char *line;
    size_t length, at = 0, numbers = 0;
    bool torn, known = false;
    const size_t size = map->size < 4096 ? map->size : 4096;
    if (memchr(map->base, '\0', size) || !read_header(map, &at, &line, &length, &torn) ||
        length > PLUMB_LOG_LONGEST_LINE)
        return PLUMB_PROBE_NO;
    const char separator = separator_of(line, length);
    const size_t columns = split(line, length, separator, names);
    for (size_t i = 0; i < columns; i++) {
        if (!is_name(&names[i]))
            return PLUMB_PROBE_NO;
        known |= plumb_log_is_step(names[i].text, names[i].length) || is_loss(&names[i]);
    }
    if (!known || !read_header(map, &at, &line, &length, &torn) ||
        length > PLUMB_LOG_LONGEST_LINE || split(line, length, separator, values) != columns)
        return PLUMB_PROBE_NO;
    for (size_t i = 0; i < columns; i++) {
        double value;
        const size_t digits = plumb_log_number(values[i].text, values[i].length, &value);
        numbers += digits && digits == values[i].length;
    }
    return numbers >= (columns + 1) / 2 ? PLUMB_PROBE_LIKELY : PLUMB_PROBE_NO;
}

/* Tables fill what was not measured at a step with nan: evaluation is not made at every one. */
static bool is_evaluation(const struct cell *name)
{
    static const char *const starts[] = {"eval", "val", "test"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (name->length > strlen(starts[i]) &&
            strncasecmp(name->text, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static void take_row(const struct cell *names, size_t columns, const struct cell *values,
                     size_t count, struct plumb_log_row *row)
{
    for (size_t i = 0; i < columns && i < count; i++) {
        double value = 0;
        const size_t digits = plumb_log_number(values[i].text, values[i].length, &value);
        if (digits && digits == values[i].length && !(isnan(value) && is_evaluation(&names[i])))
            plumb_log_row_add(row, names[i].text, names[i].length, value);
    }
}

static enum plumb_status read_rows(const void *context, const struct plumb_record_part *part,
                                   const struct plumb_map *map,
                                   const struct plumb_record_feed *feed,
                                   struct plumb_error *err)
{
    (void)context;
    struct cell names[MOST_COLUMNS], values[MOST_COLUMNS];
    struct plumb_log_clock clock = {0};
    const char *line;
    size_t length, at = 0, odd = 0;
    bool torn = false;
    if (!read_header(map, &at, &line, &length, &torn))
        return PLUMB_OK;
    const char separator = separator_of(line, length);
    const size_t columns = split(line, length, separator, names);
    enum plumb_status status = PLUMB_OK;
    while (!status && plumb_log_next_line(map, &at, &line, &length, &torn)) {
        struct plumb_log_row row = {.count = 0};
        if (!length || *line == '#')
            continue;
        const size_t count =
            length > PLUMB_LOG_LONGEST_LINE ? 0 : split(line, length, separator, values);
        if (torn && !plumb_log_is_finished(part->path, feed, &status, err))
            break;
        odd += count != columns;
        if (count == columns) {
            take_row(names, columns, values, count, &row);
            status = plumb_log_emit(&clock, &row, feed, err);
        }
    }
    if (!status && odd)
        status =
            plumb_record_warn(feed, false, err,
                              "%s: %zu lines have another number of columns than the first; "
                              "left out",
                              part->path, odd);
    return status;
}

static enum plumb_status read_table(const struct plumb_record_part *part,
                                    const struct plumb_record_feed *feed,
                                    struct plumb_error *err)
{
    return plumb_series_read(part, feed, read_rows, NULL, err);
}

const struct plumb_record_format plumb_record_format_csv_table = {
    .entry =
        {.name = "csv",
         .summary = "a table with names on top: step,loss,lr",
         .detail =
             "Columns separated by comma, tab or semicolon; one of them a step (step, iter,\n"
             "iteration, global_step) or a loss. Every column of numbers becomes a series;\n"
             "without a step, rows are counted. Lines that begin with # are comments; nan in "
             "a\n"
             "column of eval, val or test means that nothing was measured."},
    .framework = "",
    .probe = probe,
    .read = read_table,
};
