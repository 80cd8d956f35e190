/*
 * mindspore_statistics.c - statistic.csv of a MindSpore kernel dump: a row an input or output.
 *
 *     Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,...
 */
#include "format/mindspore_dump.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/log_rows.h"
#include "model/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_COLUMNS = 64, CELL = 1024 };

enum column {
    OP_TYPE,
    OP_NAME,
    TIMESTAMP,
    IO,
    SLOT,
    DATA_TYPE,
    SHAPE,
    MAX_VALUE,
    MIN_VALUE,
    AVG_VALUE,
    L2NORM_VALUE,
    NAN_COUNT,
    POSITIVE_INF_COUNT,
    NEGATIVE_INF_COUNT,
    COLUMNS
};

static const char *const titles[COLUMNS] = {
    [OP_TYPE] = "Op Type",
    [OP_NAME] = "Op Name",
    [TIMESTAMP] = "Timestamp",
    [IO] = "IO",
    [SLOT] = "Slot",
    [DATA_TYPE] = "Data Type",
    [SHAPE] = "Shape",
    [MAX_VALUE] = "Max Value",
    [MIN_VALUE] = "Min Value",
    [AVG_VALUE] = "Avg Value",
    [L2NORM_VALUE] = "L2Norm Value",
    [NAN_COUNT] = "NaN Count",
    [POSITIVE_INF_COUNT] = "Positive Inf Count",
    [NEGATIVE_INF_COUNT] = "Negative Inf Count",
};

struct row {
    char cells[MOST_COLUMNS][CELL];
    size_t count;
};

/* Commas inside quotes and round brackets (a shape) separate nothing. */
static bool split(const char *line, size_t length, struct row *row)
{
    bool quoted = false;
    int brackets = 0;
    size_t used = 0;
    row->count = 0;
    for (size_t i = 0; i <= length; i++) {
        const char c = i < length ? line[i] : ',';
        quoted ^= c == '"';
        brackets += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (i == length || (c == ',' && !quoted && brackets <= 0)) {
            row->cells[row->count++][used] = '\0';
            used = 0;
            if (row->count == MOST_COLUMNS)
                return i == length;
        } else if (c != '"' && c != '\r') {
            if (used == CELL - 1)
                return false;
            row->cells[row->count][used++] = c;
        }
    }
    return true;
}

/* -1 for what the table does not have. */
static bool find_columns(const struct row *header, int columns[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = -1;
        for (size_t k = 0; k < header->count; k++)
            if (strcasecmp(header->cells[k], titles[i]) == 0)
                columns[i] = (int)k;
    }
    return columns[OP_TYPE] >= 0 && columns[OP_NAME] >= 0 && columns[IO] >= 0 &&
           columns[SLOT] >= 0 && columns[DATA_TYPE] >= 0 && columns[SHAPE] >= 0;
}

static const char *cell(const struct row *row, const int columns[COLUMNS], enum column which)
{
    return columns[which] >= 0 ? row->cells[columns[which]] : "";
}

/* NaN if the cell is empty or not a number. */
static double number(const struct row *row, const int columns[COLUMNS], enum column which,
                     bool *said)
{
    const char *text = cell(row, columns, which);
    double value = (double)NAN;
    while (*text == ' ')
        text++;
    const size_t digits = plumb_log_number(text, strlen(text), &value);
    *said = digits > 0;
    return *said ? value : (double)NAN;
}

static double finite_only(double value)
{
    return isfinite(value) ? value : (double)NAN;
}

static void fill_stats(const struct row *row, const int columns[COLUMNS],
                       struct plumb_tensor_record *record)
{
    bool has_max, has_min, has_mean, has_norm, has_nan, has_pos, has_neg;
    int64_t count = 0;
    const double max = number(row, columns, MAX_VALUE, &has_max);
    const double min = number(row, columns, MIN_VALUE, &has_min);
    const double mean = number(row, columns, AVG_VALUE, &has_mean);
    const double norm = number(row, columns, L2NORM_VALUE, &has_norm);
    const double nan = number(row, columns, NAN_COUNT, &has_nan);
    const double pos = number(row, columns, POSITIVE_INF_COUNT, &has_pos);
    const double neg = number(row, columns, NEGATIVE_INF_COUNT, &has_neg);
    const double largest =
        plumb_dtype_is_float(record->dtype) ? plumb_dtype_max(record->dtype) : (double)INFINITY;
    (void)plumb_shape_count(record->dims, record->shape, &count);
    record->has_stats = has_max || has_min || has_mean || has_norm || has_nan;
    record->partial_stats = true;
    record->stats = (struct plumb_stats){
        .count = (uint64_t)count,
        .nan = (has_nan && nan > 0) || (has_max && isnan(max)) || (has_min && isnan(min)) ||
               (has_norm && isnan(norm)),
        .pos_inf = (has_pos && pos > 0) || (has_max && isinf(max) && max > 0),
        .neg_inf = (has_neg && neg > 0) || (has_min && isinf(min) && min < 0),
        .at_max = max == largest || min == -largest,
        .min = finite_only(min),
        .max = finite_only(max),
        .mean = finite_only(mean),
        .std = (double)NAN,
        .l2 = finite_only(norm),
        .abs_mean = (double)NAN,
    };
}

/* One row; false when out of memory or the feed wants no more. */
static bool take_row(const struct row *row, const int columns[COLUMNS], int64_t ordinal,
                     const struct plumb_record_part *part,
                     struct plumb_mindspore_scopes *scopes,
                     const struct plumb_record_feed *feed, size_t *left_out)
{
    struct plumb_mindspore_place place;
    int64_t shape[PLUMB_MAX_RANK];
    char slot[CELL + 16], label[4096], call[16] = "";
    struct plumb_tensor_record record = {.rank = part->rank,
                                         .step = part->step,
                                         .time_ns = ordinal,
                                         .element = -1,
                                         .shape = shape,
                                         .slot = slot,
                                         .label = label};
    const int64_t time = plumb_numbered_name(cell(row, columns, TIMESTAMP), "");
    if (!plumb_dtype_from_name(cell(row, columns, DATA_TYPE), &record.dtype) ||
        !plumb_shape_in_words(cell(row, columns, SHAPE), shape, &record.dims)) {
        ++*left_out;
        return true;
    }
    if (!plumb_mindspore_place_of(scopes, cell(row, columns, OP_TYPE),
                                  cell(row, columns, OP_NAME), time < 0 ? 0 : time, &place))
        return false;
    if (place.call > 0)
        (void)snprintf(call, sizeof call, "#%d", place.call);
    (void)snprintf(slot, sizeof slot, "%s%s", cell(row, columns, IO), cell(row, columns, SLOT));
    (void)snprintf(label, sizeof label, "%s%s%s%s", place.module, *place.module ? "." : "",
                   place.op, call);
    record.module = place.module;
    record.op = place.op;
    record.call = place.call;
    record.phase = place.phase;
    record.origin = cell(row, columns, OP_NAME);
    fill_stats(row, columns, &record);
    return feed->record(feed->context, &record);
}

/* Rows come in the order they were made. */
static enum plumb_status read_rows(const struct plumb_map *map, struct row *row,
                                   const struct plumb_record_part *part,
                                   struct plumb_mindspore_scopes *scopes,
                                   const struct plumb_record_feed *feed,
                                   struct plumb_error *err)
{
    int columns[COLUMNS];
    const char *line;
    size_t length, at = 0, width = 0, left_out = 0;
    bool torn;
    if (!plumb_log_next_line(map, &at, &line, &length, &torn) || !split(line, length, row) ||
        !find_columns(row, columns))
        return plumb_record_warn(feed, true, err,
                                 "%s/statistic.csv: has no row of names as MindSpore writes it",
                                 part->path);
    width = row->count;
    for (int64_t i = 0; plumb_log_next_line(map, &at, &line, &length, &torn); i++) {
        if (!length)
            continue;
        if (torn || !split(line, length, row) || row->count != width)
            left_out++;
        else if (!take_row(row, columns, i, part, scopes, feed, &left_out))
            return plumb_fail(err, PLUMB_STOPPED, -1, "stopped");
    }
    return left_out ? plumb_record_warn(feed, torn, err,
                                        "%s/statistic.csv: %zu rows are not whole or of an "
                                        "unknown type; left out",
                                        part->path, left_out)
                    : PLUMB_OK;
}

enum plumb_status plumb_mindspore_statistics_read(const struct plumb_record_part *part,
                                                  struct plumb_mindspore_scopes *scopes,
                                                  const struct plumb_record_feed *feed,
                                                  struct plumb_error *err)
{
    char path[4096];
    struct plumb_map *map = NULL;
    if (snprintf(path, sizeof path, "%s/statistic.csv", part->path) >= (int)sizeof path)
        return PLUMB_OK;
    enum plumb_status status = plumb_map_open(path, &map, NULL);
    if (status)
        return status == PLUMB_NO_MEMORY ? plumb_fail_memory(err) : PLUMB_OK;
    struct row *row = plumb_alloc_array(1, sizeof *row);
    status = row ? read_rows(map, row, part, scopes, feed, err) : plumb_fail_memory(err);
    plumb_free(row);
    plumb_map_close(map);
    return status;
}
